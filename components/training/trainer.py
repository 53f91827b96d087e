"""The reference trainer, as the files that a pod of any image finds (node/trainer/)."""

from components.platform.node_files import node_files

TRAINER = "/opt/gpucluster/trainer"
"""Where it lies in a pod; the plan names its first file there."""


def trainer_files() -> dict[str, str]:
    """Its modules by name. They lie side by side, as keys of a ConfigMap have no directories."""
    return node_files("staging/pumping.py", "trainer/*.py")
