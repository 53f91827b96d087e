"""Pools whose nodes Karpenter makes: what may run there, what it may start, and what it has to reach."""

from collections.abc import Iterable, Iterator

from catalogue.types import Instance
from planner.draft import AwsDraft, aws_rule, aws_warning
from planner.findings import Observation
from settings.aws_pools import AwsPool
from settings.karpenter import Karpenter

_TYPES = "karpenter-provider-aws v1.14, pkg/providers/instancetype/types.go"
_GANGS = (
    "kubernetes-sigs/karpenter issue 742: it starts nodes for one pod after the other, and knows nothing of gangs; "
    'EC2 user guide, "Placement strategies for your placement groups": launch all instances in one request'
)


def _scaled(draft: AwsDraft) -> Iterator[tuple[str, AwsPool, Karpenter]]:
    """Pools that Karpenter keeps, each with its path."""
    for index, pool in enumerate(draft.settings.pools):
        if pool.karpenter:
            yield f"pools[{index}]", pool, pool.karpenter


@aws_rule("J13", each=_scaled, formula="role of a pool with karpenter = inference", source=_GANGS)
def scaled_pool_serves(_: AwsDraft, pool: AwsPool, _karpenter: Karpenter) -> Iterable[Observation]:
    """Karpenter keeps pools of services: a gang starts whole or not at all."""
    if pool.role == "training":
        yield Observation(
            path="role",
            sentence="a gang starts once all of its nodes stand close together, and Karpenter starts nodes one by one, "
            "for whichever pods wait",
            remedy=f"remove karpenter and set count to the nodes that {pool.name} needs, or make its role inference",
            inputs={"role": pool.role},
        )


@aws_rule(
    "J13",
    each=_scaled,
    formula="types of karpenter.instanceTypes: in the catalogue, GPUs and their number and architecture of "
    "instanceType, and no less CPU and memory",
    source="Pods of the pool are planned for its instanceType",
)
def scaled_types_equal(draft: AwsDraft, pool: AwsPool, karpenter: Karpenter) -> Iterable[Observation]:
    """Whatever type Karpenter takes, each pod of the pool finds on it what the plan counts on."""
    yield from types_unlike(draft, pool, "karpenter.instanceTypes", karpenter.instance_types)


def types_unlike(draft: AwsDraft, pool: AwsPool, key: str, names: Iterable[str]) -> Iterator[Observation]:
    """Further types of a pool on which some pod that is planned for its own would not find what it asks for."""
    own = draft.catalogue.instances.get(pool.instance_type)
    for index, name in enumerate(names if own else ()):
        if own and (wrong := _unlike(own, draft.catalogue.instances.get(name))):
            yield Observation(
                path=f"{key}[{index}]",
                sentence=f"{name} {wrong}",
                remedy=f"name types with {own.gpu_count} {own.gpu.name if own.gpu else 'GPUs'} and at least "
                f"{own.vcpu} vCPU and {own.memory_gib:g} GiB",
                subject=name,
                inputs={"wanted": own.type, "named": name},
            )


def _unlike(own: Instance, other: Instance | None) -> str | None:
    """What is wrong with `other` beside the pool's `own`; None if every pod of the pool finds room there."""
    if other is None:
        return "is not in the catalogue, so what a pod finds there is not known"
    ours, theirs = (own.gpu.name if own.gpu else "no GPU"), (other.gpu.name if other.gpu else "no GPU")
    if (own.gpu_count, ours) != (other.gpu_count, theirs):
        return f"has {other.gpu_count} x {theirs}, and the pool's {own.type} has {own.gpu_count} x {ours}"
    if own.architecture is not other.architecture:
        return f"is of {other.architecture}, and {own.type} of {own.architecture}: images run on one of them"
    if other.vcpu < own.vcpu or other.memory_gib < own.memory_gib:
        return (
            f"has {other.vcpu} vCPU and {other.memory_gib:g} GiB, less than the {own.vcpu} and {own.memory_gib:g} of "
            f"{own.type}, which pods are planned for"
        )
    return None


@aws_rule(
    "J13",
    each=_scaled,
    formula="neither mig nor timeSlices beside karpenter",
    source=f"{_TYPES}: a node's nvidia.com/gpu is the number of GPUs of its type",
)
def scaled_gpus_whole(_: AwsDraft, pool: AwsPool, _karpenter: Karpenter) -> Iterable[Observation]:
    """Karpenter counts whole GPUs: where each is offered several times, it starts several nodes for what one holds."""
    for key, shared in (("mig", pool.mig), ("timeSlices", pool.time_slices)):
        if shared is not None:
            yield Observation(
                path=key,
                sentence=f"GPUs of pool {pool.name} are to be shared, and Karpenter counts each of them once: it "
                "would start a node for every pod",
                remedy=f"remove {key}, or remove karpenter and set count",
                inputs={key: str(shared)},
            )


@aws_rule(
    "J13",
    each=_scaled,
    formula="a way out of the network, if Karpenter makes nodes",
    source="karpenter.sh, Getting Started, Private Clusters: IAM and the price list have no endpoint in a VPC",
)
def scaled_needs_a_way_out(draft: AwsDraft, _pool: AwsPool, _karpenter: Karpenter) -> Iterable[Observation]:
    """Karpenter reaches what it asks: EC2, EKS, SQS, Systems Manager, IAM and the price list."""
    if draft.vpc.leads_out:
        return
    yield Observation(
        path="karpenter",
        sentence="Karpenter asks IAM and AWS' price list, which have no endpoints in a VPC, and nothing leads out "
        "of the network",
        remedy="take platform.network.nat: one, or remove karpenter and set count",
    )


@aws_warning(
    "J13",
    each=_scaled,
    formula="no keeper.offHours beside karpenter",
    source="Definition of the stack file: offHours empties node groups",
)
def scaled_off_hours(draft: AwsDraft, _pool: AwsPool, _karpenter: Karpenter) -> Iterable[Observation]:
    """Off hours empty node groups; nodes that Karpenter made stay as long as their pods do."""
    keeper = draft.settings.keeper
    if keeper is None or keeper.off_hours is None:
        return
    yield Observation(
        path="karpenter",
        sentence="off hours empty node groups; nodes that Karpenter made run on, as pods of services need them",
        remedy="waive scaled-off-hours if they are to run on, or remove karpenter and set count",
    )


@aws_warning(
    "J14",
    each=_scaled,
    formula="a pool with karpenter has two types or more, or on-demand too, if it is bought as spot",
    source='EC2 user guide, "Best practices for Amazon EC2 Spot": be flexible about instance types; karpenter-provider-'
    "aws v1.14, pkg/cache/unavailableofferings.go: an offer that EC2 refused is not asked for again for three minutes",
)
def scaled_spot_alone(draft: AwsDraft, pool: AwsPool, karpenter: Karpenter) -> Iterable[Observation]:
    """There is something else to start where EC2 has no spot instance of one type: else pods wait as long as it has
    none.
    """
    plan = draft.pools.get(pool.name)
    if pool.capacity == "spot" and plan and plan.scaled and len(plan.scaled.usages) * len(plan.scaled.types) == 1:
        yield Observation(
            path="karpenter",
            sentence=f"pods of {pool.name} wait while EC2 has no spot {pool.instance_type} in one zone, and "
            f"nothing else may be started, of up to {karpenter.max_count} nodes",
            remedy="name further instanceTypes, or capacities: [spot, on-demand]",
            inputs={"offers": "1"},
        )
