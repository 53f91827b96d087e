"""How many leaves, spines and cores a demand takes, and how large each topology can become."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from planner.fabric.design import Demand, FabricDesign, Topology, Wiring
from planner.fabric.ports import divisors, leaf_split, smallest_divisor


@dataclass(frozen=True, kw_only=True)
class Growth:
    """A fabric as it is bought, and as it is at the declared maximum.

    Spines and cores are there from the first day: to add one later, links of every leaf (or spine) would have to be
    plugged anew. Leaves, and with three tiers pods with their spines, come with their nodes.
    """

    day_one: FabricDesign
    at_maximum: FabricDesign


def grown(
    demand: Demand,
    ports: int,
    *,
    max_nodes: int | None = None,
    topology: Topology | None = None,
    oversubscription: float = 1,
    planes: int = 1,
) -> Growth | None:
    """The fabric for `demand` that becomes one for `max_nodes` without re-plugging; None if there is no such fabric.

    With growth all uplinks are wired, so that a new node is one cable for each of its ports. Without a topology each is
    tried, the one that suits first.
    """
    most = max(demand.nodes, max_nodes or 0)
    designs = (
        design(
            replace(demand, nodes=most),
            ports,
            topology=each,
            oversubscription=oversubscription,
            wiring=Wiring.FULL if most > demand.nodes else None,
            planes=planes,
        )
        for each in ((topology,) if topology else (None, *Topology))
    )
    at_maximum = next((each for each in designs if each is not None), None)
    if at_maximum is None:
        return None
    leaves = _leaves(demand, at_maximum.topology, at_maximum.down)
    day_one = replace(
        at_maximum,
        demand=demand,
        leaves=leaves,
        pods=ceil(leaves / at_maximum.leaves_per_pod),
    )
    return Growth(day_one=day_one, at_maximum=at_maximum)


def design(
    demand: Demand,
    ports: int,
    *,
    topology: Topology | None = None,
    oversubscription: float = 1,
    wiring: Wiring | None = None,
    planes: int = 1,
) -> FabricDesign | None:
    """The fewest switches of `ports` ports for `demand`; None if the topology cannot hold it.

    Without a topology one switch is taken where it suffices, else rails where nodes have several ports, else leaves and
    spines. Rail-optimised leaves come in groups of one per rail, each group for as many nodes as a leaf has ports down.

    Spines of a fabric with full wiring are the smallest divisor of a leaf's uplinks that has the ports, so that every
    leaf has equally many links to each: 24 leaves of 64 ports get 16 spines, though 12 have the ports (NVIDIA DGX
    SuperPOD reference architecture, compute fabric table). With used wiring they are the fewest that have the ports.
    """
    chosen = topology or _suited(demand, ports)
    if chosen is Topology.SINGLE:
        return _single(demand, ports, planes)
    split = leaf_split(ports, oversubscription)
    down = split.down - demand.spare_leaf_ports
    if down < 1:
        return None
    leaves = _leaves(demand, chosen, down)
    plan = FabricDesign(
        topology=chosen,
        wiring=wiring or (Wiring.FULL if chosen is Topology.RAIL_OPTIMISED else Wiring.USED),
        demand=demand,
        ports=ports,
        down=down,
        up=split.up,
        oversubscription=oversubscription,
        leaves=leaves,
        leaves_per_pod=leaves,
        planes=planes,
    )
    if leaves == 1:
        return plan
    if leaves <= ports:
        return replace(plan, spines_per_pod=_spines(plan))
    # Pods under cores: of all pod sizes the one with the fewest switches, and of those the largest.
    pods = _pods(replace(plan, wiring=Wiring.FULL))
    return min(pods, key=lambda each: (each.switches, each.pods), default=None)


def most_nodes(demand: Demand, ports: int, topology: Topology, *, tiers: int = 3, oversubscription: float = 1) -> int:
    """Nodes that fit with the demand's ports per node and its other ports, in at most so many tiers.

    Two tiers end where a spine has no port for another leaf; three tiers hold `ports` pods of half as many leaves. For
    64 ports, rails of 8: 256 and 8,192 nodes.
    """
    if topology is Topology.SINGLE:
        return max(0, (ports - demand.spare_leaf_ports - demand.extra_ports) // demand.rails)
    down = leaf_split(ports, oversubscription).down - demand.spare_leaf_ports
    rail = topology is Topology.RAIL_OPTIMISED
    unit = demand.rails if rail else 1
    units = ports // unit if tiers == 2 else ports // 2 // unit * ports
    if rail:
        return max(0, units * down - demand.extra_slots)
    return max(0, (units * down - demand.extra_ports) // demand.rails)


def _suited(demand: Demand, ports: int) -> Topology:
    if demand.endpoints + demand.spare_leaf_ports <= ports:
        return Topology.SINGLE
    return Topology.RAIL_OPTIMISED if demand.rails > 1 else Topology.LEAF_SPINE


def _single(demand: Demand, ports: int, planes: int) -> FabricDesign | None:
    if demand.endpoints + demand.spare_leaf_ports > ports:
        return None
    return FabricDesign(
        topology=Topology.SINGLE,
        wiring=Wiring.USED,
        demand=demand,
        ports=ports,
        down=ports - demand.spare_leaf_ports,
        up=0,
        oversubscription=1,
        leaves=1,
        leaves_per_pod=1,
        planes=planes,
    )


def _leaves(demand: Demand, topology: Topology, down: int) -> int:
    match topology:
        case Topology.SINGLE:
            return 1
        case Topology.LEAF_SPINE:
            return ceil(demand.endpoints / down)
        case Topology.RAIL_OPTIMISED:
            return demand.rails * ceil((demand.nodes + demand.extra_slots) / down)


def _spines(plan: FabricDesign) -> int:
    """Spines of two tiers. With used wiring every leaf still has a link to each of them."""
    if plan.wiring is Wiring.FULL:
        return smallest_divisor(plan.up, Fraction(plan.leaves * plan.up, plan.ports)) or plan.up
    spines = 1
    while (needed := ceil(sum(replace(plan, spines_per_pod=spines).leaf_uplinks()) / plan.ports)) > spines:
        spines = needed
    return spines


def _pods(plan: FabricDesign) -> Iterator[FabricDesign]:
    """Every pod size. Spines look up with as many links as down, so only leaves are oversubscribed."""
    unit = plan.demand.rails if plan.topology is Topology.RAIL_OPTIMISED else 1
    for units in range(1, plan.ports // 2 // unit + 1):
        leaves = units * unit
        spines = smallest_divisor(plan.up, Fraction(leaves * plan.up, plan.ports // 2))
        pods = ceil(plan.leaves / leaves)
        if spines is None or pods > plan.ports:
            continue
        links = leaves * plan.up // spines
        pairs = (
            (groups * cores, groups, cores)
            for groups in divisors(spines)
            for cores in divisors(links)
            if pods * (spines // groups) * (links // cores) <= plan.ports
        )
        _, groups, cores = min(pairs)
        yield replace(
            plan,
            pods=pods,
            leaves_per_pod=leaves,
            spines_per_pod=spines,
            core_groups=groups,
            cores_per_group=cores,
        )
