"""Words and variables of a run that contradict what the plan, the operator or the platform says."""

from collections.abc import Iterable, Mapping

from planner.draft import AwsDraft, Draft, aws_rule, rule, warning
from planner.findings import Observation
from planner.pool_types import AwsPoolPlan
from planner.rules.known import runs
from planner.rules.told import KEYS, left_open
from planner.wording import one_of
from settings.workloads import TrainingRun

_OPERATORS = {
    "nnodes": "the number of nodes",
    **dict.fromkeys(("nproc-per-node", "world-size"), "the number of processes"),
    "node-rank": "the node's rank",
    "master-addr": "the first node's address",
    "master-port": "the first node's port",
    **dict.fromkeys(("rdzv-endpoint", "rdzv-backend", "rdzv-id", "rdzv-conf", "standalone"), "the rendezvous"),
    "max-restarts": "the restarts",
}


@rule(
    "N03 N10 N16 KJ03 KJ06",
    each=runs,
    formula="the script's words name no count of nodes or processes, and no rendezvous",
    source="training-operator v1.9, pkg/controller.v1/pytorch/envvar.go: PET_* are torchrun's defaults",
)
def launch_by_hand(_: Draft, run: TrainingRun) -> Iterable[Observation]:
    """The operator sets node and process counts; the same options in the script would win over them."""
    for index, name in _options(run.script):
        if name in _OPERATORS:
            yield Observation(
                path=f"script[{index}]",
                sentence=f"--{name} sets {_OPERATORS[name]} by hand, which the training operator tells torchrun",
                remedy="remove it; nodes and restarts of the run say how many",
            )


@rule(
    "N03",
    each=runs,
    formula="no option of the script is one that the plan sets",
    source="argparse: the last of two options wins",
)
def launch_says_twice(draft: Draft, run: TrainingRun) -> Iterable[Observation]:
    """An argument of the script that the plan sets too would win over what was checked."""
    for index, name in _options(run.script):
        key = KEYS.get(name) if run.framework != "script" else None
        if key is not None and not left_open(run, draft.runs.get(run.name), name, run.script[index]):
            yield Observation(
                path=f"script[{index}]",
                sentence=f"{run.script[index]} says what the plan tells framework {run.framework}, and would win",
                remedy=f"remove it, and set {key} of the run",
            )


_LOADS = ("torchrun", "fsdp2", "megatron", "nemo")
"""Frameworks that are told how many processes load data."""

_WORKER_MIB = 1024
"""Approximate: what a process with PyTorch and without a GPU keeps in memory beside what it loads."""


@rule(
    "O05",
    each=runs,
    formula="GPUs of a node x (1 + loaderWorkers) <= cores of its pod; 1 GiB for each worker beside shmGib <= memory",
    source="PyTorch documentation, torch.utils.data.DataLoader: num_workers are processes of each rank; definition of "
    "the planner",
)
def loader_workers(draft: Draft, run: TrainingRun) -> Iterable[Observation]:
    """Processes that load data have a core and memory each, and a framework that starts them."""
    planned = draft.runs.get(run.name)
    if run.loader_workers is None or planned is None:
        return
    if run.framework not in _LOADS:
        why = {
            "reference": "the bundled trainer reads tokens where they lie, in each rank",
            "deepspeed": "ds.json has no key for them",
        }.get(run.framework, "a script of your own reads none of these flags")
        yield Observation(
            path="loaderWorkers",
            sentence=f"nobody starts {run.loader_workers} workers: {why}",
            remedy=f"remove it, let the script say it itself, or set framework to {one_of(_LOADS)}",
        )
        return
    pod = planned.pod
    cores, wanted = pod.cpu_millicores // 1000, pod.gpus * (1 + run.loader_workers)
    if wanted > cores:
        yield Observation(
            path="loaderWorkers",
            sentence=f"{pod.gpus} ranks with {run.loader_workers} workers each are {wanted} processes, and a pod has "
            f"{cores} cores",
            remedy=f"take {max(0, cores // pod.gpus - 1)} or fewer",
            inputs={"processes": str(wanted), "cores": str(cores)},
        )
    free, taken = pod.memory_mib - pod.shm_mib, pod.gpus * run.loader_workers * _WORKER_MIB
    if taken > free:
        yield Observation(
            path="loaderWorkers",
            sentence=f"{pod.gpus * run.loader_workers} workers keep about {taken // _WORKER_MIB} GiB, and a pod has "
            f"{free // 1024} GiB beside shmGib",
            remedy=f"take {max(0, free // _WORKER_MIB // pod.gpus)} or fewer, or a smaller shmGib",
            inputs={"workers": f"{taken // _WORKER_MIB} GiB", "free": f"{free // 1024} GiB"},
        )


_FORBIDDEN: Mapping[str, tuple[str, str]] = {
    "NCCL_SOCKET_IFNAME": ("NC01", "a pod's interfaces are its network's; ib0 is not there and NCCL would end"),
    "NCCL_IB_GID_INDEX": ("NC03", "NCCL finds RoCE v2 itself, and InfiniBand has no such index"),
    "NCCL_NET_GDR_READ": ("NC05", "it is on where it can be"),
    "NCCL_BUFFSIZE": ("NC07", "four times the buffers take memory of the GPU for nothing"),
    "NCCL_IB_HCA": ("NC08", "the cards are the fabric's: names without a leading = are prefixes"),
    "NCCL_TOPO": ("NC09", "NCCL does not read it; the name is NCCL_TOPO_FILE"),
    "NCCL_IB_DISABLE": ("P01", "nodes would talk over sockets"),
    "NCCL_P2P_DISABLE": ("NC13", "GPUs of a node would not use NVLink"),
    "NCCL_NET": ("LF04", "the platform names the network that must be used"),
    "NCCL_NET_PLUGIN": ("LF04", "the image's row says which plugin there is"),
    "FI_PROVIDER": ("LF04", "the platform names the provider that must be used"),
}
_FORBIDDEN_VALUES: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "NCCL_NET_GDR_LEVEL": ("NC04", ("0", "1", "2", "3", "4", "5"), "numbers are old names of levels; write PXB or SYS"),
    "NCCL_CROSS_NIC": ("NC06", ("1",), "it takes traffic off its rail"),
    "NCCL_IB_TIMEOUT": ("NC10", ("20",), "it is the default"),
}


_MEETING = {"v1": 23_456, "v2": 29_500}
"""Ports of the rendezvous by the run's api."""


@rule(
    "N03",
    each=runs,
    formula="metricsPort is not the port at which the run's ranks meet",
    source="kubeflow/training-operator v1.9, pytorch_types.go (PyTorchJobDefaultPort 23456); kubeflow/trainer v2.3, "
    "constants.go (ContainerTrainerPort 29500)",
)
def metrics_at_the_rendezvous(_: Draft, run: TrainingRun) -> Iterable[Observation]:
    """Rank 0 shows its metrics at another port than the one at which all ranks meet: one of two cannot listen."""
    taken = _MEETING.get(run.api)
    if run.metrics_port is not None and run.metrics_port == taken:
        yield Observation(
            path="metricsPort",
            sentence=f"the run's ranks meet at port {taken} of the first pod, where rank 0 is to show its metrics: the "
            "run would end as it starts",
            remedy="take another port, such as 9464",
        )


@rule(
    "P01 P02 P03 P04 P05 P06 P07 P08 P11 P12 NC01 NC03 NC04 NC05 NC06 NC07 NC08 NC09 NC10",
    each=runs,
    formula="a variable of the run is none that the platform sets, and none of the known mistakes",
    source="NCCL 2.30 user guide, environment variables; corrections NC01 to NC10",
)
def nccl_against_platform(_: Draft, run: TrainingRun) -> Iterable[Observation]:
    """Variables that take collectives off the fabric, or that change nothing, are refused by name."""
    for index, each in enumerate(run.nccl):
        why = _FORBIDDEN.get(each.name)
        if why is None and (found := _FORBIDDEN_VALUES.get(each.name)) and each.value in found[1]:
            why = (found[0], found[2])
        if why is not None:
            yield Observation(
                path=f"nccl[{index}]",
                sentence=f"{each.name}={each.value}: {why[1]} ({why[0]})",
                remedy="remove it",
            )


@aws_rule(
    "P12",
    each=runs,
    formula="no run on EFA has a topology of its own",
    source="aws/aws-ofi-nccl, src/platform-aws.cpp: it sets NCCL_TOPO_FILE for p4d and p4de, and topo/ has the files",
)
def topology_of_the_plugin(draft: AwsDraft, run: TrainingRun) -> Iterable[Observation]:
    """EFA's plugin tells NCCL of the instance's buses; a file of somebody's own would be taken in place of its."""
    pool = draft.pools.get(run.pool)
    if run.topology is not None and isinstance(pool, AwsPoolPlan) and pool.efa:
        yield Observation(
            path="topology",
            sentence=f"EFA's plugin knows {pool.instance.type}, and tells NCCL by NCCL_TOPO_FILE itself",
            remedy="remove it",
        )


@warning(
    "P09 P10 NC11 NC17",
    each=runs,
    formula="a run sets no variables of NCCL",
    source="NCCL user guide: variables for debugging are not for production; corrections NC11, NC17",
)
def nccl_untried(_: Draft, run: TrainingRun) -> Iterable[Observation]:
    """A variable that fixes a choice of NCCL needs a measurement on the software that is used now."""
    odd = [each.name for each in run.nccl if each.name not in _FORBIDDEN and each.name not in _HARMLESS]
    if odd:
        yield Observation(
            path="nccl",
            sentence=f"{', '.join(odd)}: NCCL chooses by size and topology, and a setting holds for every call",
            remedy="measure with and without it at each upgrade, or remove it",
        )


_HARMLESS = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE", "NCCL_TOPO_FILE")


def _options(words: Iterable[str]) -> Iterable[tuple[int, str]]:
    """Names of the options among the words, as argparse takes them (_ is -), and of overrides like train.x=1."""
    for index, word in enumerate(words):
        name = word.partition("=")[0]
        if word.startswith("--"):
            yield index, name.removeprefix("--").replace("_", "-")
        elif "=" in word and not word.startswith("-"):
            yield index, name
