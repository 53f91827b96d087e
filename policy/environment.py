"""Rules about what a pod is told by others: variables and places that its operator, torchrun or the kubelet own."""

from collections.abc import Iterator, Mapping

from policy.gangs import GPU, amount, copies, metadata_of, of_training_operator, spec_of, together
from policy.graph import Graph
from policy.pods import Pod, pods
from policy.rule import Finding, rule
from policy.words import assigned, environment, flags, variables

RENDEZVOUS = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
OWNED: Mapping[str, tuple[str, ...]] = {
    "PyTorchJob": (*RENDEZVOUS, "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK", "PET_*", "TORCHELASTIC_*"),
    "XGBoostJob": (*RENDEZVOUS, "WORKER_PORT", "WORKER_ADDRS"),
    "TFJob": ("TF_CONFIG",),
    "JAXJob": ("COORDINATOR_ADDRESS", "COORDINATOR_PORT", "NUM_PROCESSES", "PROCESS_ID"),
    "PaddleJob": ("PADDLE_*", "TRAINER_PORTS"),
    "MPIJob": ("OMPI_COMM_WORLD_*", "OMPI_MCA_orte_default_hostfile", "K_MPI_JOB_ROLE"),
    "TrainJob": ("PET_*", *RENDEZVOUS),
    "ClusterTrainingRuntime": ("PET_*", *RENDEZVOUS),
    "TrainingRuntime": ("PET_*", *RENDEZVOUS),
}
"""What an operator writes into the pods of a kind; a star stands for the rest of a name."""

OF_THE_KUBELET = ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
PLACES = ("master-addr", "rdzv-endpoint", "main-process-ip")
ORDINALS = ("node-rank", "machine-rank")


def owned(pod: Pod) -> tuple[str, ...]:
    """The variables that a pod's operator sets; a star stands for the rest of a name."""
    names = OWNED.get(pod.kind, ()) if pod.maker.token.startswith("kubernetes:") else ()
    if pod.maker.token.startswith("kubernetes:batch.volcano.sh/"):
        plugins = spec_of(pod.maker).get("plugins") or {}
        names = ("VC_*", "VK_TASK_INDEX", *(RENDEZVOUS if "pytorch" in plugins else ()))
    if spec_of(pod.maker).get("completionMode") == "Indexed":
        names = ("JOB_COMPLETION_INDEX",)
    return names


def is_of(name: str, names: tuple[str, ...]) -> bool:
    """Whether a variable is one of those."""
    return any(name == each or (each.endswith("*") and name.startswith(each[:-1])) for each in names)


@rule(
    source="training-operator v1.9: pkg/controller.v1/*/envvar.go; Volcano 1.15: pkg/controllers/job/plugins; "
    "Trainer 2.3 (PET_* reserved)",
    remedy="leave the variable out: the operator writes it into every pod, with the pod's own rank",
)
def operators_own_their_variables(graph: Graph) -> Iterator[Finding]:
    """No pod sets what its operator sets: address, port, size and rank of the job (KJ06, KJ07)."""
    for pod in pods(graph):
        own = owned(pod)
        for container in pod.containers:
            names = {name for name, value in variables(graph, pod, container) if "$" not in (value or "")}
            if found := sorted(name for name in names if is_of(name, own)):
                yield pod.owner, f"sets {', '.join(found)} at {pod.path}, which the operator of a {pod.kind} sets"


@rule(
    source="NVIDIA container toolkit: NVIDIA_VISIBLE_DEVICES chooses the devices; k8s-device-plugin sets it",
    remedy="leave it out and request GPUs in limits: the device plugin sets it, and CUDA numbers the visible ones",
)
def devices_come_from_the_plugin(graph: Graph) -> Iterator[Finding]:
    """A container's visible GPUs follow from its request, and from nothing else (KJ23)."""
    for pod in pods(graph):
        gpus = any("nvidia.com/" in str(each.get("resources") or {}) for each in pod.containers)
        for container in pod.containers:
            shared = OF_THE_KUBELET[1] in dict(assigned(container))
            for name, value in environment(graph, pod, container):
                every = value == ",".join(map(str, range(amount(pod, GPU))))
                if name in OF_THE_KUBELET and gpus and not (name == OF_THE_KUBELET[1] and (every or shared)):
                    yield pod.owner, f"sets {name}={value} in addition to GPUs from the device plugin"
                elif name == OF_THE_KUBELET[0] and pod.kind != "DaemonSet" and value not in ("", "none", "void"):
                    yield pod.owner, f"sets {name}={value} without requesting a GPU, and so uses those of other pods"


@rule(
    source="torchrun: PET_* are the defaults of its flags (torch/distributed/run.py); training-operator v1.9 envvar.go",
    remedy="leave --nnodes, --node-rank, --master-addr and --rdzv-endpoint out: torchrun reads PET_* and MASTER_ADDR, "
    "or pass those variables: --nnodes=$(PET_NNODES)",
)
def launchers_believe_the_operator(graph: Graph) -> Iterator[Finding]:
    """A launcher takes the number of nodes and the rendezvous from its operator, in every pod alike (KJ03, KJ06)."""
    found = list(pods(graph))
    for pod in found:
        gang = together(pod, found)
        if gang <= 1:
            continue
        run = of_training_operator(pod.maker)
        name = str(metadata_of(pod.maker).get("name", ""))
        for container in pod.spec.get("containers") or []:
            for key, value in flags(container):
                literal = "$" not in value
                if key == "standalone":
                    yield pod.owner, f"runs torchrun --standalone in {gang} pods: each trains alone"
                elif key in ("nnodes", "num-machines") and "WORLD_SIZE" in value:
                    yield pod.owner, f"gives --{key}={value}, which counts processes, not nodes"
                elif key == "nnodes" and run and literal and value != str(gang):
                    yield pod.owner, f"gives --{key}={value} in a job of {gang} pods, over what the operator says"
                elif key in ORDINALS and literal and copies(pod) > 1:
                    yield pod.owner, f"gives --{key}={value} to {copies(pod)} pods alike"
                elif key in PLACES and literal and run and not value.startswith(f"{name}-"):
                    yield pod.owner, f"gives --{key}={value}, where the operator has no pod of this job"
