"""The cable plan is the design, plugged: checked as a graph."""

from collections import Counter, defaultdict
from itertools import combinations

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.fabric.cabling import HEADING, Link, Span, links, row
from planner.fabric.design import Demand, FabricDesign, Names, Topology, Wiring, bisection_gbit_per_s, names
from planner.fabric.topology import design, grown

RAILS, LEAF_SPINE, SINGLE = Topology.RAIL_OPTIMISED, Topology.LEAF_SPINE, Topology.SINGLE


def built(
    nodes: int, ports: int = 64, topology: Topology | None = RAILS, rails: int = 8, ratio: float = 1, **demand: int
) -> FabricDesign:
    """A fabric that fits, wired fully where it is oversubscribed."""
    wiring = Wiring.FULL if ratio > 1 else None
    demands = Demand(nodes=nodes, rails=rails, **demand)
    made = design(demands, ports, topology=topology, oversubscription=ratio, wiring=wiring)
    assert made is not None
    return made


def check(made: FabricDesign) -> None:
    """Every port is used once and exists, counts are the design's, and up and down again leads everywhere. What halves
    of the nodes send each other is what the nodes' and the uplinks' cables of each leaf carry (FB03)."""
    named = names(made)
    plan = list(links(made, named))
    spans = Counter(link.span for link in plan)
    assert spans[Span.NODE_LEAF] == made.node_cables
    assert spans[Span.LEAF_SPINE] == made.leaf_spine_cables
    assert spans[Span.SPINE_CORE] == made.spine_core_cables
    ends = [end for link in plan for end in ((link.low, link.low_port), (link.high, link.high_port))]
    assert len(set(ends)) == len(ends)
    for device, port in ends:
        most = made.demand.rails if device.startswith("node") else 1 if device in named.others else made.ports
        assert 0 <= port < most, (device, port)
    assert {device for device, _ in ends} <= set(named)
    assert {*named.nodes, *named.others} <= {device for device, _ in ends}
    nodes = set(named.nodes)
    down = Counter(link.high for link in plan if link.low in nodes)
    up = Counter(link.low for link in plan if link.span is Span.LEAF_SPINE)
    assert bisection_gbit_per_s(made, 2, 2) == sum(min(down[leaf], up[leaf] or down[leaf]) for leaf in named.leaves)
    _check_graph(made, named, plan)


def _check_graph(made: FabricDesign, named: Names, plan: list[Link]) -> None:
    graph = networkx.MultiGraph((link.low, link.high) for link in plan)
    assert networkx.is_connected(graph)
    for switch in (*named.leaves, *named.spines, *named.cores):
        assert switch not in graph or graph.degree(switch) <= made.ports
    used = [leaf for leaf in named.leaves if any(end in graph[leaf] for end in (*named.nodes, *named.others))]
    above = {leaf: {end for end in graph[leaf] if end in set(named.spines)} for leaf in used}
    for one, other in combinations(used, 2):
        if made.tiers == 2:
            assert above[one] & above[other], f"{one} and {other} share no spine"
    if made.tiers == 3:
        size, cores = made.spines_per_pod, set(named.cores)
        pods = [named.spines[first : first + size] for first in range(0, made.spines, size)]
        over = [{end for spine in pod for end in graph[spine] if end in cores} for pod in pods]
        assert all(one & other for one, other in combinations(over, 2)), "two pods share no core"


@pytest.mark.parametrize(
    "made",
    [
        built(8, topology=None),
        built(31, manager_ports=4),
        built(40),
        built(95, manager_ports=4),
        built(33, storage_ports=5, spare_leaf_ports=3),
        built(10, topology=LEAF_SPINE),
        built(57, topology=LEAF_SPINE, storage_ports=6),
        built(300),
        built(270, topology=LEAF_SPINE),
        built(30, ports=12, rails=2),
        built(100, ports=12, topology=LEAF_SPINE, rails=3),
        # 42 ports down and 22 up: the first leaf sends 22 ports' worth, the other its one.
        built(43, topology=LEAF_SPINE, rails=1, ratio=2),
    ],
    ids=lambda made: f"{made.topology}-{made.demand.nodes}-{made.ports}",
)
def test_plan_is_the_design(made: FabricDesign) -> None:
    """E06, E20: of one, two and three tiers, full and not."""
    check(made)


@given(
    nodes=st.integers(1, 90),
    rails=st.integers(1, 5),
    ports=st.sampled_from([8, 12, 16, 40]),
    topology=st.sampled_from([None, RAILS, LEAF_SPINE]),
    wiring=st.sampled_from([None, *Wiring]),
    ratio=st.sampled_from([1, 1.5, 3, 7]),
    storage=st.integers(0, 7),
    spare=st.integers(0, 2),
)
def test_every_plan_is_its_design(
    nodes: int,
    rails: int,
    ports: int,
    topology: Topology | None,
    wiring: Wiring | None,
    ratio: float,
    storage: int,
    spare: int,
) -> None:
    """Whatever is asked: a valid graph."""
    demand = Demand(nodes=nodes, rails=rails, storage_ports=storage, spare_leaf_ports=spare)
    made = design(demand, ports, topology=topology, wiring=wiring, oversubscription=ratio)
    if made is not None:
        check(made)


def test_rails_are_apart_below_the_spines() -> None:
    """E12: card i of every node is on a leaf of rail i, with the nodes of its group, and no leaf has two rails."""
    made = built(40, manager_ports=4)
    rails: defaultdict[str, set[int]] = defaultdict(set)
    for link in links(made, names(made)):
        if link.span is Span.NODE_LEAF and link.low.startswith("node"):
            assert link.rail == link.low_port
            rails[link.high].add(link.low_port)
    assert all(len(seen) == 1 for seen in rails.values())
    assert len(rails) == 16
    without_spines = networkx.Graph(
        (f"{link.low}/{link.low_port}", link.high) for link in links(made, names(made)) if link.span is Span.NODE_LEAF
    )
    assert networkx.number_connected_components(without_spines) == 16


def test_links_are_spread_evenly() -> None:
    """Full wiring: each leaf has equally many links to each spine, which is why spines divide uplinks."""
    made = built(95, manager_ports=4)
    pairs = Counter((link.low, link.high) for link in links(made, names(made)) if link.span is Span.LEAF_SPINE)
    assert set(pairs.values()) == {2}
    assert len(pairs) == 24 * 16


def test_the_same_each_time() -> None:
    """E20: labels on cables do not change from run to run."""
    made = built(48)
    assert list(links(made, names(made))) == list(links(made, names(made)))


@pytest.mark.parametrize("topology", [RAILS, LEAF_SPINE])
@pytest.mark.parametrize(("now", "most", "rails"), [(8, 100, 8), (40, 256, 8), (250, 400, 8), (3, 50, 1)])
def test_growing_moves_no_cable(topology: Topology, now: int, most: int, rails: int) -> None:
    """FB13, A07: every cable of the first day is one of the last, at the same ports."""
    growth = grown(Demand(nodes=now, rails=rails, manager_ports=4), 64, max_nodes=most, topology=topology)
    assert growth is not None
    nodes = names(growth.at_maximum).nodes
    last = set(links(growth.at_maximum, names(growth.at_maximum)))
    first = list(links(growth.day_one, names(growth.day_one, nodes=nodes[:now])))
    renamed = {link._replace(high="", low="") for link in last}
    assert len(first) == growth.day_one.cables
    assert {link._replace(high="", low="") for link in first} <= renamed
    if topology is RAILS:
        assert {link for link in first if link.span is Span.NODE_LEAF} <= last


def test_planes_have_names_of_their_own() -> None:
    """E13: switches of two planes cannot be mistaken for each other; nodes are the same."""
    made = design(Demand(nodes=9, rails=8), 64, planes=2)
    assert made is not None
    one, other = (names(made, plane=plane) for plane in (0, 1))
    assert one.nodes == other.nodes
    assert not {*one.leaves, *one.spines} & {*other.leaves, *other.spines}


def test_labels() -> None:
    """E20: both ends on a label; cages and their halves as the switch prints them."""
    made = built(8)
    first = next(links(made, names(made)))
    assert first.label == "node-01:0 - leaf-r0-01:0"
    assert row(first, switch_ports_per_cage=2) == ("node-leaf", "node-01", "card 0", "leaf-r0-01", "1/1", "0", "")
    uplink = next(link for link in links(made, names(made)) if link.span is Span.LEAF_SPINE)
    assert row(uplink, switch_ports_per_cage=2) == ("leaf-spine", "leaf-r0-01", "17/1", "spine-01", "1/1", "0", "")
    assert row(uplink, switch_ports_per_cage=1)[2] == "33"
    assert len(HEADING) == len(row(first, switch_ports_per_cage=1))


def test_a_large_plan_has_three_cables_for_each_card() -> None:
    """4,096 nodes with 8 cards; `make bench` measures its time and memory."""
    made = built(4096)
    assert sum(1 for _ in links(made, names(made))) == 3 * 4096 * 8
