"""What brings a run's dataset to the disks of its nodes before it starts: a container that runs before the ranks do.

The volume on the node's own disks is the pod's (the platform's `local`): a rank that begins again finds the data there,
and nothing is left when the pod is gone, so that no cleaner comes near what a pod reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from components.platform.confinement import confined_values
from components.platform.node_files import node_files
from components.platform.pods import PodShape

Part = Literal["none", "shard", "full"]

SCRIPTS, SOURCE, ROOT = "/opt/gpucluster/staging", "/shared-data", "/staged"
PLACE = "data"
"""Directory of staged data on the volume, beside local checkpoints."""

CONTAINER = "stage"
INDEX = "training.kubeflow.org/replica-index"
_SCRIPT = "stage.py"


def staging_files() -> dict[str, str]:
    """The script and its modules, by name."""
    return node_files("staging/*.py")


def name_of(path: str) -> str:
    """The directory on a node's disks of the dataset that lies at `path`: its name and the hash of its source."""
    return path.rpartition("/")[2]


def container(
    image: str, shape: PodShape, path: str, part: Part, nodes: int, config_map: str, *, worker: bool
) -> dict[str, Any]:
    """It has the pod's processors and memory, and no GPU. A shard is the pod's by its place in the gang: a `worker`
    stands after the Master.
    """
    amounts = {"cpu": f"{shape.cpu_millicores}m", "memory": f"{shape.memory_mib}Mi"}
    shard = [f"--parts={nodes}", "--part=$(REPLICA_INDEX)", f"--first={int(worker)}"] if part == "shard" else []
    fields: Mapping[str, str] = {"POD_UID": "metadata.uid", "REPLICA_INDEX": f"metadata.labels['{INDEX}']"}
    return {
        "name": CONTAINER,
        "image": image,
        "command": ["python3", f"{SCRIPTS}/{_SCRIPT}"],
        "args": [f"--source={SOURCE}", f"--root={ROOT}", f"--name={name_of(path)}", "--pod=$(POD_UID)", *shard],
        "env": [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": each}}} for name, each in fields.items()],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": {"limits": dict(amounts), "requests": dict(amounts)},
        "securityContext": confined_values(),
        "volumeMounts": [
            {"name": "data", "mountPath": SOURCE, "subPath": path, "readOnly": True},
            {"name": "local", "mountPath": ROOT, "subPath": PLACE},
            {"name": config_map, "mountPath": SCRIPTS, "readOnly": True},
        ],
    }
