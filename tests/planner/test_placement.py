"""Gangs, replicas and reserves on the same nodes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.types import UsageClass
from planner.placement import Room, Spread, placed, room, shared_nodes, wants_placement_group


def test_two_replicas_leave_56_gpus_of_64_whatever_the_placement() -> None:
    """IN08: 64 - 2 x 4 = 56 GPUs are free; 48 of them on empty nodes only if the replicas were spread."""
    assert room(placed(8, 8, [4, 4], Spread.SPREAD) or (), 8) == Room(free_gpus=56, empty_nodes=6)
    assert room(placed(8, 8, [4, 4], Spread.PACK) or (), 8) == Room(free_gpus=56, empty_nodes=7)


def test_one_replica_per_node_breaks_six_nodes_up() -> None:
    """IN10: six replicas of 4 GPUs, packed, take three nodes; spread, no gang of more than two nodes can start."""
    sizes = [4] * 6
    assert room(placed(8, 8, sizes) or (), 8).empty_nodes == 5
    assert room(placed(8, 8, sizes, Spread.SPREAD) or (), 8).empty_nodes == 2


def test_all_gpus_for_a_gang_leave_none_for_replicas() -> None:
    """IN09, A08: a gang of 8 nodes and two replicas of 4 GPUs take nine nodes of 8, not eight."""
    assert shared_nodes(8, 8, [4, 4]) == 9
    assert shared_nodes(8, 8, []) == 8
    assert shared_nodes(7, 8, [4, 4]) == 8


@pytest.mark.parametrize(
    ("gang", "sizes", "reserve", "nodes"),
    [
        (0, [], 0, 0),
        (4, [8, 8, 1], 0, 7),
        (4, [5, 5, 5], 0, 7),
        (4, [5, 5, 5], 9, 7),
        (4, [5, 5, 5], 10, 8),
        (3, [], 1, 4),
    ],
)
def test_nodes_that_hold_everything(gang: int, sizes: list[int], reserve: int, nodes: int) -> None:
    """A08: whole nodes for the gang, no replica across two nodes, and the reserve in what is left between them."""
    assert shared_nodes(gang, 8, sizes, reserve) == nodes


def test_replica_that_finds_no_node() -> None:
    """C04: 3 nodes of 8 GPUs hold three replicas of 5 and not four, although 24 GPUs are more than 20."""
    assert placed(3, 8, [5, 5, 5]) == (3, 3, 3)
    assert placed(3, 8, [5, 5, 5, 5]) is None
    with pytest.raises(ValueError, match="16 GPUs does not fit on a node of 8"):
        shared_nodes(1, 8, [16])


@given(
    nodes=st.integers(0, 12),
    sizes=st.lists(st.integers(1, 8), max_size=12),
    how=st.sampled_from(Spread),
)
def test_placement_neither_loses_nor_invents_gpus(nodes: int, sizes: list[int], how: Spread) -> None:
    """A08: what is free and what runs add up, and a further node never takes a place away."""
    free = placed(nodes, 8, sizes, how)
    if free is not None:
        assert sum(free) + sum(sizes) == nodes * 8
        assert min(free, default=0) >= 0
        assert placed(nodes + 1, 8, sizes, how) is not None


@given(
    gang=st.integers(0, 6),
    sizes=st.lists(st.integers(1, 8), max_size=6),
    reserve=st.integers(0, 20),
    how=st.sampled_from(Spread),
)
def test_fewest_nodes_are_enough_and_one_fewer_is_not(gang: int, sizes: list[int], reserve: int, how: Spread) -> None:
    """A08: the number is where it begins to fit."""
    nodes = shared_nodes(gang, 8, sizes, reserve, how)
    assert nodes * 8 >= gang * 8 + sum(sizes) + reserve
    if nodes > gang:
        free = placed(nodes - 1, 8, sizes, how)
        left = room(free, 8) if free is not None else Room(free_gpus=0, empty_nodes=-1)
        assert left.empty_nodes < gang or left.free_gpus - gang * 8 < reserve


def test_many_replicas_are_placed_at_once() -> None:
    """A08: a pool of the largest size that settings allow is packed in an instant."""
    assert placed(4096, 8, [3] * 8192) == (2,) * 4096
    assert placed(4096, 8, [3] * 8193) is None


def test_a_block_gets_no_placement_group() -> None:
    """E21: EFA nodes bought on demand or on the spot market take one; blocks refuse it, and other nodes need none."""
    assert wants_placement_group(32, UsageClass.ON_DEMAND)
    assert wants_placement_group(32, UsageClass.SPOT)
    assert not wants_placement_group(32, UsageClass.CAPACITY_BLOCK)
    assert not wants_placement_group(0, UsageClass.ON_DEMAND)
