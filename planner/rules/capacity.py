"""Instance types, gangs, and what fits on a node."""

from collections.abc import Iterable
from difflib import get_close_matches

from catalogue.echo import echo
from catalogue.types import Accelerator
from catalogue.units import MIB_PER_GIB
from planner.draft import AwsDraft, Draft, aws_rule, rule
from planner.findings import Observation, Severity
from planner.pool_types import AwsPoolPlan
from planner.rules.known import known_pools, or_own_row, placed_runs, runs, services
from planner.wording import counted, one_of


@aws_rule(
    "instance-unknown",
    "B01",
    "NW11",
    formula="instanceType in the catalogue's instances",
    source="EC2 instance types guide; Definition of the stack file",
)
def instance_unknown(draft: AwsDraft) -> Iterable[Observation]:
    """Every pool's instance type is a row of the catalogue."""
    known = draft.catalogue.instances
    for index, pool in enumerate(draft.settings.pools):
        if pool.instance_type not in known:
            near = get_close_matches(pool.instance_type, known, n=1)
            yield Observation(
                path=f"pools[{index}].instanceType",
                sentence=f"the catalogue has no instance type {echo(pool.instance_type)}",
                remedy=or_own_row(
                    f"did you mean {near[0]}?" if near else "docs/reference/instances.md lists the known ones",
                    "instances",
                ),
                subject=pool.name,
            )


@rule(
    "pool-without-gpu",
    "A08",
    formula="GPUs of a node >= 1 for training and inference, = 0 for system",
    source="Definition of the stack file (role of a pool)",
)
def pool_without_gpu(draft: Draft) -> Iterable[Observation]:
    """Training and inference pools have GPUs; the system pool has none, because nothing there would use them."""
    for path, pool, plan in known_pools(draft):
        neuron = isinstance(plan, AwsPoolPlan) and plan.instance.accelerator is Accelerator.NEURON
        if not neuron and (plan.gpus_per_node == 0) is not (pool.role == "system"):
            has = f"has {counted(plan.gpus_per_node, 'GPU')}" if plan.gpus_per_node else "has no GPU"
            yield Observation(
                path=f"{path}.{draft.hardware_key}",
                sentence=f"{plan.hardware} {has}, and the pool's role is {pool.role}",
                remedy=_other_hardware(draft, gpus=pool.role != "system"),
                subject=pool.name,
                inputs={"GPUs of a node": f"{plan.gpus_per_node} GPUs"},
            )


@aws_rule(
    "accelerator-not-gpu",
    "PW16",
    "Z04",
    source="EC2 instance types page, accelerated computing",
    formula="accelerator of the instance type is not Neuron",
)
def accelerator_not_gpu(draft: AwsDraft) -> Iterable[Observation]:
    """Inferentia and Trainium run no CUDA, and everything that this program installs and runs is made for CUDA."""
    for path, pool, plan in known_pools(draft):
        if plan.instance.accelerator is Accelerator.NEURON:
            yield Observation(
                path=f"{path}.instanceType",
                sentence=f"{pool.instance_type} has {plan.instance.neuron_count} x Neuron, on which neither CUDA nor "
                "NCCL runs",
                remedy="take a g or p type, or an m7i size for the system pool",
                subject=pool.name,
                inputs={"accelerators": f"{plan.instance.neuron_count} x Neuron"},
            )


def _other_hardware(draft: Draft, *, gpus: bool) -> str:
    """What to take instead, with GPUs or without."""
    if isinstance(draft, AwsDraft):
        return "take a g or p type" if gpus else "take an m7i size"
    fitting = [row.name for row in draft.catalogue.servers.values() if (row.gpu_count > 0) is gpus]
    return f"take {one_of(fitting)}" if fitting else "add such a server to gpucluster:catalogue.servers"


@aws_rule(
    "capacity-not-offered",
    "PW18",
    formula="capacity in the usage classes of the instance type",
    source="EC2 API reference, DescribeInstanceTypes (SupportedUsageClasses)",
)
def capacity_not_offered(draft: AwsDraft) -> Iterable[Observation]:
    """A pool buys its instances in a way that AWS sells them."""
    for path, pool, plan in known_pools(draft):
        if plan.usage not in plan.instance.usage_classes:
            offered = ", ".join(sorted(plan.instance.usage_classes))
            yield Observation(
                path=f"{path}.capacity",
                sentence=f"AWS does not sell {pool.instance_type} as {pool.capacity}",
                remedy=f"it is sold as {offered}",
                subject=pool.name,
            )


@rule(
    "gang-fits-pool",
    "A08",
    "IN09",
    formula="nodes of the run <= count of its pool",
    source="Definition of the stack file: a gang runs whole or not at all",
)
def gang_fits_pool(draft: Draft) -> Iterable[Observation]:
    """A run needs at most as many nodes as its pool has; the GPUs of inference pools are not available to it."""
    for path, run, pool in placed_runs(draft):
        if run.nodes > pool.count:
            gpus = run.nodes * pool.gpus_per_node
            fewer = f"set nodes to at most {pool.count} or " if pool.count else ""
            yield Observation(
                path=f"{path}.nodes",
                sentence=f"the gang takes {counted(run.nodes, 'node')} ({counted(gpus, 'GPU')}) and pool {pool.name} "
                f"has {pool.count} ({counted(pool.gpus, 'GPU')}), so it would never start",
                remedy=f"{fewer}set the pool's count to {run.nodes}",
                subject=run.name,
                inputs={"gang": f"{run.nodes} nodes ({gpus} GPUs)", "pool": f"{pool.count} nodes ({pool.gpus} GPUs)"},
            )


@rule(
    "gang-fits-queue",
    "A08",
    "M01",
    formula="nodes x GPUs of a node <= gpus of the queue",
    source="Definition of the stack file (scheduling.queues)",
)
def gang_fits_queue(draft: Draft) -> Iterable[Observation]:
    """A queue's cap leaves room for each gang that is sent to it."""
    caps = {queue.name: queue.gpus for queue in draft.settings.scheduling.queues}
    for path, run in runs(draft):
        cap, plan = caps.get(run.queue), draft.runs.get(run.name)
        if cap is not None and plan and plan.gpus > cap:
            yield Observation(
                path=f"{path}.queue",
                sentence=f"the gang takes {plan.gpus} GPUs and queue {run.queue} is capped at {cap}",
                remedy=f"raise the queue's gpus to {plan.gpus} or send the run to another queue",
                subject=run.name,
                inputs={"gang": f"{plan.gpus} GPUs", "queue": f"{cap} GPUs"},
            )


@rule(
    "gangs-wait-in-line",
    "A08",
    severity=Severity.WARNING,
    formula="sum of the runs' nodes <= count of the pool",
    source="Definition of the stack file: a gang runs whole or not at all",
)
def gangs_wait_in_line(draft: Draft) -> Iterable[Observation]:
    """Runs that together need more nodes than their pool has run one after the other."""
    for index, pool in enumerate(draft.settings.pools):
        wanted = [run.nodes for run in draft.settings.training.runs if run.pool == pool.name]
        if max(wanted, default=0) <= pool.count < sum(wanted):
            yield Observation(
                path=f"pools[{index}].count",
                sentence=f"its {len(wanted)} runs take {sum(wanted)} nodes together and the pool has {pool.count}",
                remedy="they run one after the other, unless the pool grows; priority: experiments says which give way",
                subject=pool.name,
                inputs={"runs together": f"{sum(wanted)} nodes", "pool": f"{pool.count} nodes"},
            )


@rule(
    "shm-below-memory",
    "N05",
    "AA06",
    formula="shmGib < memory limit of the pod",
    source="Kubernetes documentation, volumes: emptyDir in memory counts against the memory limit",
)
def shm_below_memory(draft: Draft) -> Iterable[Observation]:
    """Shared memory counts against the pod's memory limit, so it stays below it."""
    for path, run in runs(draft):
        plan = draft.runs.get(run.name)
        if plan and plan.pod.shm_mib >= plan.pod.memory_mib:
            limit = plan.pod.memory_mib // MIB_PER_GIB
            yield Observation(
                path=f"{path}.shmGib",
                sentence=f"{run.shm_gib} GiB of shared memory do not fit below the pod's memory limit of {limit} GiB, "
                f"which is what a {draft.pools[run.pool].hardware} leaves",
                remedy=f"set it to at most {limit // 2}, half of the limit"
                if limit > 1
                else "take an instance type with more memory",
                subject=run.name,
                inputs={"shared memory": f"{run.shm_gib} GiB", "memory limit": f"{limit} GiB"},
            )


@rule(
    "node-too-small",
    "N04",
    formula="cores of a pod >= 1; memory of a pod >= 1 GiB",
    source="Kubernetes documentation, reserve compute resources for system daemons",
)
def node_too_small(draft: Draft) -> Iterable[Observation]:
    """After the node's own daemons, a pod that takes its share still gets at least a core and a GiB."""
    planned = (
        *((path, draft.runs.get(run.name)) for path, run in runs(draft)),
        *((path, draft.services.get(service.name)) for path, service in services(draft)),
    )
    for path, plan in planned:
        if plan and not (plan.pod.cpu_millicores and plan.pod.memory_mib):
            yield Observation(
                path=f"{path}.pool",
                sentence=f"a pod would be left with {plan.pod.cpu_millicores // 1000} cores and "
                f"{plan.pod.memory_mib // MIB_PER_GIB} GiB of a {draft.pools[plan.pool].hardware}",
                remedy="take a larger size for the pool",
                subject=plan.name,
                inputs={
                    "CPU": f"{plan.pod.cpu_millicores // 1000} cores",
                    "memory": f"{plan.pod.memory_mib // MIB_PER_GIB} GiB",
                },
            )
