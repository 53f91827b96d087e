"""When a stack is warned, ended, put to sleep and woken (Z15)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from decide import (
    OffHours,
    Phase,
    Record,
    Sizes,
    Task,
    end,
    latest,
    moment,
    phase,
    pools_to_change,
)
from handler import when

from sweep.ends import NEVER, written

END = datetime(2026, 11, 23, 18, tzinfo=UTC)
TASK = Task(
    project="gpucluster",
    stack="lab",
    cluster="gpucluster-lab",
    ends_parameter="/ends",
    record_parameter="/record",
    topic="arn",
    warn_hours=2,
    hourly_usd=4,
    gpu_pools={"training": 3, "inference": 1},
)
HOURS = OffHours(time_zone="Europe/Berlin", days=("mon", "tue"), start="08:00", end="20:00")


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (timedelta(hours=2, seconds=1), Phase.RUNS),
        (timedelta(hours=2), Phase.WARNS),
        (timedelta(seconds=1), Phase.WARNS),
        (timedelta(), Phase.ENDS),
        (timedelta(days=-3), Phase.ENDS),
    ],
)
def test_a_stack_is_warned_and_then_ends(before: timedelta, expected: Phase) -> None:
    assert phase(TASK, END, Record(), END - before) is expected


def test_people_are_warned_once_of_each_end() -> None:
    told, soon = Record(warned_of=written(END)), END - timedelta(hours=1)
    assert phase(TASK, END, told, soon) is Phase.RUNS
    assert phase(TASK, END + timedelta(minutes=30), told, soon) is Phase.WARNS


def test_what_was_stopped_stays_so_whatever_its_end_says() -> None:
    assert phase(TASK, END, Record(stopped="spent"), END - timedelta(days=9)) is Phase.ENDS
    assert phase(TASK, None, Record(), END) is Phase.RUNS


def test_money_is_the_second_bound() -> None:
    bounded, started = replace(TASK, max_usd=10), Record(started=END - timedelta(hours=6))
    assert latest(bounded, END) == END + timedelta(hours=2.5)
    assert end(bounded, written(END), started) == END - timedelta(hours=3.5)
    assert end(bounded, NEVER, started) == END - timedelta(hours=3.5)
    assert end(bounded, written(END), Record()) == end(TASK, written(END), started) == END
    assert end(TASK, NEVER, started) is None


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-11-23T18:00:00"])
def test_an_end_that_nobody_can_read_fails_loudly(text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|time zone"):
        end(TASK, text, Record())


def test_a_moment_is_told_in_any_zone() -> None:
    assert moment("2026-11-23T19:00:00+01:00") == moment("2026-11-23T18:00:00.000Z") == END


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"started": "yesterday"}', '{"asleep": 3}'])
def test_a_record_that_nobody_can_read_is_begun_anew(text: str) -> None:
    assert Record.parse(text) == Record()


def test_a_record_is_kept_whole() -> None:
    kept = Record(started=END, warned_of="x", stopped="y", emptied=True, asleep=("training",))
    assert Record.parse(kept.text()) == kept
    assert kept.begun(END + timedelta(1)) is kept
    assert Record().begun(END) == Record(started=END)


@pytest.mark.parametrize(
    ("now", "asleep"),
    [
        ("2026-11-23T06:59:00Z", True),  # 07:59 in Berlin
        ("2026-11-23T07:00:00Z", False),
        ("2026-11-23T18:59:59Z", False),
        ("2026-11-23T19:00:00Z", True),
        ("2026-11-25T12:00:00Z", True),  # a Wednesday
        ("2026-06-22T06:00:00Z", False),  # 08:00 in summer
    ],
)
def test_off_hours_are_those_of_the_place(now: str, asleep: bool) -> None:
    assert HOURS.asleep(moment(now)) is asleep


NIGHT, DAY = moment("2026-11-23T22:00:00Z"), moment("2026-11-24T09:00:00Z")
SLEEPER = replace(TASK, off_hours=HOURS)


def test_pools_sleep_and_wake_as_they_were_asked_for() -> None:
    sizes = {"training": Sizes(3, 3), "inference": Sizes(0, 0)}
    changes, record = pools_to_change(SLEEPER, sizes, Record(), NIGHT)
    assert changes == {"training": Sizes(0, 0)}
    assert record.asleep == ("training",)
    again, same = pools_to_change(SLEEPER, dict.fromkeys(sizes, Sizes(0, 0)), record, NIGHT)
    assert (again, same) == ({}, record)
    woken, after = pools_to_change(SLEEPER, dict.fromkeys(sizes, Sizes(0, 0)), record, DAY)
    assert woken == {"training": Sizes(3, 3)}, "somebody has emptied inference"
    assert after.asleep == ()


def test_a_pool_that_is_being_changed_is_woken_later() -> None:
    asleep = Record(asleep=("inference", "training"))
    changes, after = pools_to_change(SLEEPER, {"training": Sizes(0, 0)}, asleep, DAY)
    assert (list(changes), after.asleep) == (["training"], ("inference",))
    assert pools_to_change(SLEEPER, {"training": Sizes(5, 5)}, asleep, DAY)[0] == {}, "somebody was earlier"


def test_without_off_hours_nothing_sleeps() -> None:
    assert pools_to_change(TASK, {"training": Sizes(3, 3)}, Record(), NIGHT) == ({}, Record())


def test_a_task_comes_from_the_environment() -> None:
    text = (
        '{"project": "p", "stack": "s", "cluster": "c", "ends_parameter": "e", "record_parameter": "r", "topic": "t",'
        '"warn_hours": 1, "hourly_usd": 2, "max_usd": null, "gpu_pools": {"a": 1},'
        '"off_hours": {"time_zone": "UTC", "days": ["mon"], "start": "08:00", "end": "20:00"}}'
    )
    task = Task.parse(text)
    assert task.off_hours == OffHours(time_zone="UTC", days=("mon",), start="08:00", end="20:00")
    assert task.gpu_pools == {"a": 1}


def test_a_call_has_its_callers_clock() -> None:
    assert when({"now": "2026-11-23T18:00:00Z"}) == (END, "")
    notice = {"Timestamp": "2026-11-23T18:00:00.000Z", "Subject": None, "Message": "..."}
    assert when({"Records": [{"Sns": notice}]}) == (END, "AWS Budgets: the budget is spent")
    assert when({"Records": [{"Sns": {**notice, "Subject": "AWS Budgets: lab"}}]})[1] == "AWS Budgets: lab"


def test_each_day_of_the_week_is_that_day() -> None:
    """The first is Monday, 23 November 2026."""
    for number, day in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun")):
        noons = [END.replace(day=23 + each, hour=12) for each in range(7)]
        hours = OffHours(time_zone="UTC", days=(day,), start="08:00", end="20:00")
        assert [each for each, noon in enumerate(noons) if not hours.asleep(noon)] == [number]
