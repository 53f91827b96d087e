"""Z15: when a stack ends by itself, and what contradicts it."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

import pytest

from planner.plan import draft
from planner.types import AwsPlan
from planner.wording import enough
from tests.planner.stacks import TODAY, planned, rules, settings

KEEPER: dict[str, Any] = {"endsAt": "2026-11-22T18:00Z"}


def kept(**changes: Any) -> AwsPlan:
    return planned(changes={"keeper": KEEPER, **{key.replace("__", "."): value for key, value in changes.items()}})


def test_a_stack_without_a_keeper_has_none_and_is_told_so_only_with_a_last_day() -> None:
    assert planned().keeper is None
    assert rules(planned(changes={"lifecycle.expiry": "2026-11-30"})) == ["expiry-without-keeper"]


def test_the_end_is_the_keepers_or_the_midnight_after_the_last_day() -> None:
    found = kept()
    assert rules(found) == []
    assert found.keeper
    assert found.keeper.ends == datetime(2026, 11, 22, 18, tzinfo=UTC)
    assert found.ownership.expiry == found.keeper.ends.date(), "the tag by which a sweep finds what is left"
    last = planned(changes={"keeper": {}, "lifecycle.expiry": "2026-11-30"})
    assert last.keeper
    assert last.keeper.ends == datetime(2026, 12, 1, tzinfo=UTC)
    assert rules(last) == []


def test_gpu_pools_are_told_with_their_nodes() -> None:
    found = kept()
    assert found.keeper
    gpus = {name: pool.count for name, pool in found.pools.items() if pool.gpus}
    assert gpus
    assert found.keeper.gpu_pools == gpus
    assert found.keeper.hourly_usd == found.prices.hourly


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"keeper": {}}, ["keeper-idle"]),
        ({"keeper": {"offHours": {"timeZone": "Europe/Berlin"}}}, []),
        ({"keeper": {"endsAt": "2026-11-20T23:59Z"}}, ["keeper-over"]),
        ({"keeper": KEEPER, "lifecycle.expiry": "2026-11-21"}, ["keeper-over"]),
        ({"keeper": KEEPER, "lifecycle.expiry": "2026-11-22"}, []),
        ({"keeper": KEEPER, "lifecycle.protect": True}, ["keeper-protected"]),
    ],
)
def test_what_contradicts_an_end_is_refused(changes: dict[str, Any], found: list[str]) -> None:
    assert [each for each in rules(planned(changes=changes)) if each.startswith("keeper")] == found


@pytest.mark.parametrize(("ends", "found"), [("11:59", ["keeper-over"]), ("12:00", ["keeper-over"]), ("12:01", [])])
def test_an_end_earlier_today_is_refused(ends: str, found: list[str]) -> None:
    """At noon; a plan for the day as a whole is made from its first minute on."""
    noon = datetime(TODAY.year, TODAY.month, TODAY.day, 12, tzinfo=UTC)
    changes = {"keeper": {"endsAt": f"{TODAY}T{ends}Z"}}
    plan = planned(changes=changes, today=noon)
    assert rules(plan) == found
    assert [f"ended at {TODAY} {ends} UTC" in each.sentence for each in plan.errors] == [True] * len(found)
    assert rules(planned(changes=changes)) == []
    east = noon.astimezone(timezone(timedelta(hours=14)))
    assert rules(planned(changes=changes, today=east)) == found, "in another zone it is the same moment"


def test_the_clock_is_asked_once_and_says_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    class Noon(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Noon":
            return cls(TODAY.year, TODAY.month, TODAY.day, 12, tzinfo=tz)

    monkeypatch.setattr("planner.plan.datetime", Noon)
    drafted = draft(settings(changes={"keeper": {"endsAt": f"{TODAY}T11:00Z"}}))
    assert (drafted.now.hour, drafted.now.tzinfo, drafted.today) == (12, UTC, TODAY)


def test_money_that_does_not_last_is_refused() -> None:
    """From tomorrow's midnight until 18:00 are 18 hours, whatever is left of today."""
    hourly = planned().prices.hourly
    short = kept(keeper={**KEEPER, "maxUsd": hourly * 18 - 0.5})
    assert rules(short) == ["keeper-budget"]
    assert f"raise maxUsd to {enough(hourly * 18)}" in short.errors[0].remedy
    assert rules(kept(keeper={**KEEPER, "maxUsd": hourly * 18 + 0.5})) == []


@pytest.mark.parametrize("end", ["2026-11-23T18:00Z", "2026-12-01T07:20Z", "2027-02-11T23:10Z", "2027-12-30T01:40Z"])
def test_the_money_that_the_finding_names_is_enough(end: str) -> None:
    """Its remedy rounded to the nearest cent, and a file that did what it said was refused by half a cent."""
    (finding,) = kept(keeper={"endsAt": end, "maxUsd": 1}).errors
    named = float(finding.remedy.removeprefix("raise maxUsd to ").partition(", ")[0])
    assert rules(kept(keeper={"endsAt": end, "maxUsd": named})) == []


def test_money_below_what_stands_without_gpus_is_told_as_such() -> None:
    found = kept(keeper={"maxUsd": 0.01})
    assert rules(found) == ["keeper-budget"]
    assert "without any GPU" in found.errors[0].sentence


def test_a_stack_that_outlives_its_block_is_refused() -> None:
    block = {"id": "cr-0123456789abcdef0", "zone": "use2-az1", "start": "2026-11-21", "end": "2026-11-22"}
    pools = [
        {"name": "system", "role": "system", "instanceType": "m7i.xlarge", "count": 2},
        {
            "name": "training",
            "role": "training",
            "instanceType": "p5.4xlarge",
            "count": 2,
            "capacity": "capacity-block",
            "reservation": block,
        },
        {"name": "inference", "role": "inference", "instanceType": "g6e.xlarge", "count": 2},
    ]
    found = planned(changes={"pools": pools, "keeper": KEEPER})
    (finding,) = [each for each in found.errors if each.rule == "keeper-beyond-block"]
    assert '"2026-11-22T11:00Z"' in finding.remedy
    assert found.keeper
    assert "training" not in found.keeper.gpu_pools, "its nodes are paid for, whether they sleep or not"
    soon = planned(changes={"pools": pools, "keeper": {"endsAt": "2026-11-22T11:00Z"}})
    assert "keeper-beyond-block" not in rules(soon)


assert TODAY.isoformat() == "2026-11-21"
