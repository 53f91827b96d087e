"""Rules about memory that is shared: it is there, has a size, and fits within its limit."""

from collections.abc import Iterator
from typing import Any

from policy.gangs import GPU, amount, quantity, whole
from policy.graph import Graph
from policy.pods import Pod, pods
from policy.rule import Finding, rule

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - where a container's processes share memory
LEAST_BYTES = 2**30


def _memory_volumes(pod: Pod) -> Iterator[tuple[str, Any]]:
    """(name, size limit) of the volumes that are made of memory."""
    for volume in pod.spec.get("volumes") or []:
        if (volume.get("emptyDir") or {}).get("medium") == "Memory":
            yield volume.get("name", ""), volume["emptyDir"].get("sizeLimit")


@rule(
    source="Kubernetes: medium Memory counts against the container's limit; https://kubernetes.io/docs/concepts/storage/volumes/#emptydir",
    remedy="give the volume a sizeLimit below the memory limit of the container that mounts it",
)
def shared_memory_fits(graph: Graph) -> Iterator[Finding]:
    """A memory-backed volume has a size limit within the memory of the containers that mount it (N05, AA06)."""
    for pod in pods(graph):
        for name, size in _memory_volumes(pod):
            mounting = [
                each
                for each in pod.spec.get("containers") or []
                if name in [mount.get("name") for mount in each.get("volumeMounts") or []]
            ]
            limits = [((each.get("resources") or {}).get("limits") or {}).get("memory") for each in mounting]
            known = [each for limit in limits if (each := quantity(limit)) is not None]
            fits = not limits or len(known) < len(limits) or (quantity(size) or 0) < sum(known)
            if size is None and known and amount(pod, GPU):
                yield (
                    pod.owner,
                    f"has a memory-backed volume {name} without a sizeLimit: it may use up the whole memory limit",
                )
            elif size is not None and not fits:
                yield (
                    pod.owner,
                    f"has a memory-backed volume {name} of {size} in containers limited to"
                    f" {', '.join(map(str, limits))}",
                )


@rule(
    source="NVIDIA NGC: PyTorch container (--shm-size, --ipc=host); the runtime's own /dev/shm has 64 MiB; NCCL: "
    "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html (--shm-size=1g)",
    remedy="mount an emptyDir with medium Memory at /dev/shm, of 1Gi at least",
)
def processes_share_memory(graph: Graph) -> Iterator[Finding]:
    """A container with several GPUs has more shared memory than the runtime's 64 MiB, and in memory (N05, AA06)."""
    for pod in pods(graph):
        volumes = {each.get("name"): each for each in pod.spec.get("volumes") or []}
        for container in pod.spec.get("containers") or []:
            gpus = whole(((container.get("resources") or {}).get("limits") or {}).get(GPU), 0)
            mounts = container.get("volumeMounts") or []
            place = [each for each in mounts if each.get("mountPath", "").rstrip("/") == SHARED_MEMORY]
            if gpus < 2 or (pod.spec.get("hostIPC") and not place):
                continue
            memory = volumes.get(place[-1].get("name"), {}).get("emptyDir") if place else None
            size = quantity((memory or {}).get("sizeLimit"))
            has = f"has {gpus} GPUs in {container.get('name')} and"
            if not place:
                yield pod.owner, f"{has} 64 MiB of shared memory"
            elif memory is not None and memory.get("medium") != "Memory":
                yield pod.owner, f"{has} its shared memory on disk"
            elif size is not None and size < LEAST_BYTES:
                yield pod.owner, f"{has} {memory['sizeLimit'] if memory else 0} of shared memory"
