"""The container beside a run that seals saves of any framework, copies them on and keeps the last ones (S05).

A native side-car: it begins before the ranks and ends after them (Kubernetes documentation, "Sidecar Containers"), so
that what a run saves when it is told to stop goes on, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from components.platform.confinement import confined_values
from components.platform.node_files import node_files
from components.platform.pods import PodShape
from components.training.saving import CHECKPOINTS, LOCAL, SaveTimes, saves
from components.training.staging import INDEX

FILES, CONTAINER = "/opt/gpucluster/copier", "saves"
_CORES, _MEMORY_MIB = 4, 2048
_SHARE = 8
"""Of this many cores of the pod it takes one."""


def copier_files() -> dict[str, str]:
    """The script and its modules, by name."""
    return node_files("staging/pumping.py", "trainer/copying.py", "trainer/saves.py", "trainer/sealing.py")


def shared(shape: PodShape) -> tuple[PodShape, Mapping[str, str]]:
    """What the ranks have beside it, and what it asks for: a pod is as large as before."""
    cores = min(_CORES, max(shape.threads, shape.cpu_millicores // 1000 // _SHARE // shape.threads * shape.threads))
    left = replace(shape, cpu_millicores=shape.cpu_millicores - cores * 1000, memory_mib=shape.memory_mib - _MEMORY_MIB)
    return left, {"cpu": str(cores), "memory": f"{_MEMORY_MIB}Mi"}


def container(
    image: str, amounts: Mapping[str, str], saving: SaveTimes, run: str, nodes: int, config_map: str, *, first: bool
) -> dict[str, Any]:
    """In an image with Python. Saves on local disks each pod brings a part of; else the first pod alone seals in place.

    The `first` role has part 0, and workers after it are counted from 1.
    """
    local = saving.sidecar == "local"
    places = [f"--shared={CHECKPOINTS}", *([f"--local={LOCAL}"] if local else [])]
    number = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {
        "name": CONTAINER,
        "image": image,
        "restartPolicy": "Always",
        "command": ["python3", f"{FILES}/copying.py"],
        "args": [
            *places,
            f"--every-seconds={saving.file_system_s}",
            f"--quiet-seconds={saving.within_s:g}",
            f"--keep={saving.keep}",
            f"--parts={nodes if local else 1}",
            "--part=$(REPLICA_INDEX)",
            f"--first={int(not first)}",
        ],
        "env": [{"name": "REPLICA_INDEX", "valueFrom": number}],
        "resources": {"limits": dict(amounts), "requests": dict(amounts)},
        "securityContext": confined_values(),
        "volumeMounts": [
            {"name": "checkpoints", "mountPath": CHECKPOINTS, "subPath": saves(run)},
            *([{"name": "local", "mountPath": LOCAL}] if local else []),
            {"name": config_map, "mountPath": FILES, "readOnly": True},
        ],
    }
