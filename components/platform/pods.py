"""What a GPU pod asks of its node (J10, AA06)."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi_kubernetes as k8s

from components.platform.taints import EFA_RESOURCE, GPU_RESOURCE, Taint

SHM = "/dev/shm"  # noqa: S108 - where NCCL and data loaders share memory


@dataclass(frozen=True, kw_only=True)
class PodShape:
    """What one pod asks for and may use at most; `memory_mib` holds `shm_mib` as well, which is counted in it."""

    gpus: int
    efa: int
    cpu_millicores: int
    memory_mib: int
    shm_mib: int

    def __post_init__(self) -> None:
        if self.shm_mib >= self.memory_mib:
            raise ValueError(
                f"{SHM} of {self.shm_mib} MiB counts against the pod's memory limit of {self.memory_mib} MiB; "
                "make it smaller"
            )

    def resources(self) -> dict[str, dict[str, str]]:
        """Limits equal to requests: extended resources must be, and equal memory keeps a rank from being evicted."""
        amounts = {"cpu": f"{self.cpu_millicores}m", "memory": f"{self.memory_mib}Mi", GPU_RESOURCE: str(self.gpus)}
        if self.efa:
            amounts[EFA_RESOURCE] = str(self.efa)
        return {"limits": dict(amounts), "requests": dict(amounts)}


def toleration_args(taints: Sequence[Taint]) -> list[k8s.core.v1.TolerationArgs]:
    """Tolerations of a pod that belongs on nodes with `taints`, as a typed pod spec takes them."""
    return [
        k8s.core.v1.TolerationArgs(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
        for taint in taints
    ]
