"""What a GPU pod requests of its node (J10, AA06)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi_kubernetes as k8s

from components.platform.taints import GPU_RESOURCE, Taint

SHM = "/dev/shm"  # noqa: S108 - where NCCL and data loaders share memory


@dataclass(frozen=True, kw_only=True)
class PodNetwork:
    """What a pod needs to use its node's fabric; without arguments: there is none.

    `resources` are amounts of extended resources, of which a node offers those of `shares` such pods. Then annotations
    that attach the pod, NCCL's environment, what that is besides where ranks are on several nodes (`between`), and the
    capabilities that the fabric's devices ask for. Nodes with the same label `near` are next to each other on the
    fabric; None where all are.
    """

    resources: Mapping[str, int] = field(default_factory=dict)
    shares: int = 1
    annotations: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    between: Mapping[str, str] = field(default_factory=dict)
    capabilities: Sequence[str] = ()
    near: str | None = None


@dataclass(frozen=True, kw_only=True)
class PodShape:
    """What one pod asks for and may use at most; `memory_mib` holds `shm_mib` as well, which is counted in it. The CPUs
    of each of its containers are a multiple of `threads`.
    """

    gpus: int
    cpu_millicores: int
    memory_mib: int
    shm_mib: int
    network: PodNetwork = field(default_factory=PodNetwork)
    threads: int = 1

    def __post_init__(self) -> None:
        if self.shm_mib >= self.memory_mib:
            raise ValueError(
                f"{SHM} of {self.shm_mib} MiB counts against the pod's memory limit of {self.memory_mib} MiB; "
                "make it smaller"
            )

    def resources(self) -> dict[str, dict[str, str]]:
        """Limits equal to requests: extended resources must be, and equal memory keeps a rank from being evicted."""
        amounts = {"cpu": f"{self.cpu_millicores}m", "memory": f"{self.memory_mib}Mi", GPU_RESOURCE: str(self.gpus)}
        amounts |= {name: str(count) for name, count in self.network.resources.items()}
        return {"limits": dict(amounts), "requests": dict(amounts)}


def toleration_args(taints: Sequence[Taint]) -> list[k8s.core.v1.TolerationArgs]:
    """Tolerations of a pod that belongs on nodes with `taints`, as a typed pod spec takes them."""
    return [
        k8s.core.v1.TolerationArgs(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
        for taint in taints
    ]
