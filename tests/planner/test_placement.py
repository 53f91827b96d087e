"""Gangs, replicas and reserves on the same nodes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.types import UsageClass
from planner.faces.nodes import sharing_words
from planner.faces.page.whole import page
from planner.faces.text import plan_text
from planner.placement import Replicas, Room, placed, room, shared_nodes, sharing, wants_placement_group
from tests.planner.faces.page.reading import read
from tests.planner.faces.test_text import printed
from tests.planner.stacks import planned


def of(gpus: int, count: int, *, spread: bool = False) -> Replicas:
    return Replicas(gpus=gpus, count=count, spread=spread)


def test_two_replicas_leave_56_gpus_of_64_whatever_the_placement() -> None:
    """IN08: 64 - 2 x 4 = 56 GPUs are free; 48 of them on empty nodes only if the replicas were spread."""
    assert room(placed(8, 8, [of(4, 2, spread=True)]) or (), 8) == Room(free_gpus=56, empty_nodes=6)
    assert room(placed(8, 8, [of(4, 2)]) or (), 8) == Room(free_gpus=56, empty_nodes=7)


def test_one_replica_per_node_breaks_six_nodes_up() -> None:
    """IN10, Q09: six replicas of 4 GPUs, packed, take three nodes; spread, no gang of more than two nodes can start."""
    assert room(placed(8, 8, [of(4, 6)]) or (), 8).empty_nodes == 5
    assert room(placed(8, 8, [of(4, 6, spread=True)]) or (), 8).empty_nodes == 2


def test_replicas_that_spread_take_the_fullest_nodes_that_have_none_q09() -> None:
    """Two of 4 GPUs go beside the 3 and the 2 that lie there; a third beside none of them."""
    assert placed(3, 8, [of(3, 1, spread=True), of(4, 2, spread=True)]) == (8, 4, 1)
    assert placed(3, 8, [of(4, 3, spread=True), of(8, 1)]) is None
    assert placed(2, 8, [of(1, 3, spread=True)]) is None


def test_all_gpus_for_a_gang_leave_none_for_replicas() -> None:
    """IN09, A08: a gang of 8 nodes and two replicas of 4 GPUs take nine nodes of 8, not eight."""
    assert shared_nodes(8, 8, [of(4, 2)]) == 9
    assert shared_nodes(8, 8, []) == 8
    assert shared_nodes(7, 8, [of(4, 2)]) == 8


@pytest.mark.parametrize(
    ("gang", "sizes", "nodes"),
    [
        (0, [], 0),
        (4, [of(8, 2), of(1, 1)], 7),
        (4, [of(5, 3)], 7),
    ],
)
def test_nodes_that_hold_everything(gang: int, sizes: list[Replicas], nodes: int) -> None:
    """A08: whole nodes for the gang, and no replica across two nodes."""
    assert shared_nodes(gang, 8, sizes) == nodes


def test_replica_that_finds_no_node() -> None:
    """C04: 3 nodes of 8 GPUs hold three replicas of 5 and not four, although 24 GPUs are more than 20."""
    assert placed(3, 8, [of(5, 3)]) == (3, 3, 3)
    assert placed(3, 8, [of(5, 4)]) is None
    with pytest.raises(ValueError, match="16 GPUs does not fit on a node of 8"):
        shared_nodes(1, 8, [of(16, 1)])


SERVICES = st.lists(
    st.builds(Replicas, gpus=st.integers(1, 8), count=st.integers(1, 4), spread=st.booleans()), max_size=5
)


@given(nodes=st.integers(0, 12), services=SERVICES)
def test_placement_neither_loses_nor_invents_gpus(nodes: int, services: list[Replicas]) -> None:
    """A08: what is free and what runs add up, and a node is never taken beyond what it has."""
    free = placed(nodes, 8, services)
    if free is not None:
        assert sum(free) + sum(each.gpus * each.count for each in services) == nodes * 8
        assert len(free) == nodes
        assert min(free, default=0) >= 0


@given(gang=st.integers(0, 6), services=SERVICES)
def test_fewest_nodes_are_enough_and_one_fewer_is_not(gang: int, services: list[Replicas]) -> None:
    """A08: the number is where it begins to fit."""
    nodes = shared_nodes(gang, 8, services)
    assert nodes * 8 >= gang * 8 + sum(each.gpus * each.count for each in services)
    if nodes > gang:
        free = placed(nodes - 1, 8, services)
        assert free is None or room(free, 8).empty_nodes < gang


def test_many_replicas_are_placed_at_once() -> None:
    """A08: a pool of the largest size that settings allow is packed in an instant."""
    assert placed(4096, 8, [of(3, 8192)]) == (2,) * 4096
    assert placed(4096, 8, [of(3, 8193)]) is None


def test_a_block_gets_no_placement_group() -> None:
    """E21: EFA nodes bought on demand or on the spot market take one; blocks refuse it, and other nodes need none."""
    assert wants_placement_group(32, UsageClass.ON_DEMAND)
    assert wants_placement_group(32, UsageClass.SPOT)
    assert not wants_placement_group(32, UsageClass.CAPACITY_BLOCK)
    assert not wants_placement_group(0, UsageClass.ON_DEMAND)


def test_services_share_a_pool() -> None:
    """A08, IN08: five nodes of 8; 2 to 4 replicas of 3 GPUs, packed two to a node, and 1 to 3 of 8, a node each."""
    fewest, most = [of(3, 2), of(8, 1)], [of(3, 4), of(8, 3)]
    found = sharing(5, 8, fewest, most, gang_nodes=1)
    assert found.fewest == Room(free_gpus=26, empty_nodes=3)
    assert found.most == Room(free_gpus=4, empty_nodes=0)
    assert found.nodes == 6
    assert sharing(4, 8, fewest, most).most is None


def test_every_face_says_what_services_leave() -> None:
    """A08: three nodes with two replicas of 4 GPUs, which take one of them; with seven no node is empty."""
    changes = {"pools.2.count": 3, "serving.services.0.minReplicas": 2, "serving.services.0.maxReplicas": 5}
    plan = planned("prod", changes)
    shared = plan.sharing["inference"]
    assert (shared.fewest, shared.most) == (Room(free_gpus=16, empty_nodes=2), Room(free_gpus=4, empty_nodes=0))
    left = "at minReplicas 16 GPUs free (2 whole nodes), at maxReplicas 4 GPUs free"
    words = f"{left}; all replicas and the largest gang need 3 nodes, and the pool has 3"
    assert words in " ".join(printed(plan_text("prod", plan), 160).split())
    assert words in read(page("prod", plan)).all("section", id="services")[0].words()
    assert "not all replicas find a node" in sharing_words(plan.pools["inference"], replace(shared, most=None))
    assert "training" not in plan.sharing
    assert planned("prod", {"serving.services.0.tensorParallel": 16}).sharing == {}
