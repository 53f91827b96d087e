"""Capacity blocks over time: filled, told to save, emptied and cleaned, whatever AWS does to their times (PF10)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from blocks import Block, Change, Done, Group, Reserved, Stage, stage, turn
from decide import Record, Task

START, END = datetime(2026, 12, 1, 11, 30, tzinfo=UTC), datetime(2026, 12, 8, 11, 30, tzinfo=UTC)
BLOCK = Block(group="training", reservation="cr-1", start=START, end=END, nodes=8, save_minutes=45, empty_minutes=40)
ACTIVE = Reserved("active", END)
EMPTY, FULL = Group(0, 0, 8, False), Group(0, 8, 8, False)
FILLED = Done(filled="2026-12-08T11:30:00Z")


def before_end(minutes: float) -> datetime:
    return END - timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("now", "state", "expected"),
    [
        (START - timedelta(minutes=1), "scheduled", Stage.WAITS),
        (START, "scheduled", Stage.WAITS),
        (START - timedelta(minutes=20), "active", Stage.RUNS),
        (START, "active", Stage.RUNS),
        (before_end(45.1), "active", Stage.RUNS),
        (before_end(45), "active", Stage.SAVES),
        (before_end(40.1), "active", Stage.SAVES),
        (before_end(40), "active", Stage.EMPTIES),
        (before_end(0.1), "active", Stage.EMPTIES),
        (END, "active", Stage.OVER),
        (END, "expired", Stage.OVER),
        *((START, state, Stage.OVER) for state in ("expired", "cancelled", "failed", "payment-failed")),
        *((START, state, Stage.OVER) for state in ("unavailable", "unsupported")),
    ],
)
def test_where_a_block_is_in_its_life(now: datetime, state: str, expected: Stage) -> None:
    assert stage(BLOCK, Reserved(state, END), now) is expected


def test_awss_own_end_counts_and_without_one_the_stack_files() -> None:
    longer = Reserved("active", END + timedelta(days=7))
    assert stage(BLOCK, longer, END) is Stage.RUNS
    assert stage(BLOCK, Reserved("active", None), END) is Stage.OVER
    assert stage(BLOCK, None, END - timedelta(days=1)) is Stage.WAITS
    assert stage(BLOCK, None, END) is Stage.OVER


def test_an_ultraserver_is_left_before_ec2_takes_it() -> None:
    early = replace(BLOCK, save_minutes=65, empty_minutes=60)
    assert stage(early, ACTIVE, before_end(65)) is Stage.SAVES
    assert stage(early, ACTIVE, before_end(60)) is Stage.EMPTIES


def test_a_block_is_filled_once() -> None:
    begun = turn(BLOCK, ACTIVE, EMPTY, Done(), START)
    assert begun.change == Change(wanted=8)
    assert begun.done == FILLED
    assert begun.news == "block cr-1 (training) has begun: 8 nodes are asked for, until 2026-12-08T11:30:00Z"
    later = turn(BLOCK, ACTIVE, FULL, begun.done, START + timedelta(hours=1))
    assert (bool(later.change), later.done, later.news) == (False, FILLED, "")
    taken_away = turn(BLOCK, ACTIVE, EMPTY, FILLED, START + timedelta(hours=1))
    assert not taken_away.change, "somebody has emptied it"


def test_a_group_that_is_being_changed_waits_for_the_next_look() -> None:
    assert turn(BLOCK, ACTIVE, None, Done(), START).done == Done()
    assert turn(BLOCK, ACTIVE, None, Done(), START).stage is Stage.RUNS
    assert not turn(BLOCK, ACTIVE, None, FILLED, before_end(45)).news


def test_what_was_filled_when_the_record_was_lost_is_not_asked_for_again() -> None:
    found = turn(BLOCK, ACTIVE, FULL, Done(), START)
    assert not found.change
    assert found.done == FILLED


def test_pods_are_told_to_save_once_and_so_are_people() -> None:
    told = turn(BLOCK, ACTIVE, FULL, FILLED, before_end(45))
    assert told.change == Change(signal=True)
    assert told.news == "block cr-1 (training) ends at 2026-12-08 11:30 UTC: its pods are told to save and end"
    assert told.done == replace(FILLED, told=("saves",))
    again = turn(BLOCK, ACTIVE, Group(0, 8, 8, True), told.done, before_end(43))
    assert (bool(again.change), again.news) == (False, "")


def test_it_is_emptied_and_then_cleaned() -> None:
    emptied = turn(BLOCK, ACTIVE, Group(0, 8, 8, True), FILLED, before_end(40))
    assert emptied.change == Change(wanted=0)
    over = turn(BLOCK, Reserved("expired", END), Group(0, 0, 8, True), emptied.done, END)
    assert over.change == Change(signal=False)
    assert over.news == "block cr-1 (training) is over: name the next block in the stack file, or remove its pool"
    assert turn(BLOCK, Reserved("expired", END), FULL, FILLED, END).change == Change(wanted=0), "no look came before"
    assert turn(BLOCK, Reserved("expired", END), EMPTY, over.done, END).news == ""


@pytest.mark.parametrize("wanted", [0, 6])
def test_another_number_in_the_stack_file_is_asked_for_once_the_block_runs(wanted: int) -> None:
    """What it may have at most is the number that it was last told, by the keeper alone."""
    told = turn(BLOCK, ACTIVE, Group(0, wanted, 6, False), FILLED, START + timedelta(days=1))
    assert (told.change, told.done, told.news) == (Change(wanted=8), FILLED, "")
    assert not turn(BLOCK, Reserved("scheduled"), Group(0, 0, 6, False), Done(), START).change
    assert not turn(BLOCK, ACTIVE, Group(0, 6, 6, True), FILLED, before_end(43)).change


def test_a_group_that_eks_has_emptied_is_left_so() -> None:
    assert not turn(BLOCK, ACTIVE, Group(0, 0, 8, True), FILLED, before_end(39)).change


def test_an_extension_takes_the_signal_back_and_fills_again_what_was_emptied() -> None:
    longer = Reserved("active", END + timedelta(days=7))
    back = turn(BLOCK, longer, Group(0, 8, 8, True), FILLED, before_end(42))
    assert back.change == Change(signal=False)
    assert back.done.filled == FILLED.filled
    refilled = turn(BLOCK, longer, EMPTY, back.done, before_end(39))
    assert refilled.change == Change(wanted=8), "EKS' own action stood at the old end"
    assert refilled.done.filled == FILLED.filled
    later = turn(BLOCK, longer, FULL, refilled.done, END)
    assert later.done.filled == "2026-12-15T11:30:00Z"
    assert not turn(BLOCK, longer, EMPTY, later.done, END + timedelta(hours=1)).change


def test_a_block_that_does_not_begin_is_told_of_once() -> None:
    late = turn(BLOCK, Reserved("delayed", END), EMPTY, Done(), START + timedelta(minutes=30))
    told = "block cr-1 (training) was to start at 2026-12-01 11:30 UTC and is delayed: its pool has no nodes"
    assert late.news == told
    assert turn(BLOCK, Reserved("delayed", END), EMPTY, late.done, START + timedelta(hours=1)).news == ""
    assert not turn(BLOCK, Reserved("scheduled", END), EMPTY, Done(), START).news
    assert "unknown to AWS" in turn(BLOCK, None, EMPTY, Done(), START + timedelta(hours=1)).news


def test_task_and_record_are_kept_whole() -> None:
    text = (
        '{"project": "p", "stack": "s", "cluster": "c", "ends_parameter": "e", "record_parameter": "r", "topic": "t",'
        '"warn_hours": 1, "hourly_usd": 2, "blocks": [{"group": "training", "reservation": "cr-1", "nodes": 8,'
        '"start": "2026-12-01T11:30:00Z", "end": "2026-12-08T11:30:00Z", "save_minutes": 45, "empty_minutes": 40}]}'
    )
    assert Task.parse(text).blocks == (BLOCK,)
    kept = Record(blocks={"cr-1": Done(filled="2026-12-08T11:30:00Z", told=("late",))})
    assert Record.parse(kept.text()) == kept
    assert "blocks" not in Record().text()
