"""Where a pool's nodes can be had, what pods they hold, and what becomes of sick ones."""

from collections.abc import Iterable, Mapping, Sequence

from catalogue.offerings import OFFERINGS_AS_OF, offered
from catalogue.regions import is_recorded, zones
from catalogue.types import Architecture
from planner.draft import AwsDraft, Draft, aws_rule, aws_warning, rule
from planner.findings import Observation
from planner.nodes import EXCLUSIVE_SPARE_MILLICORES
from planner.pool_types import AwsPoolPlan
from planner.rules.known import known_pools
from planner.wording import one_of
from settings.aws_pools import AwsPool

_OFFERED_BY = "EC2 API reference, DescribeInstanceTypeOfferings"
_DAEMON_PODS = 20
"""Pods of DaemonSets that a GPU node may have, generously: drivers of volumes, the GPU Operator's operands, agents."""


def _placed(
    draft: AwsDraft,
) -> Iterable[tuple[str, AwsPool, Sequence[str], Mapping[str, Sequence[str]]]]:
    """Pools of whose type it is recorded where it is offered, the zones of their nodes, and where that is.

    A region that is not in the records says nothing, and neither does a site's own type.
    """
    platform, offerings = draft.settings.platform, draft.catalogue.offerings
    for path, pool, _ in known_pools(draft):
        has = offered(pool.instance_type, offerings)
        if has is not None and is_recorded(platform.region, offerings):
            yield path, pool, platform.zones if pool.role == "system" else (platform.gpu_zone,), has


@aws_rule(
    "B01",
    each=_placed,
    formula="gpuZone offers the type of a GPU pool, one of zones that of a system pool",
    source=_OFFERED_BY,
)
def instance_not_offered(
    draft: AwsDraft, pool: AwsPool, wanted: Sequence[str], has: Mapping[str, Sequence[str]]
) -> Iterable[Observation]:
    """EC2 offers a pool's instance type where its nodes go: what is not offered cannot be bought for any quota."""
    platform = draft.settings.platform
    lacking = [zone for zone in wanted if zone not in has.get(platform.region, ())]
    if len(lacking) == len(wanted):
        there = _spoken(has[platform.region]) if platform.region in has else f"the regions {_spoken(sorted(has))}"
        yield Observation(
            path="instanceType",
            sentence=f"EC2 offers no {pool.instance_type} in "
            f"{_spoken(lacking) if platform.region in has else platform.region}, as of {OFFERINGS_AS_OF}; it does "
            f"in {there}",
            remedy=_remedy(pool, platform.region, has),
            inputs={"wanted": _spoken(wanted)},
        )


@aws_warning("B01", each=_placed, formula="every one of zones offers the type of a system pool", source=_OFFERED_BY)
def instance_not_in_every_zone(
    draft: AwsDraft, pool: AwsPool, wanted: Sequence[str], has: Mapping[str, Sequence[str]]
) -> Iterable[Observation]:
    """A system pool can have nodes in all zones of the stack; what EC2 refuses in one shows as a degraded group."""
    region = draft.settings.platform.region
    here = has.get(region, ())
    lacking = [zone for zone in wanted if zone not in here]
    if 0 < len(lacking) < len(wanted):
        yield Observation(
            path="instanceType",
            sentence=f"EC2 offers no {pool.instance_type} in {_spoken(lacking)}, as of {OFFERINGS_AS_OF}, but in "
            f"{_spoken(here)}, and the pool's nodes are spread over {_spoken(wanted)}",
            remedy="name other zones in platform.zones, or take a type that all of them offer",
            inputs={"wanted": _spoken(wanted), "offered": _spoken(here)},
        )


@aws_rule(
    "B01", by_name=True, formula="zones of the stack in the zones of the region that are recorded", source=_OFFERED_BY
)
def zone_unknown(draft: AwsDraft) -> Iterable[Observation]:
    """Every zone id is one of the region's: the numbers of a region's zones have gaps, and end at 3 in most."""
    platform = draft.settings.platform
    known = [zone for zone in zones(platform.region, draft.catalogue.offerings) if zone.count("-") == 1]
    for index, zone in enumerate(platform.zones):
        if known and zone not in known:
            yield Observation(
                path=f"platform.zones[{index}]",
                sentence=f"{platform.region} has no zone {zone}, as of {OFFERINGS_AS_OF}",
                remedy=f"take {one_of(known)}, or waive zone-unknown for {zone} if "
                f"aws ec2 describe-availability-zones --region {platform.region} lists it",
                subject=zone,
            )


def _remedy(pool: AwsPool, region: str, has: Mapping[str, Sequence[str]]) -> str:
    """A local zone such as use1-dfw2-az1 has no managed node groups (EKS user guide, Create a managed node group)."""
    zones = [zone for zone in has.get(region, ()) if zone.count("-") == 1]
    key = "platform.zones" if pool.role == "system" else "platform.gpuZone"
    if zones:
        move = f"set {key} to {zones[0]}"
    elif region in has:
        move = "take another type: a local zone has no managed node groups"
    else:
        move = "move the stack to one of them, or take another type"
    ask = f"aws ec2 describe-instance-type-offerings --location-type availability-zone-id --region {region}"
    return f"{move}; if AWS offers it there by now, `{ask}` shows it, and a waiver lets it pass"


def _spoken(names: Sequence[str]) -> str:
    return ", ".join(names)


@aws_rule(
    "LF10 F02",
    each=known_pools,
    formula=f"devices of a node + {_DAEMON_PODS} daemons <= pods with addresses, where EKS lets in more",
    source="EKS user guide, How maxPods is determined; EC2 user guide, EFA interfaces take places of a network card",
)
def pods_without_addresses(_: AwsDraft, pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """EKS' own maxPods does not know of EFA, so the scheduler may send a node more pods than get an address there."""
    expected = plan.devices_per_node + _DAEMON_PODS
    if plan.addressed_pods < plan.max_pods and expected > plan.addressed_pods:
        yield Observation(
            path="instanceType",
            sentence=f"a {pool.instance_type} with {plan.efa} EFA interfaces has addresses for "
            f"{plan.addressed_pods} pods, EKS lets {plan.max_pods} in, and up to {expected} are expected "
            f"({plan.devices_per_node} on its GPUs, {_DAEMON_PODS} of daemons): the last would stay in "
            "ContainerCreating",
            remedy="take a larger size",
            inputs={"expected": f"{expected} pods", "addresses": f"{plan.addressed_pods} pods"},
        )


@aws_warning(
    "LF13",
    each=known_pools,
    formula="repair = false, if capacity = capacity-block",
    source="EKS user guide, Automatically repair nodes in EKS clusters; EC2 user guide, Capacity Blocks for ML",
)
def repair_in_block(_: AwsDraft, _pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """What repair does to a block is known: a node that is replaced there has nowhere else to come from."""
    if plan.block is not None and plan.repair is not None:
        yield Observation(
            path="repair",
            sentence=f"EKS ends a sick node of block {plan.block.reservation} and asks for another one in the same "
            f"block: until EC2 has given the place back, and for good where the machine itself is broken, the pool "
            f"has {max(0, plan.count - 1)} of its {plan.count} nodes",
            remedy=_spare(plan),
            inputs={"repaired at once": f"{plan.repair.parallel} node", "pool": f"{plan.count} nodes"},
        )


@rule(
    "AA03 O07",
    formula=f"allocatable CPUs - {EXCLUSIVE_SPARE_MILLICORES // 1000} >= GPUs of a node, if exclusiveCpus",
    source='Kubernetes documentation, "Control CPU management policies on the node": what is reserved nobody gets',
)
def exclusive_cpus_few(draft: Draft) -> Iterable[Observation]:
    """Nodes whose pods have CPUs to themselves have one for each GPU after what stays for daemons."""
    for index, pool in enumerate(draft.settings.pools):
        plan = draft.pools.get(pool.name)
        if plan is None or not plan.exclusive_cpus:
            continue
        cpus = plan.allocatable_cpu_millicores // 1000
        if cpus < max(1, plan.gpus_per_node):
            yield Observation(
                path=f"pools[{index}].exclusiveCpus",
                sentence=f"{EXCLUSIVE_SPARE_MILLICORES // 1000} CPUs of a {plan.hardware} stay for daemons, as whole "
                f"cores, which leaves pods {cpus} for {plan.gpus_per_node} GPUs",
                remedy="remove exclusiveCpus, or take a larger node",
                subject=pool.name,
            )


@aws_rule(
    "I04",
    each=known_pools,
    formula="the type has local NVMe, if parallelPulls",
    source="amazon-eks-ami, nodeadm/doc/examples.md, 'Enabling fast image pull': below 600 MiB/s of the volume that "
    "images are on, pulls may take longer; EBS user guide: gp3 has 125 MiB/s",
)
def parallel_pulls_slow(_: AwsDraft, _pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """Layers that a node unpacks side by side go to a disk that takes them: local NVMe, where nodeadm moves images."""
    if plan.parallel_pulls and plan.nvme is None:
        yield Observation(
            path="parallelPulls",
            sentence=f"a {plan.hardware} has no local NVMe: images go to its root volume, a gp3 of 125 MiB/s, and "
            "below 600 MiB/s layers side by side may take longer than one after the other",
            remedy="remove parallelPulls, or take a type with local NVMe",
        )


@aws_rule(
    "AA03 O07",
    each=known_pools,
    formula="not exclusiveCpus, if the family of the instance type is p6e-gb200",
    source="Kubernetes 1.36, pkg/kubelet/cm/topologymanager/topology_manager.go, NewManager: 8 NUMA nodes at most; "
    "kubernetes/kubernetes, pull request 135581: a GB200 shows 34, of which 2 have CPUs",
)
def exclusive_cpus_numa(_: AwsDraft, pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """A kubelet that places CPUs beside devices starts where there are no more NUMA nodes than it takes.

    With `max-allowable-numa-nodes` it would start and not end: a device that is near none, or near any, makes it go
    through every subset of 34 nodes (cm/devicemanager/topology_hints.go, generateDeviceTopologyHints).
    """
    if pool.exclusive_cpus and plan.instance.ultraserver:
        yield Observation(
            path="exclusiveCpus",
            sentence=f"a {pool.instance_type} shows the memory of its GPUs as NUMA nodes, 34 in all, and a kubelet "
            "that places CPUs beside GPUs does not start with more than 8",
            remedy="remove exclusiveCpus: numaBinding of a run binds its processes without the kubelet",
        )


@aws_rule(
    "KJ33 I04",
    each=known_pools,
    formula="no AL2023 GPU pool, GPU type of Arm, storage.lustre.efa in training, mirror with a login: if bottlerocket",
    source='EKS user guide, "Use EKS-optimized accelerated AMIs for GPU instances"; FSx for Lustre user guide, '
    '"Configuring EFA clients"',
)
def bottlerocket_lacks(draft: AwsDraft, _: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """Bottlerocket takes no script and has a device plugin; the operator's is on, or off, for all nodes with GPUs."""
    if not plan.bottlerocket:
        return
    others = [each.name for each in draft.pools.values() if each.gpus_per_node and not each.bottlerocket]
    for wrong, sentence, remedy in (
        (
            plan.gpus_per_node and others,
            f"{', '.join(others)} needs the GPU Operator's device plugin, which would run beside Bottlerocket's own",
            "give all pools with GPUs one amiFamily",
        ),
        (
            plan.gpus_per_node and plan.instance.architecture is Architecture.ARM64,
            f"EKS' Bottlerocket with NVIDIA's driver does not boot {plan.instance.type}: on Arm it is for G5g alone",
            "remove amiFamily",
        ),
        (
            plan.lustre_efa,
            "FSx' client over EFA is published for Amazon Linux, Red Hat and Ubuntu",
            "remove amiFamily, or storage.lustre.efa",
        ),
        (
            draft.settings.supply.registry_login,
            "nodes sign in at the mirror by a script, and Bottlerocket runs none",
            "remove amiFamily, or let the mirror answer without a login",
        ),
    ):
        if wrong:
            yield Observation(path="amiFamily", sentence=sentence, remedy=remedy)


def _spare(plan: AwsPoolPlan) -> str:
    if plan.count == 1:
        return "set repair to false and look at the node yourself (security.sessionManager), or waive this"
    return (
        f"let runs take {plan.count - 1} nodes, so that one is spare, set repair to false and look at sick nodes "
        "yourself (security.sessionManager), or waive this"
    )
