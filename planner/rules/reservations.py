"""On-Demand Capacity Reservations, and spot: what they hold, who starts in them, what else nodes may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from catalogue.types import UsageClass
from planner.draft import AwsDraft, aws_rule, aws_warning
from planner.findings import Observation
from planner.pool_types import AwsPoolPlan
from planner.rules.known import known_pools
from planner.rules.scaled import types_unlike
from settings.aws_pools import AwsPool
from settings.capacity_reservation import CapacityReservation

_GUIDE = 'EC2 user guide, "Reserve compute capacity with EC2 On-Demand Capacity Reservations"'


def _held(draft: AwsDraft) -> Iterator[tuple[str, AwsPool, CapacityReservation]]:
    """Reservations of all pools, each with its path."""
    for index, pool in enumerate(draft.settings.pools):
        if pool.capacity_reservation:
            yield f"pools[{index}].capacityReservation", pool, pool.capacity_reservation


@aws_rule("PF10", each=_held, formula="zone of a capacityReservation = gpuZone", source=_GUIDE)
def reservation_zone(draft: AwsDraft, pool: AwsPool, held: CapacityReservation) -> Iterable[Observation]:
    """GPU nodes start in one zone, and a reservation holds instances in one: it is the same."""
    zone = draft.settings.platform.gpu_zone
    if held.zone != zone:
        yield Observation(
            path="zone",
            sentence=f"{held.id or pool.name} holds instances in {held.zone}, and GPU nodes start in {zone} "
            "(platform.gpuZone)",
            remedy=f"set platform.gpuZone to {held.zone}, or "
            + (f"name a reservation in {zone}" if held.id else f"make it in {zone}"),
            subject=held.id or pool.name,
            inputs={"reservation": held.zone, "GPU zone": zone},
        )


@aws_rule(
    "PF10",
    formula="nodes of all pools that name a reservation <= its count; they say the same of it, and are of one type",
    source=f"{_GUIDE}; attributes of a reservation: instances of one type that match it",
)
def reservation_shared(draft: AwsDraft) -> Iterable[Observation]:
    """Pools that start in one reservation fit into it together, and are of the type that it holds."""
    first: dict[str, tuple[AwsPool, CapacityReservation]] = {}
    nodes: dict[str, int] = {}
    for path, pool, held in _held(draft):
        if held.id is None:
            continue
        other, said = first.setdefault(held.id, (pool, held))
        before = nodes.get(held.id, 0)
        nodes[held.id] = before + pool.count
        wrong = _wrong(pool, held, other, said, nodes[held.id] if before else 0)
        if wrong:
            yield Observation(
                path=path,
                sentence=wrong,
                remedy="name another reservation for one of the two pools, or make them agree",
                subject=pool.name,
                inputs={"nodes": str(nodes[held.id]), "held": str(held.count)},
            )


@aws_rule(
    "PF10",
    each=_held,
    formula="last day of a capacityReservation that the stack makes >= today",
    source="EC2 API reference, CreateCapacityReservation: EndDate",
)
def reservation_over(draft: AwsDraft, pool: AwsPool, held: CapacityReservation) -> Iterable[Observation]:
    """A reservation that the stack makes is not over: EC2 makes none that ends in the past, and the pool names it."""
    if held.end is not None and held.end < draft.today:
        yield Observation(
            path="end",
            sentence=f"the reservation of {pool.name} ended on {held.end}, and its nodes start nowhere else",
            remedy="set a later day, or remove capacityReservation: nodes that run stay as they are",
            inputs={"last day": str(held.end), "today": str(draft.today)},
        )


@aws_warning(
    "Z02",
    each=_held,
    formula="no pool with a capacityReservation, if keeper.offHours",
    source='EC2 user guide, "Capacity Reservation pricing and billing"',
)
def reservation_at_night(draft: AwsDraft, pool: AwsPool, held: CapacityReservation) -> Iterable[Observation]:
    """Off-hours save what nodes cost. What is reserved costs as much while nobody runs it."""
    keeper = draft.settings.keeper
    if keeper is None or keeper.off_hours is None:
        return
    yield Observation(
        sentence=f"{held.count} instances of {pool.name} are paid for in the off-hours, too, as they stay reserved",
        remedy="remove capacityReservation, or keeper.offHours",
        inputs={"reserved": f"{held.count} instances"},
    )


def _wrong(
    pool: AwsPool, held: CapacityReservation, other: AwsPool, said: CapacityReservation, together: int
) -> str | None:
    if held != said:
        return f"{held.id} is {held.count} in {held.zone} here, and {said.count} in {said.zone} at pool {other.name}"
    if pool.instance_type != other.instance_type:
        types = f"{pool.instance_type} here, and {other.instance_type} at pool {other.name}"
        return f"{held.id} holds instances of one type, and is to be of {types}"
    if together > held.count:
        return f"pools {other.name} and {pool.name} have {together} nodes together, and {held.id} holds {held.count}"
    return None


@aws_rule(
    "J14",
    each=known_pools,
    formula="types of spot.instanceTypes: in the catalogue, GPUs and their number and architecture of instanceType, "
    "and no less CPU and memory",
    source='Pods of the pool are planned for its instanceType; EC2 user guide, "Best practices for Amazon EC2 Spot": '
    "be flexible about instance types",
)
def spot_types_equal(draft: AwsDraft, pool: AwsPool, _plan: AwsPoolPlan) -> Iterable[Observation]:
    """Whatever type EC2 takes, each pod of the pool finds on it what the plan counts on."""
    yield from types_unlike(draft, pool, "spot.instanceTypes", pool.spot.instance_types if pool.spot else ())


@aws_rule(
    "J14",
    each=known_pools,
    formula="no spot.instanceTypes at a pool with EFA",
    source="EKS user guide, launch templates: one list of network interfaces for all types of a node group; EC2 user "
    "guide, EFA: the cards that carry it differ by type",
)
def spot_fabric_one_type(_: AwsDraft, pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """Nodes of a gang over EFA are of one type: its interfaces stand in the launch template, and ranks are equal."""
    if plan.efa and pool.spot and pool.spot.instance_types:
        yield Observation(
            path="spot.instanceTypes",
            sentence=f"the {plan.efa} EFA interfaces of {pool.instance_type} stand in the launch template, which "
            "all types of a node group share",
            remedy="remove instanceTypes; onDemandMinutes asks for the same type on demand",
            inputs={"EFA": f"{plan.efa} interfaces of a node"},
        )


@aws_rule(
    "Z01",
    each=known_pools,
    formula="a keeper, if a pool has spot.onDemandMinutes",
    source="EKS user guide, managed node group capacity types: a node group is on spot or on demand, and asks for "
    "nothing else where EC2 has none",
)
def spot_fallback_kept(draft: AwsDraft, pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """Somebody sees that spot nodes are missing and asks for others, and that is the keeper."""
    if plan.falls_back and draft.settings.keeper is None:
        yield Observation(
            path="spot.onDemandMinutes",
            sentence=f"nothing asks for the missing nodes of {pool.name} on demand: the keeper does, and the stack "
            "has none",
            remedy="add keeper: {}, remove onDemandMinutes, or give a pool of services karpenter with capacities: "
            "[spot, on-demand]",
        )


@aws_rule(
    "Z01",
    each=known_pools,
    formula="every type of a pool with spot.onDemandMinutes is sold on demand",
    source="EC2 instance types page; AWS price pages",
)
def spot_fallback_sold(_: AwsDraft, _pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """What is asked for on demand can be had so: some types are sold in capacity blocks only."""
    for each in plan.offers.types if plan.falls_back else ():
        if UsageClass.ON_DEMAND not in each.usage_classes:
            yield Observation(
                path="spot.onDemandMinutes",
                sentence=f"EC2 does not sell {each.type} on demand",
                remedy="remove onDemandMinutes, or take another type",
            )


@aws_rule(
    "Z01",
    each=known_pools,
    formula="POOL-on-demand of a pool with spot.onDemandMinutes is no name of a pool",
    source="EKS API reference, CreateNodegroup: names are unique in a cluster",
)
def spot_group_taken(draft: AwsDraft, _pool: AwsPool, plan: AwsPoolPlan) -> Iterable[Observation]:
    """The second node group is named after its pool, so no other pool has that name."""
    if plan.spot and plan.falls_back and plan.spot.group in draft.pools:
        yield Observation(
            path="spot.onDemandMinutes",
            sentence=f"the node group for what is bought on demand is called {plan.spot.group}, as another pool is",
            remedy=f"rename pool {plan.spot.group}",
        )
