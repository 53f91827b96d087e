"""Counts of switches and cables: the reference architectures' tables, and sizes beside them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.fabric.design import Demand, Topology, Wiring
from planner.fabric.topology import design, grown, most_nodes
from tests.planner.fabric.fabrics import LEAF_SPINE, RAILS, SINGLE, built, counts


@pytest.mark.parametrize(
    ("nodes", "leaves", "spines", "node_cables", "leaf_spine_cables"),
    [
        (31, 8, 4, 252, 256),
        (63, 16, 8, 508, 512),
        (95, 24, 16, 764, 768),
        (127, 32, 16, 1020, 1024),
    ],
)
def test_superpod_h100(nodes: int, leaves: int, spines: int, node_cables: int, leaf_spine_cables: int) -> None:
    """A06, FB03, metal 2.12, H100: 64 ports, units of 32 places, of which 4 ports of UFM cost one.

    95 nodes get 16 spines: 12 have the ports (24 x 32 / 64), and 12 does not divide a leaf's 32 uplinks. The rule of
    the other table (ceil of leaves x 32 / 64) would say 12; NVIDIA's table says 16, and it is what is built.
    """
    expected = (leaves, spines, 0, node_cables, leaf_spine_cables, 0)
    assert counts(built(nodes, 64, manager=4)) == expected


@pytest.mark.parametrize(
    ("nodes", "leaves", "spines", "cores"),
    [
        (64, 16, 8, 0),
        (128, 32, 16, 0),
        (256, 64, 32, 0),
        (512, 128, 128, 64),
        (1024, 256, 256, 128),
        (2048, 512, 512, 256),
    ],
)
def test_superpod_b200(nodes: int, leaves: int, spines: int, cores: int) -> None:
    """FB13, metal 2.12, B200: two tiers up to 256 nodes, then three; every tier has as many cables as the nodes."""
    cables = nodes * 8
    assert counts(built(nodes, 64)) == (leaves, spines, cores, cables, cables, cables if cores else 0)


@pytest.mark.parametrize(
    ("nodes", "leaves", "spines", "cables"),
    [(72, 8, 4, 576), (144, 16, 8, 1152), (288, 32, 18, 2304), (576, 64, 36, 4608), (1296, 144, 72, 10368)],
)
def test_superpod_b300(nodes: int, leaves: int, spines: int, cables: int) -> None:
    """Metal 2.12, B300: 144 ports of XDR. 1,296 nodes have 10,368 GPUs; the printed 9,216 is a slip."""
    assert counts(built(nodes, 144)) == (leaves, spines, 0, cables, cables, 0)


@pytest.mark.parametrize(
    ("nodes", "leaves", "spines", "node_cables", "leaf_spine_cables"),
    [
        (32, 8, 4, 256, 256),
        (40, 16, 8, 320, 512),
        (48, 16, 8, 384, 512),
        (96, 24, 16, 768, 768),
        (128, 32, 16, 1024, 1024),
    ],
)
def test_units_that_are_not_full(
    nodes: int, leaves: int, spines: int, node_cables: int, leaf_spine_cables: int
) -> None:
    """Metal 2.12, 64 ports, subnet manager elsewhere: units that are not full are wired fully all the same."""
    assert counts(built(nodes, 64)) == (leaves, spines, 0, node_cables, leaf_spine_cables, 0)


@pytest.mark.parametrize(
    ("nodes", "fewest", "on_rails"),
    [
        (10, (3, 2, 0, 80, 80, 0), (8, 2, 0, 80, 80, 0)),
        (16, (4, 2, 0, 128, 128, 0), (8, 2, 0, 128, 128, 0)),
        (32, (8, 4, 0, 256, 256, 0), (8, 4, 0, 256, 256, 0)),
        (64, (16, 8, 0, 512, 512, 0), (16, 8, 0, 512, 512, 0)),
        (128, (32, 16, 0, 1024, 1024, 0), (32, 16, 0, 1024, 1024, 0)),
        (256, (64, 32, 0, 2048, 2048, 0), (64, 32, 0, 2048, 2048, 0)),
        (512, (128, 128, 64, 4096, 4096, 4096), (128, 128, 64, 4096, 4096, 4096)),
    ],
)
def test_fewest_cables(nodes: int, fewest: tuple[int, ...], on_rails: tuple[int, ...]) -> None:
    """FB03, FB04, T3.1, 64 ports and 8 cards: as many uplinks as the nodes need, spines by their ports alone.

    For 10 and 16 nodes on rails this table has 2 spines and one uplink for each card, where a SuperPOD has 4 spines
    and all uplinks. Both are built: this one where wiring is USED, which leaf-spine takes by itself; rails take FULL.
    """
    assert counts(built(nodes, 64, LEAF_SPINE, wiring=Wiring.USED)) == fewest
    assert counts(built(nodes, 64, RAILS, wiring=Wiring.USED)) == on_rails


def test_rails_are_wired_fully_by_themselves() -> None:
    """T3.1 and metal 2.12 disagree about 10 nodes on rails; the reference architecture's way is the one taken."""
    assert counts(built(10, 64)) == (8, 4, 0, 80, 256, 0)
    assert built(10, 64).wiring is Wiring.FULL
    assert built(10, 64, LEAF_SPINE).wiring is Wiring.USED


@pytest.mark.parametrize(("nodes", "rails", "ports", "cables"), [(4, 8, 64, 32), (8, 8, 64, 64), (8, 1, 40, 8)])
def test_one_switch(nodes: int, rails: int, ports: int, cables: int) -> None:
    """T3.1: where one switch has the ports, one switch it is; E09: 8 nodes with one HDR card."""
    assert counts(built(nodes, ports, None, rails=rails)) == (1, 0, 0, cables, 0, 0)


def test_storage_does_not_fit_beside_64_ports() -> None:
    """FB03, T3.1: 8 nodes fill a switch of 64; with storage on the fabric it is two leaves at least."""
    assert built(8, 64, None).topology is SINGLE
    full = built(8, 64, None)
    assert full.leaves * full.down == full.demand.endpoints
    assert design(Demand(nodes=8, rails=8, storage_ports=8), 64, topology=SINGLE) is None
    with_storage = built(8, 64, LEAF_SPINE, storage=8)
    assert counts(with_storage) == (3, 2, 0, 72, 72, 0)


def test_eight_nodes_on_two_leaves() -> None:
    """FB03, T3.1: full bisection takes 64 + 64 cables; 64 + 16, about 80, is four to one."""
    assert counts(built(8, 64, LEAF_SPINE)) == (2, 1, 0, 64, 64, 0)
    assert counts(built(8, 64, RAILS, wiring=Wiring.USED)) == (8, 1, 0, 64, 64, 0)
    assert built(8, 64, LEAF_SPINE, oversubscription=4).cables == 64 + 16


def test_sizes_beside_the_tables() -> None:
    """Worked out by hand.

    33 nodes x 8 on 64 ports: 2 groups of 8 leaves; 16 x 32 / 64 = 8 spines. 20 nodes x 4 on 40 ports: one group of 4
    leaves with 20 ports down and up; 4 x 20 / 40 = 2 spines. 21 of them: 2 groups, 8 leaves, 4 spines. 25 nodes x 8 on
    36 ports: 18 places, so 2 groups and 16 leaves; 16 x 18 / 36 = 8 is no divisor of 18, 9 is. 300 nodes x 8 on 64
    ports: 10 groups, 80 leaves, over 64, so cores; pods of 2 groups (16 leaves, 16 spines) are 5, with 80 spines; these
    have 80 x 32 uplinks for 64 ports, 40 cores, of which spines divide into 2, 4, 8, 16 groups: 64.
    """
    assert counts(built(33, 64)) == (16, 8, 0, 264, 512, 0)
    assert counts(built(20, 40, rails=4)) == (4, 2, 0, 80, 80, 0)
    assert counts(built(21, 40, rails=4)) == (8, 4, 0, 84, 160, 0)
    assert counts(built(25, 36)) == (16, 9, 0, 200, 288, 0)
    assert counts(built(300, 64)) == (80, 80, 64, 2400, 2560, 2560)


def test_every_leaf_reaches_every_spine() -> None:
    """29 ports on 8 leaves of 8 ports at 3:1, 2 kept spare: five leaves with 4 used ports need 2 links up and three
    with 3 need 1, in all 13, which is more than one spine has. With two spines the three get a second link."""
    made = built(29, 8, LEAF_SPINE, rails=1, spare=2, oversubscription=3)
    assert made.leaf_loads() == [4] * 5 + [3] * 3
    assert (made.spines, made.leaf_uplinks()) == (2, [2] * 8)


def test_spare_ports_are_kept_on_every_leaf() -> None:
    """A07: 32 nodes fill the leaves of one unit; with 2 spare ports on each there are two units of 30 places."""
    assert built(32, 64).leaves == 8
    assert built(32, 64, spare=2).leaves == 16
    assert built(30, 64, spare=2).leaves == 8
    assert design(Demand(nodes=8, rails=8, spare_leaf_ports=32), 64, topology=RAILS) is None


def test_oversubscribed_rails() -> None:
    """A14: at 3:1 a leaf of 64 has 48 ports down and 16 up; 48 nodes are one unit, 8 x 16 / 64 = 2 spines."""
    assert counts(built(48, 64, oversubscription=3)) == (8, 2, 0, 384, 128, 0)
    assert built(49, 64, oversubscription=3).leaves == 16


def test_planes_double_everything() -> None:
    """E13: two planes are two fabrics."""
    one, two = (design(Demand(nodes=32, rails=8), 64, planes=planes) for planes in (1, 2))
    assert one is not None
    assert two is not None
    assert (two.switches, two.cables) == (2 * one.switches, 2 * one.cables)


def test_a_fabric_without_nodes_is_a_slip_of_the_caller() -> None:
    """Programmer's errors raise."""
    with pytest.raises(ValueError, match="0 nodes"):
        Demand(nodes=0, rails=8)


topologies = st.sampled_from([None, RAILS, LEAF_SPINE])


def test_largest_sizes() -> None:
    """FB13, T3.1: 256 nodes in two tiers of 64 ports, k^3/4 ports in three; 1,296 of XDR."""
    demand = Demand(nodes=1, rails=8)
    assert most_nodes(demand, 64, RAILS, tiers=2) == 256
    assert most_nodes(demand, 64, RAILS) == 64**3 // 4 // 8
    assert most_nodes(demand, 144, RAILS, tiers=2) == 1296
    assert most_nodes(demand, 40, RAILS, tiers=2) == 100
    assert most_nodes(demand, 64, SINGLE) == 8
    assert most_nodes(Demand(nodes=1, rails=1), 64, LEAF_SPINE, tiers=2) == 64**2 // 2
    assert most_nodes(Demand(nodes=1, rails=8, manager_ports=4), 64, RAILS, tiers=2) == 255


@pytest.mark.parametrize(
    ("ports", "topology", "rails"), [(64, RAILS, 8), (40, RAILS, 4), (36, LEAF_SPINE, 3), (12, RAILS, 2)]
)
def test_the_largest_fits_and_one_more_does_not(ports: int, topology: Topology, rails: int) -> None:
    """A07: what is said to fit is what is built."""
    largest = most_nodes(Demand(nodes=1, rails=rails), ports, topology)
    assert design(Demand(nodes=largest, rails=rails), ports, topology=topology) is not None
    assert design(Demand(nodes=largest + 1, rails=rails), ports, topology=topology) is None
    two = most_nodes(Demand(nodes=1, rails=rails), ports, topology, tiers=2)
    assert built(two, ports, topology, rails=rails).tiers == 2
    assert built(two + 1, ports, topology, rails=rails).tiers == 3


def test_growth_is_there_from_the_first_day() -> None:
    """FB13, A05: 64 nodes that become 256 start with the 32 spines of 256 and the 16 leaves of 64."""
    growth = grown(Demand(nodes=64, rails=8), 64, max_nodes=256, topology=RAILS)
    assert growth is not None
    assert counts(growth.day_one) == (16, 32, 0, 512, 512, 0)
    assert counts(growth.at_maximum) == (64, 32, 0, 2048, 2048, 0)


def test_growth_over_one_switch_starts_with_leaves() -> None:
    """A07: 8 nodes fit one switch; those that become 32 start with 8 leaves and 4 spines."""
    alone, growing = (grown(Demand(nodes=8, rails=8), 64, max_nodes=most) for most in (None, 32))
    assert alone is not None
    assert growing is not None
    assert counts(alone.day_one) == (1, 0, 0, 64, 0, 0)
    assert counts(growing.day_one) == (8, 4, 0, 64, 256, 0)


def test_growth_into_three_tiers_starts_with_the_cores() -> None:
    """FB13: 4,096 GPUs need cores, from the first day; pods come with their nodes."""
    growth = grown(Demand(nodes=256, rails=8), 64, max_nodes=512, topology=RAILS)
    assert growth is not None
    assert counts(growth.day_one) == (64, 64, 64, 2048, 2048, 2048)
    assert counts(growth.at_maximum) == (128, 128, 64, 4096, 4096, 4096)


def test_growth_beyond_the_topology_is_none() -> None:
    """FB13: what cannot become as large is not built small."""
    assert grown(Demand(nodes=8, rails=8), 64, max_nodes=9, topology=SINGLE) is None
    assert grown(Demand(nodes=8, rails=8), 64, max_nodes=8193, topology=RAILS) is None


@given(
    nodes=st.integers(1, 400),
    more=st.integers(1, 100),
    rails=st.integers(1, 8),
    ports=st.sampled_from([12, 32, 36, 40, 64, 144]),
    topology=topologies,
    storage=st.integers(0, 20),
    oversubscription=st.sampled_from([1, 1.5, 2, 3]),
)
def test_more_nodes_never_need_less(
    nodes: int,
    more: int,
    rails: int,
    ports: int,
    topology: Topology | None,
    storage: int,
    oversubscription: float,
) -> None:
    """Switches and cables only grow with the nodes, over all sizes and across the borders between tiers."""
    wiring = None if oversubscription == 1 else Wiring.FULL
    demands = [Demand(nodes=count, rails=rails, storage_ports=storage) for count in (nodes, nodes + more)]
    small, large = (
        design(demand, ports, topology=topology, oversubscription=oversubscription, wiring=wiring) for demand in demands
    )
    if large is None:
        return
    assert small is not None
    assert small.switches <= large.switches
    assert small.cables <= large.cables
    assert small.leaves <= large.leaves


def test_more_nodes_never_need_less_step_by_step() -> None:
    """The same, for every size of the usual fabric up to three tiers."""
    made = [built(nodes, 64) for nodes in range(1, 520)]
    assert all(one.switches <= other.switches and one.cables <= other.cables for one, other in pairwise(made))
