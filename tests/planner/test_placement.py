"""Gangs, replicas and reserves on the same nodes."""

from hypothesis import given
from hypothesis import strategies as st

from catalogue.types import UsageClass
from planner.placement import Room, Spread, placed, room, wants_placement_group


def test_two_replicas_leave_56_gpus_of_64_whatever_the_placement() -> None:
    """IN08: 64 - 2 x 4 = 56 GPUs are free; 48 of them on empty nodes only if the replicas were spread."""
    assert room(placed(8, 8, [4, 4], Spread.SPREAD) or (), 8) == Room(free_gpus=56, empty_nodes=6)
    assert room(placed(8, 8, [4, 4], Spread.PACK) or (), 8) == Room(free_gpus=56, empty_nodes=7)


def test_one_replica_per_node_breaks_six_nodes_up() -> None:
    """IN10: six replicas of 4 GPUs, packed, take three nodes; spread, no gang of more than two nodes can start."""
    sizes = [4] * 6
    assert room(placed(8, 8, sizes) or (), 8).empty_nodes == 5
    assert room(placed(8, 8, sizes, Spread.SPREAD) or (), 8).empty_nodes == 2


def test_replica_that_finds_no_node() -> None:
    """C04: 3 nodes of 8 GPUs hold three replicas of 5 and not four, although 24 GPUs are more than 20."""
    assert placed(3, 8, [5, 5, 5]) == (3, 3, 3)
    assert placed(3, 8, [5, 5, 5, 5]) is None
    assert placed(1, 8, [16]) is None


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
