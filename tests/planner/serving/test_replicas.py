"""How many replicas of several services find room, and what no order of coming and going takes from them (A08, Q09)."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.placement import Replicas, placed
from planner.serving.replicas import always_fits, fits_in_any_order, room_for
from tests.planner.stacks import planned

PLACED = tuple[tuple[int, frozenset[int]], ...]


def of(gpus: int, count: int, *, spread: bool = False) -> Replicas:
    return Replicas(gpus=gpus, count=count, spread=spread)


@pytest.mark.parametrize(
    ("service", "others", "room"),
    [
        (of(2, 9), [], 8),
        (of(2, 3), [], 3),
        (of(2, 9), [of(4, 2)], 4),
        (of(2, 9), [of(4, 2, spread=True)], 4),
        (of(2, 9, spread=True), [], 2),
        (of(8, 2), [of(4, 2, spread=True)], 0),
        (of(8, 2), [of(4, 2)], 1),
    ],
)
def test_replicas_beside_the_others_of_two_nodes_of_8(service: Replicas, others: list[Replicas], room: int) -> None:
    assert room_for(2, 8, service, others) == room


@pytest.mark.parametrize(
    ("service", "others", "always"),
    [
        (of(8, 1), [of(4, 2)], False),
        (of(8, 1), [of(4, 1)], True),
        (of(8, 2), [], True),
        (of(4, 4), [], True),
        (of(4, 3), [of(2, 2)], False),
        (of(4, 3), [of(2, 1)], True),
        (of(1, 1), [of(8, 1), of(4, 1)], True),
        (of(4, 2, spread=True), [of(8, 1)], False),
        (of(4, 2, spread=True), [of(4, 1)], True),
        (of(1, 2, spread=True), [], True),
        (of(1, 3, spread=True), [], False),
    ],
)
def test_room_that_nobody_can_take_in10(service: Replicas, others: list[Replicas], always: bool) -> None:
    """Two nodes of 8: two replicas of 4 GPUs can lie on one or on both, and then one of 8 waits."""
    assert always_fits(2, 8, service, others) is always


def waits(nodes: int, gpus: int, service: Replicas, others: list[Replicas]) -> bool:
    """Whether the service's last replica finds no node in some arrangement of all the others, tried one by one."""
    before = [of(service.gpus, service.count - 1, spread=service.spread), *others]
    pods = [(owner, each) for owner, each in enumerate(before) for _ in range(each.count)]

    def blocked(now: PLACED) -> bool:
        return not any(free >= service.gpus and not (service.spread and 0 in there) for free, there in now)

    @cache
    def reached(index: int, now: PLACED) -> bool:
        if index == len(pods):
            return blocked(now)
        owner, each = pods[index]
        for place, (free, there) in enumerate(now):
            if free >= each.gpus and not (each.spread and owner in there):
                then = list(now)
                then[place] = (free - each.gpus, there | {owner} if each.spread else there)
                if reached(index + 1, tuple(sorted(then, key=lambda node: (node[0], sorted(node[1]))))):
                    return True
        return False

    return reached(0, ((gpus, frozenset[int]()),) * nodes)


SMALL = st.builds(Replicas, gpus=st.sampled_from([1, 2, 3, 4, 8]), count=st.integers(1, 3), spread=st.booleans())


@given(nodes=st.integers(1, 3), service=SMALL, others=st.lists(SMALL, max_size=2))
def test_what_is_promised_holds_in_every_arrangement(nodes: int, service: Replicas, others: list[Replicas]) -> None:
    """IN10: none of all arrangements of the other replicas leaves one without a node that is said to have one."""
    if placed(nodes, 8, [service, *others]) is not None and always_fits(nodes, 8, service, others):
        assert not waits(nodes, 8, service, others)


def filled(nodes: int, gpus: int, sizes: list[int]) -> bool:
    """Whether each replica finds a node as it comes: the fullest that has room."""
    free = [gpus] * nodes
    for size in sizes:
        fitting = [each for each in free if each >= size]
        if not fitting:
            return False
        free[free.index(min(fitting))] -= size
    return True


@given(sizes=st.lists(st.sampled_from([1, 2, 4, 8]), max_size=14), nodes=st.integers(1, 4))
def test_sizes_that_divide_each_other_fit_in_any_order(sizes: list[int], nodes: int) -> None:
    services = [of(size, 1) for size in sizes]
    assert fits_in_any_order(8, services)
    assert filled(nodes, 8, sizes) is (placed(nodes, 8, services) is not None)


def test_other_sizes_need_not() -> None:
    """3 and 5 fill a node of 8 together; two of 3 on one node leave no room for two of 5 on the other."""
    services = [of(3, 2), of(5, 2)]
    assert placed(2, 8, services) is not None
    assert not fits_in_any_order(8, services)
    assert not filled(2, 8, [3, 3, 5, 5])
    assert not fits_in_any_order(6, [of(4, 1)])


def test_the_plan_stops_where_the_pool_ends_q08() -> None:
    """prod has room for so many replicas of its 4-GPU service, whatever the stack file asks for."""
    pool = planned("prod").pools["inference"]
    plan = planned("prod", {"serving.services.0.maxReplicas": 4096, "monitoring": {}})
    (service,) = plan.services.values()
    assert service.max_replicas == pool.count * (pool.devices_per_node // service.pod.gpus)
    assert (service.min_replicas, service.most.count) == (2, service.max_replicas)


def test_an_update_of_replicas_that_spread_starts_none_beside_them() -> None:
    """A new one may find room only beside another new one; of a single one this cannot be."""
    wide = {"pools.2.count": 8, "budget.maxHourlyUsd": 10_000}
    spread = {**wide, "serving.services.0.placement": "spread"}
    one = {"serving.services.0.minReplicas": 1, "serving.services.0.maxReplicas": 1}
    assert [
        each.services["llama-3-70b"].spare_replica for each in (planned("prod", wide), planned("prod", spread))
    ] == [
        True,
        False,
    ]
    assert planned("prod", {**spread, **one}).services["llama-3-70b"].spare_replica
