"""Which of two node groups is asked for a pool's nodes: decisions of the keeper's, look by look (Z01)."""

from datetime import UTC, datetime, timedelta

import pytest
from decide import Record, Task
from markets import Move, Seen, Spot, Waits, move

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
POOL = Spot(spot="training", on_demand="training-on-demand", nodes=4, wait_minutes=15, again_hours=6)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def at(spot: tuple[int, int], paid: tuple[int, int], waits: Waits, after: float = 0) -> Move:
    return move(POOL, Seen(*spot, most=4), Seen(*paid, most=4), waits, NOW + minutes(after))


def test_empty_groups_are_filled_on_spot_and_the_clock_runs() -> None:
    found = at((0, 0), (0, 0), Waits())
    assert (found.sizes, found.waits) == ((4, 0), Waits(missing=NOW))


def test_what_is_missing_for_so_long_is_asked_for_on_demand_and_what_is_there_stays() -> None:
    assert at((4, 1), (0, 0), Waits(missing=NOW), 14).sizes is None
    found = at((4, 1), (0, 0), Waits(missing=NOW), 15)
    assert found.sizes == (1, 3)
    assert found.waits == Waits(missing=NOW + minutes(15), paid=NOW + minutes(15))
    assert found.news == "pool training: 3 nodes are not to be had on spot since 12:00 UTC; asked for on demand"


def test_a_pool_that_is_whole_forgets_that_it_waited() -> None:
    """The next spot notice begins a new wait."""
    assert at((1, 1), (3, 3), Waits(missing=NOW, paid=NOW), 20) == Move(waits=Waits(paid=NOW))
    assert at((1, 0), (3, 3), Waits(paid=NOW), 30) == Move(waits=Waits(missing=NOW + minutes(30), paid=NOW))


def test_what_is_not_to_be_had_on_demand_either_is_asked_for_on_spot_again() -> None:
    found = at((1, 1), (3, 1), Waits(missing=NOW, paid=NOW), 15)
    assert found.sizes == (3, 1)
    assert "2 nodes are not to be had on demand" in found.news


def test_after_so_many_hours_spot_is_asked_again() -> None:
    assert at((1, 1), (3, 3), Waits(paid=NOW), 6 * 60 - 1).sizes is None
    found = at((1, 1), (3, 3), Waits(paid=NOW), 6 * 60)
    assert (found.sizes, found.waits) == ((4, 0), Waits(missing=NOW + minutes(360)))


def test_hours_on_demand_are_counted_anew_when_there_were_none() -> None:
    """In off hours both groups were emptied."""
    found = at((4, 1), (0, 0), Waits(missing=NOW, paid=NOW - timedelta(days=1)), 15)
    assert found.waits.paid == NOW + minutes(15)


@pytest.mark.parametrize(
    ("spot", "paid", "wanted"),
    [
        ((2, 2), (0, 0), (4, 0)),
        ((1, 1), (1, 1), (3, 1)),
        ((6, 6), (0, 0), (4, 0)),
        ((1, 1), (6, 6), (1, 3)),
        ((6, 1), (0, 0), (4, 0)),
        ((6, 5), (2, 2), (4, 0)),
    ],
)
def test_another_number_of_nodes_is_asked_for_at_once_and_what_is_there_stays(
    spot: tuple[int, int], paid: tuple[int, int], wanted: tuple[int, int]
) -> None:
    assert at(spot, paid, Waits()).sizes == wanted


def test_it_is_remembered_from_one_call_to_the_next() -> None:
    record = Record(spots={"training": Waits(missing=NOW, paid=NOW)})
    assert Record.parse(record.text()) == record
    assert "spots" not in Record().text()
    told = (
        '{"project": "p", "stack": "s", "cluster": "c", "ends_parameter": "e", "record_parameter": "r", "topic": "t", '
    )
    told += (
        '"warn_hours": 1, "hourly_usd": 1, "spots": [{"spot": "a", "on_demand": "b", "nodes": 1, "wait_minutes": 5}]}'
    )
    assert Task.parse(told).spots == (Spot(spot="a", on_demand="b", nodes=1, wait_minutes=5),)
