"""Rules about memory that is shared: it is there, has a size, and fits within its limit."""

from collections.abc import Iterator
from typing import Any

from policy.gangs import GPU, amount, quantity
from policy.graph import Graph
from policy.pods import Pod, pods
from policy.rule import Finding, rule

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - where a container's processes share memory


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
    source="NVIDIA NGC: PyTorch container (--shm-size, --ipc=host); the runtime's own /dev/shm has 64 MiB",
    remedy="mount an emptyDir with medium Memory at /dev/shm",
)
def processes_share_memory(graph: Graph) -> Iterator[Finding]:
    """A container with several GPUs has more shared memory than the runtime's 64 MiB, and in memory (N05, AA06)."""
    for pod in pods(graph):
        for container in pod.spec.get("containers") or []:
            gpus = str(((container.get("resources") or {}).get("limits") or {}).get(GPU, 0))
            mounts = [each.get("mountPath", "").rstrip("/") for each in container.get("volumeMounts") or []]
            if gpus.isdigit() and int(gpus) > 1 and SHARED_MEMORY not in mounts and not pod.spec.get("hostIPC"):
                yield pod.owner, f"has {gpus} GPUs in {container.get('name')} and 64 MiB of shared memory"
            if gpus.isdigit() and int(gpus) > 1 and SHARED_MEMORY in mounts:
                name = (container.get("volumeMounts") or [])[mounts.index(SHARED_MEMORY)].get("name")
                on_disk = [each for each in pod.spec.get("volumes") or [] if each.get("name") == name]
                if any("emptyDir" in each and (each["emptyDir"] or {}).get("medium") != "Memory" for each in on_disk):
                    yield pod.owner, f"has {gpus} GPUs in {container.get('name')} and its shared memory on disk"
