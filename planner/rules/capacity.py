"""Instance types, what fits on a node, and service quotas."""

from collections.abc import Iterable
from difflib import get_close_matches
from math import ceil

from catalogue.echo import echo
from catalogue.quotas import QuotaUnit
from catalogue.types import Accelerator
from catalogue.units import MIB_PER_GIB
from planner.draft import AwsDraft, Draft, aws_rule, aws_warning, rule
from planner.findings import Observation
from planner.pool_types import AwsPoolPlan, PoolPlan
from planner.rules.known import known_pools, or_own_row, pools, runs, services
from planner.wording import counted, one_of
from settings.aws_pools import AwsPool
from settings.pools import Pool
from settings.workloads import TrainingRun


@aws_rule(
    "B01 NW11",
    each=pools,
    formula="instanceType in the catalogue's instances",
    source="EC2 instance types guide; Definition of the stack file",
)
def instance_unknown(draft: AwsDraft, pool: AwsPool) -> Iterable[Observation]:
    """Every pool's instance type is a row of the catalogue."""
    known = draft.catalogue.instances
    if pool.instance_type not in known:
        near = get_close_matches(pool.instance_type, known, n=1)
        yield Observation(
            path="instanceType",
            sentence=f"the catalogue has no instance type {echo(pool.instance_type)}",
            remedy=or_own_row(
                f"did you mean {near[0]}?" if near else "docs/reference/instances.md lists the known ones",
                "instances",
            ),
        )


@rule(
    "A08",
    each=known_pools,
    formula="GPUs of a node >= 1 for training and inference, = 0 for system",
    source="Definition of the stack file (role of a pool)",
)
def pool_without_gpu(draft: Draft, pool: Pool, plan: PoolPlan) -> Iterable[Observation]:
    """Training and inference pools have GPUs; the system pool has none, because nothing there would use them."""
    neuron = isinstance(plan, AwsPoolPlan) and plan.instance.accelerator is Accelerator.NEURON
    if not neuron and (plan.gpus_per_node == 0) is not (pool.role == "system"):
        has = f"has {counted(plan.gpus_per_node, 'GPU')}" if plan.gpus_per_node else "has no GPU"
        yield Observation(
            path=f"{draft.hardware_key}",
            sentence=f"{plan.hardware} {has}, and the pool's role is {pool.role}",
            remedy=_other_hardware(draft, gpus=pool.role != "system"),
            inputs={"GPUs of a node": f"{plan.gpus_per_node} GPUs"},
        )


@aws_rule(
    "PW16 Z04",
    each=known_pools,
    formula="accelerator of the instance type is not Neuron",
    source="EC2 instance types page, accelerated computing",
)
def accelerator_not_gpu(_: AwsDraft, pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """Inferentia and Trainium run no CUDA, and everything that this program installs and runs is made for CUDA."""
    if plan.instance.accelerator is Accelerator.NEURON:
        yield Observation(
            path="instanceType",
            sentence=f"{pool.instance_type} has {plan.instance.neuron_count} x Neuron, on which neither CUDA nor "
            "NCCL runs",
            remedy="take a g or p type, or an m7i size for the system pool",
            inputs={"accelerators": f"{plan.instance.neuron_count} x Neuron"},
        )


def _other_hardware(draft: Draft, *, gpus: bool) -> str:
    """What to take instead, with GPUs or without."""
    if isinstance(draft, AwsDraft):
        return "take a g or p type" if gpus else "take an m7i size"
    fitting = [row.name for row in draft.catalogue.servers.values() if (row.gpu_count > 0) is gpus]
    return f"take {one_of(fitting)}" if fitting else "add such a server to gpucluster:catalogue.servers"


@aws_rule(
    "PW18",
    each=known_pools,
    formula="capacity in the usage classes of the instance type",
    source="EC2 API reference, DescribeInstanceTypes (SupportedUsageClasses)",
)
def capacity_not_offered(_: AwsDraft, pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """A pool buys its instances in a way that AWS sells them."""
    if plan.usage not in plan.instance.usage_classes:
        offered = ", ".join(sorted(plan.instance.usage_classes))
        yield Observation(
            path="capacity",
            sentence=f"AWS does not sell {pool.instance_type} as {pool.capacity}",
            remedy=f"it is sold as {offered}",
        )


@rule(
    "N05 AA06",
    each=runs,
    formula="shmGib < memory limit of the pod",
    source="Kubernetes documentation, volumes: emptyDir in memory counts against the memory limit",
)
def shm_below_memory(draft: Draft, run: TrainingRun) -> Iterable[Observation]:
    """Shared memory counts against the pod's memory limit, so it stays below it."""
    plan = draft.runs.get(run.name)
    if plan and plan.pod.shm_mib >= plan.pod.memory_mib:
        limit = plan.pod.memory_mib // MIB_PER_GIB
        yield Observation(
            path="shmGib",
            sentence=f"{run.shm_gib} GiB of shared memory do not fit below the pod's memory limit of {limit} GiB, "
            f"which is what a {draft.pools[run.pool].hardware} leaves",
            remedy=f"set it to at most {limit // 2}, half of the limit"
            if limit > 1
            else "take an instance type with more memory",
            inputs={"shared memory": f"{run.shm_gib} GiB", "memory limit": f"{limit} GiB"},
        )


@rule(
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


@aws_warning(
    "Z04 A07", formula="need <= default", source="Default values in AWS Service Quotas and the services' user guides"
)
def quota_above_default(draft: AwsDraft) -> Iterable[Observation]:
    """What a new account has suffices. vCPU are left out: of those it has none for GPUs, so everybody asks for them."""
    for need in draft.quotas:
        quota = need.quota
        if need.beyond_default and quota.unit is not QuotaUnit.VCPU:
            unit = "" if quota.unit is QuotaUnit.COUNT else f" {quota.unit}"
            code = f" ({quota.service} {quota.code})" if quota.code else ""
            yield Observation(
                path="pools" if quota.service != "fsx" else "storage.lustre.capacityGib",
                sentence=f"the stack takes {need.need:g}{unit} of the quota {quota.name!r}{code}, which begins at "
                f"{quota.default:g}: {need.basis}",
                remedy=f"ask Service Quotas for {ceil(need.need)} before the deployment, or take less",
                subject=quota.name,
                inputs={"need": f"{need.need:g}{unit}", "default": f"{quota.default:g}{unit}"},
            )
