"""The reference trainer, as the files that a pod of any image finds (node/trainer/)."""

from functools import cache
from pathlib import Path

TRAINER = "/opt/gpucluster/trainer"
"""Where it lies in a pod; the plan names its first file there."""

_SOURCE = Path(__file__).parents[2] / "node" / "trainer"


@cache
def trainer_files() -> dict[str, str]:
    """Its modules by name. They lie side by side, as keys of a ConfigMap have no directories."""
    found = [*_SOURCE.glob("*.py"), _SOURCE.with_name("staging") / "pumping.py"]
    return {each.name: each.read_text(encoding="utf-8") for each in sorted(found)}
