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
    found = planned(changes={"lifecycle.expiry": "2026-11-30"})
    assert rules(found) == ["expiry-without-keeper"]
    assert [str(each) for each in found.findings] == [
        "gpucluster:lifecycle.expiry: nothing ends the stack after 2026-11-30: it goes on costing "
        f"{found.prices.hourly:.2f} USD an hour until somebody destroys it; add keeper: {{}} to have it end by itself"
    ]


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


PERSISTENT = {"deploymentType": "PERSISTENT_2", "capacityGib": 1200, "throughputMbpsPerTib": 125}
SNAPSHOTS = {"snapshots": "retain"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"keeper": {}},
            "keeper: the keeper has no end to bring about and no off-hours to keep; add endsAt: "
            '"2026-11-22T18:00Z", lifecycle.expiry or offHours',
        ),
        (
            {"keeper": {"endsAt": "2026-11-20T23:59Z"}},
            "keeper.endsAt: the stack ended at 2026-11-20 23:59 UTC, and the keeper would remove it while it is made; "
            'set a later moment, such as "2026-11-22T18:00Z"',
        ),
        (
            {"keeper": KEEPER, "lifecycle.expiry": "2026-11-21"},
            "keeper.endsAt: 2026-11-22 18:00 UTC is after the stack's last day, 2026-11-21; set lifecycle.expiry to "
            '"2026-11-22"',
        ),
        (
            {"keeper": KEEPER, "lifecycle.protect": True},
            "keeper: the stack is protected, and its keeper ends it; remove lifecycle.protect, or what says when it "
            "ends",
        ),
        (
            {"keeper": KEEPER, "storage.lustre": PERSISTENT},
            "storage.lustre.deploymentType: a PERSISTENT_2 file system is meant to last, and the stack ends by "
            "itself; take SCRATCH_2, keep what lasts in a stack of its own, or remove the keeper",
        ),
        (
            {"keeper": KEEPER, "storage.home": {"expectedGib": 100}},
            "storage.home: people's own files are meant to last, and the stack ends by itself; remove storage.home, "
            "keep what lasts in a stack of its own, or remove the keeper",
        ),
        (
            {"keeper": KEEPER, "storage.block": SNAPSHOTS},
            "storage.block.snapshots: retained snapshots are paid for until somebody deletes them, and the stack ends "
            "by itself; take delete, keep what lasts in a stack of its own, or remove the keeper",
        ),
    ],
    ids=["idle", "over", "outlives its tag", "protected", "file system", "home", "snapshots"],
)
def test_what_contradicts_an_end_is_told_with_what_to_type(changes: dict[str, Any], said: str) -> None:
    told = [str(each) for each in planned(changes=changes).errors if each.rule.startswith("keeper")]
    assert told == [f"gpucluster:{said}"]


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
    (finding,) = short.errors
    assert finding.path == "gpucluster:keeper.maxUsd"
    assert finding.sentence == (
        f"18 hours cost {hourly * 18:.2f} USD, and maxUsd is {hourly * 18 - 0.5:.2f}: the stack would end after "
        f"{(hourly * 18 - 0.5) / hourly:.1f} hours"
    )
    assert finding.remedy == f"raise maxUsd to {enough(hourly * 18)}, end earlier, or take fewer nodes"
    assert finding.inputs == {"hourly": f"{hourly:.2f} USD/h", "hours": "18.0"}
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
    fixed = sum(each.usd_per_hour for each in found.prices.lines if each.pool not in ("training", "inference"))
    begins = f"1 hours cost {fixed:.2f} USD without any GPU, and maxUsd is 0.01: "
    assert found.errors[0].sentence.startswith(begins)
    assert rules(kept(keeper={"maxUsd": fixed + 0.01})) == ["keeper-budget"], "an hour of everything costs more"
    assert "without any GPU" not in kept(keeper={"maxUsd": fixed + 0.01}).errors[0].sentence


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
    assert finding.path == "gpucluster:pools[1].reservation.end"
    assert finding.sentence == (
        "AWS takes the nodes of training at 2026-11-22 11:00 UTC, and the stack ends 7.0 hours later"
    )
    assert finding.remedy == 'set keeper.endsAt to "2026-11-22T11:00Z" or earlier'
    assert found.keeper
    assert found.keeper.blocks == (), "unless it is told to keep them"
    told = planned(changes={"pools": pools, "keeper": {**KEEPER, "blocks": True, "warnHours": 3}}).keeper
    assert told
    assert (told.warn_hours, told.emails, told.max_usd, told.off_hours) == (3, (), None, None)
    begins, ends = (datetime(2026, 11, day, 11, 30, tzinfo=UTC) for day in (21, 22))
    (held,) = told.blocks
    assert (held.group, held.reservation, held.nodes) == ("training", "cr-0123456789abcdef0", 2)
    assert (held.start, held.end, held.save_minutes, held.empty_minutes) == (begins, ends, 45, 40)
    assert "training" not in found.keeper.gpu_pools, "its nodes are paid for, whether they sleep or not"
    soon = planned(changes={"pools": pools, "keeper": {"endsAt": "2026-11-22T11:00Z"}})
    assert "keeper-beyond-block" not in rules(soon)


assert TODAY.isoformat() == "2026-11-21"
