"""Rules about the pods of one run: they are alike, may lock the memory that cards read, and have somewhere to save."""

from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import GPU, asks, spec_of
from policy.graph import UNKNOWN, Graph
from policy.pods import Pod, pods
from policy.rule import Finding, rule
from policy.selectors import object_named
from policy.words import environment, flag

OF_TRANSPORT = ("NCCL_", "FI_", "UCX_", "TORCH_NCCL_")
SAVES = "CHECKPOINT_DIR"
TRACES = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"
SAVING = ("checkpoint-dir", "output-dir", "save", "save-dir")
"""Flags by which scripts of Megatron-LM, Transformers and others are told where to save."""


@rule(
    source="NCCL: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html: variables are to be the same in "
    "all ranks; ncclInvalidUsage, mismatch of NCCL versions, where images differ",
    remedy="give Master and Worker one template",
)
def members_are_alike(graph: Graph) -> Iterator[Finding]:
    """The pods of a PyTorchJob run one image, with the same variables of their transport."""
    first: dict[str, tuple[str, dict[str, str | None]]] = {}
    for pod in pods(graph):
        if pod.kind != "PyTorchJob":
            continue
        for container in pod.spec.get("containers") or []:
            if container.get("name") != "pytorch":
                continue
            told = {name: value for name, value in environment(graph, pod, container) if name.startswith(OF_TRANSPORT)}
            image, others = first.setdefault(pod.owner, (str(container.get("image")), told))
            if container.get("image") != image:
                yield pod.owner, f"runs {image} and {container.get('image')} in pods of one job"
            if wrong := sorted(name for name in {*told, *others} if told.get(name) != others.get(name)):
                yield pod.owner, f"sets {', '.join(wrong)} otherwise in one pod than in another"


@rule(
    source="k8s-rdma-shared-dev-plugin, README (capabilities: add: IPC_LOCK); NCCL: ibv_reg_mr failed with error "
    "Cannot allocate memory, where RLIMIT_MEMLOCK is what containerd leaves",
    remedy="securityContext.capabilities.add: [IPC_LOCK] in each container that asks for an rdma/ resource",
)
def cards_may_lock_memory(graph: Graph) -> Iterator[Finding]:
    """A container that takes an RDMA device may lock the memory that the card reads."""
    for pod in pods(graph):
        for container in pod.spec.get("containers") or []:
            limits = (container.get("resources") or {}).get("limits") or {}
            taken = sorted(name for name in limits if name.startswith("rdma/"))
            context = container.get("securityContext") or {}
            added = (context.get("capabilities") or {}).get("add") or []
            if taken and not context.get("privileged") and not {"IPC_LOCK", "ALL"} & set(added):
                yield pod.owner, f"takes {taken[0]} without the capability IPC_LOCK: no memory can be registered"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/storage/volumes/: what a container writes outside of its "
    "mounts is gone with it; a claim or a mount that is read-only takes nothing",
    remedy="mount a claim and a volume that may be written at the directory that CHECKPOINT_DIR, --output-dir or "
    "--save names",
)
def saves_can_be_written(graph: Graph) -> Iterator[Finding]:
    """A run writes its checkpoints to a volume that outlives its pods, and may write there."""
    for pod in pods(graph):
        if not asks(pod, GPU):
            continue
        for container in pod.spec.get("containers") or []:
            told = dict(environment(graph, pod, container))
            saves = told.get(SAVES) or flag(container, *SAVING)
            for place in dict.fromkeys((saves or "", told.get(TRACES) or "")):
                mount = mount_of(container, place) if place.startswith("/") and UNKNOWN not in place else None
                volume = volume_of(pod, mount or {})
                claim = volume.get("persistentVolumeClaim") or {}
                if mount is not None and place == saves and (not mount or "emptyDir" in volume):
                    yield pod.owner, f"saves to {place}, which is gone with the pod ({pod.path})"
                elif mount and (mount.get("readOnly") or claim.get("readOnly") or takes_nothing(graph, pod, claim)):
                    yield pod.owner, f"saves to {place}, which is mounted read-only ({pod.path})"


def takes_nothing(graph: Graph, pod: Pod, claim: Mapping[str, Any]) -> bool:
    """Whether the volume behind a claim is read-only for everybody."""
    asked = object_named(graph, "PersistentVolumeClaim", pod.namespace, claim.get("claimName", ""))
    volume = object_named(graph, "PersistentVolume", "default", spec_of(asked).get("volumeName", "")) if asked else None
    given = spec_of(volume) if volume else {}
    return bool((given.get("csi") or {}).get("readOnly")) or "ro" in (given.get("mountOptions") or [])


def mount_of(container: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    """The mount in which a path lies, empty where it is in none."""
    held = [
        each
        for each in container.get("volumeMounts") or []
        if f"{place.rstrip('/')}/".startswith(f"{str(each.get('mountPath')).rstrip('/')}/")
    ]
    return max(held, key=lambda each: len(str(each.get("mountPath"))), default={})


def volume_of(pod: Pod, mount: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((each for each in pod.spec.get("volumes") or [] if mount and each.get("name") == mount.get("name")), {})
