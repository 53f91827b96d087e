"""Subnets, interfaces and the fabric."""

from collections import Counter
from collections.abc import Iterable

from planner.addressing import AWS_RESERVED_ADDRESSES
from planner.draft import AwsDraft, aws_rule, aws_warning
from planner.findings import Observation
from planner.pool_types import AwsPoolPlan
from planner.rules.known import known_pools, placed_runs
from planner.types import Subnet
from settings.aws_pools import AwsPool
from settings.workloads import TrainingRun


@aws_rule(
    "F02",
    formula="addresses needed <= 2^(32 - prefix) - 5",
    source="Amazon VPC user guide, subnet CIDR blocks: AWS reserves five addresses",
)
def subnet_size(draft: AwsDraft) -> Iterable[Observation]:
    """Every subnet has room for what lands in it at worst."""
    yield from _existing_subnets(draft)
    for subnet in draft.subnets:
        if subnet.existing is None and subnet.needed > subnet.usable:
            yield Observation(
                path=f"platform.{_range_of(subnet)}",
                sentence=f"subnet {subnet.name} ({subnet.cidr}) has {subnet.usable} addresses, as AWS keeps "
                f"{AWS_RESERVED_ADDRESSES}, and its nodes and their pods take up to {subnet.needed}",
                remedy="take fewer nodes, or types that hold fewer pods"
                if _range(draft, subnet).endswith("/16")
                else f"take a larger {_range_of(subnet).rpartition('.')[2]}, up to a /16, or fewer nodes",
                subject=subnet.name,
                inputs={"needed": f"{subnet.needed} addresses", "usable": f"{subnet.usable} addresses"},
            )


_XEN = frozenset(
    "c1 c3 c4 d2 f1 g2 g3 g3s h1 i2 i3 m1 m2 m3 m4 p2 p3 r3 r4 t1 t2 x1 x1e".split()  # noqa: SIM905 - a list of words
)


@aws_rule(
    "F02",
    each=known_pools,
    formula="no type of a Xen family, if network.prefixDelegation",
    source="EC2 user guide, Prefix delegation: instances of the Nitro System; EC2 instance types guide, hypervisors",
)
def prefixes_need_nitro(draft: AwsDraft, _pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """Interfaces of older instances hold no prefixes: their nodes would have single addresses, and pods wait."""
    for each in plan.offers.types if draft.vpc.prefixes else ():
        if each.family in _XEN:
            yield Observation(
                path="instanceType",
                sentence=f"{each.type} is not of the Nitro System, and interfaces of others hold no prefixes",
                remedy="take a type of a later family, or remove network.prefixDelegation",
            )


@aws_warning(
    "F02",
    formula="subnets of nodes are the stack's own, if network.prefixDelegation",
    source="EKS user guide, Assign more IP addresses to Amazon EKS nodes with prefixes: subnets used for nothing else, "
    "or with a CIDR reservation, as addresses that are scattered leave no /28 whole",
)
def prefixes_scattered(draft: AwsDraft) -> Iterable[Observation]:
    """Addresses of others in an existing subnet are not known here, and each may spoil a block of 16."""
    if draft.vpc.prefixes and draft.vpc.existing:
        yield Observation(
            path="platform.network.prefixDelegation",
            sentence="other machines may have addresses in the existing subnets, and EC2 gives no node a /28 in which "
            "one address is taken",
            remedy="keep a part of these subnets for prefixes: aws ec2 create-subnet-cidr-reservation "
            "--reservation-type prefix, or take subnets with nothing else in them",
        )


def _range_of(subnet: Subnet) -> str:
    return "network.podCidr" if subnet.role == "pods" else "vpcCidr"


def _range(draft: AwsDraft, subnet: Subnet) -> str:
    return (draft.vpc.pod_cidr or "") if subnet.role == "pods" else draft.settings.platform.vpc_cidr


def _existing_subnets(draft: AwsDraft) -> Iterable[Observation]:
    """Those of an existing VPC; one of several roles has to hold what lands in it by all of them."""
    roles: dict[str, list[tuple[int, Subnet]]] = {}
    for index, subnet in enumerate(draft.subnets):
        if subnet.existing:
            roles.setdefault(subnet.existing, []).append((index, subnet))
    for identity, places in roles.items():
        (index, first), needed = places[0], sum(subnet.needed for _, subnet in places)
        if needed > first.usable:
            named = " and ".join(subnet.role for _, subnet in places)
            yield Observation(
                path=f"platform.network.existing.subnets[{index}].cidr",
                sentence=f"{identity} ({first.cidr}) has {first.usable} addresses, as AWS keeps "
                f"{AWS_RESERVED_ADDRESSES}, and as {named} subnet it takes up to {needed}",
                remedy="name a larger subnet of the VPC, or take fewer nodes, or types that hold fewer pods",
                subject=identity,
                inputs={"needed": f"{needed} addresses", "usable": f"{first.usable} addresses"},
            )


@aws_rule(
    "F01",
    formula="the VPC names a public subnet, if network.existing and the gateway answers the Internet",
    source="Network Load Balancer user guide, Availability Zones: an Internet-facing one stands in public subnets",
)
def existing_without_public(draft: AwsDraft) -> Iterable[Observation]:
    """A gateway that answers the Internet has a subnet to stand in, whose routes lead through an internet gateway."""
    wanted = draft.gateway is not None and draft.gateway.internet
    if draft.vpc.existing and wanted and not any(subnet.role == "public" for subnet in draft.subnets):
        yield Observation(
            path="platform.network.existing.subnets",
            sentence=f"serving.gateway answers the Internet, and no public subnet of {draft.vpc.existing} is named for "
            "its load balancer",
            remedy="add one, such as {id: subnet-..., role: public, zone: "
            f"{draft.settings.platform.gpu_zone}, cidr: ...}}, or let serving.gateway answer inside",
        )


@aws_rule(
    "NW11",
    each=known_pools,
    formula="EFA interfaces <= maximum of the type; interfaces of a card <= maximum of the card",
    source="EC2 user guide, Elastic Fabric Adapter; EC2 API reference, DescribeInstanceTypes",
)
def efa_limit(_: AwsDraft, pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """A launch template asks for no more EFA interfaces than EC2 attaches, and for no more per card than fit."""
    per_card = Counter(interface.network_card_index for interface in plan.interfaces)
    crowded = [card.index for card in plan.instance.cards if per_card[card.index] > card.max_interfaces]
    if plan.efa > plan.instance.efa_max or crowded:
        yield Observation(
            path="instanceType",
            sentence=f"{pool.instance_type} would get {plan.efa} EFA interfaces where EC2 allows "
            f"{plan.instance.efa_max}" + (f", and too many on card {crowded[0]}" if crowded else ""),
            remedy="correct the cards of its catalogue row",
            inputs={
                "asked": f"{plan.efa} EFA interfaces",
                "allowed": f"{plan.instance.efa_max} EFA interfaces",
                "cards with too many": str(len(crowded)),
            },
        )


@aws_rule(
    "L07 FB01",
    each=placed_runs,
    formula="EFA interfaces of a node >= 1 if nodes > 1",
    source="EC2 user guide, Elastic Fabric Adapter",
)
def gang_without_efa(draft: AwsDraft, run: TrainingRun, plan: AwsPoolPlan) -> Iterable[Observation]:
    """A gang over several nodes has a fabric: without EFA its collectives run on TCP, and nothing says so."""
    if plan.gpus_per_node and run.nodes > 1 and plan.efa == 0:
        yield Observation(
            path="pool",
            sentence=f"{run.nodes} nodes of {plan.instance.type} would talk over TCP, 10 to 19 times slower than "
            "EFA, as the type has no EFA interface",
            remedy=f"take a type with EFA ({', '.join(_efa_types(draft))}) or one node",
            inputs={"gang": f"{run.nodes} nodes", "EFA": f"{plan.efa} interfaces of a node"},
        )


def _efa_types(draft: AwsDraft) -> list[str]:
    rows = (row for row in draft.catalogue.instances.values() if row.efa_max and row.gpu and row.on_demand)
    return [row.type for row in sorted(rows, key=lambda row: row.on_demand.usd_per_hour if row.on_demand else 0)[:3]]
