"""How large a fabric can become, what must stand from the first day, and that more nodes never need less."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.fabric.design import Demand, Topology, Wiring
from planner.fabric.topology import design, grown, most_nodes
from tests.planner.fabric.fabrics import LEAF_SPINE, RAILS, SINGLE, built, counts

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
