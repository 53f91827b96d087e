"""Rules about capacity blocks, spot capacity and quotas: each spoken and each silent."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.types import AwsPlan
from settings.errors import SettingsError
from tests.planner.stacks import planned, rules

DURING = date(2026, 12, 3)
CHECKPOINT = {"everyMinutes": 15, "withinSeconds": 60}


def block(**changes: Any) -> dict[str, Any]:
    return {
        "id": "cr-0123456789abcdef0",
        "zone": "use2-az1",
        "start": "2026-12-01",
        "end": "2026-12-08",
        **changes,
    }


def booked(
    count: int = 2, type_: str = "p5.48xlarge", today: date = DURING, *, exclusive: bool = False, **changes: Any
) -> AwsPlan:
    """The dev stack with its training pool in a block, whose pods may have their CPUs to themselves."""
    pool = {
        "name": "training",
        "role": "training",
        "instanceType": type_,
        "count": count,
        "capacity": "capacity-block",
        "exclusiveCpus": exclusive,
        "reservation": block(**changes),
    }
    return planned(
        changes={
            "pools.1": pool,
            "training.runs.0.model": "llama-3-8b",
            "training.runs.0.checkpoint": CHECKPOINT,
            "budget.maxHourlyUsd": 9e5,
        },
        today=today,
    )


def about_blocks(plan: AwsPlan) -> list[str]:
    """The rules of this subject that speak."""
    return [rule for rule in rules(plan) if rule.startswith(("block", "spot", "quota", "ultraserver", "accelerator"))]


def said(plan: AwsPlan, rule: str) -> list[str]:
    """What one rule has to say."""
    return [str(finding) for finding in plan.findings if finding.rule == rule]


def test_a_block_that_is_right_is_silent() -> None:
    """PF10, E21: in its zone, of a length that is sold, running, with checkpoints."""
    assert about_blocks(booked()) == []


def test_block_of_another_zone_is_refused() -> None:
    """E21, PF10: reservation, GPU subnet and file system share one zone."""
    with pytest.raises(SettingsError, match=r"the block is in use2-az2 and platform.gpuZone is use2-az1"):
        booked(zone="use2-az2")


@pytest.mark.parametrize(("count", "found"), [(64, []), (65, ["block-size"])])
def test_block_size(count: int, found: list[str]) -> None:
    """PF10: 64 instances are a block, 65 are none."""
    assert about_blocks(booked(count)) == found


def test_blocks_have_256_instances_together() -> None:
    """PF10: four full blocks are all that an organization gets; a fifth is refused in each of them."""
    pool = {
        "role": "training",
        "instanceType": "p5en.48xlarge",
        "count": 64,
        "capacity": "capacity-block",
        "reservation": block(),
    }
    base: dict[str, Any] = {"budget.maxHourlyUsd": 9e5, "training.runs": [], "serving.services": []}
    for blocks, found in ((4, 0), (5, 5)):
        pools = [{"name": "system", "role": "system", "instanceType": "m7i.xlarge", "count": 2}]
        pools += [{"name": f"block-{index}", **pool} for index in range(blocks)]
        plan = planned(changes={**base, "pools": pools}, today=DURING)
        assert rules(plan).count("block-size") == found


@pytest.mark.parametrize(("end", "found"), [("2026-12-15", []), ("2026-12-16", ["block-length"]), ("2026-12-22", [])])
def test_block_length(end: str, found: list[str]) -> None:
    """PF10: 14 days and 21 days are sold, 15 are not; the remedy names a day."""
    plan = booked(end=end)
    assert about_blocks(plan) == found
    for sentence in said(plan, "block-length"):
        assert sentence.startswith("gpucluster:pools[1].reservation.end: no block lasts 15 days")
        assert "14 days would end on 2026-12-15" in sentence


def test_block_too_early() -> None:
    """PF10: a start more than eight weeks ahead cannot have been bought."""
    assert about_blocks(booked(today=date(2026, 10, 6))) == ["block-not-started"]
    assert about_blocks(booked(today=date(2026, 10, 5))) == ["block-too-early", "block-not-started"]


def test_block_not_started_asks_for_no_nodes() -> None:
    """PF10: the plan asks for none before the start, says what to run then, and asks for all on the first day."""
    before = booked(today=date(2026, 11, 30))
    (sentence,) = said(before, "block-not-started")
    assert "--nodegroup-name training --scaling-config desiredSize=2" in sentence
    pool = before.pools["training"].block
    assert pool
    assert (pool.nodes, pool.reservation) == (0, "cr-0123456789abcdef0")
    running = booked(today=date(2026, 12, 1)).pools["training"].block
    assert running
    assert running.nodes == 2


def test_block_ended() -> None:
    """PF10: nothing is planned on a block that is over, and the end itself is the last day."""
    assert about_blocks(booked(today=date(2026, 12, 7))) == []
    over = booked(today=date(2026, 12, 8))
    assert about_blocks(over) == ["block-ended"]
    (sentence,) = said(over, "block-ended")
    assert sentence.startswith("gpucluster:pools[1].reservation.end: the block ended on 2026-12-08")
    assert "; buy another block and name it here, change capacity, or remove the pool and its runs" in sentence


def test_run_in_a_block_saves_before_its_end() -> None:
    """PF10: a block ends hard; 7 days less 45 minutes are 10,035 minutes, so a daily checkpoint is early enough."""
    changes: dict[str, Any] = {"pools.1.capacity": "capacity-block", "pools.1.reservation": block(end="2026-12-02")}
    changes |= {"training.runs.0.model": "llama-3-8b", "budget.maxHourlyUsd": 9e5}
    without = planned(changes={**changes, "catalogue": _priced_p5_4xlarge()}, today=date(2026, 12, 1))
    assert "block-without-checkpoint" in rules(without)
    (sentence,) = said(without, "block-without-checkpoint")
    assert "go at 2026-12-02 10:50 UTC" in sentence
    assert "by 2026-12-02 10:45 UTC" in sentence
    for every, spoken in ((1395, False), (1396, True)):
        checkpoint = {"everyMinutes": every, "withinSeconds": 60}
        plan = planned(
            changes={**changes, "catalogue": _priced_p5_4xlarge(), "training.runs.0.checkpoint": checkpoint},
            today=date(2026, 12, 1),
        )
        assert ("block-without-checkpoint" in rules(plan)) is spoken


def _priced_p5_4xlarge() -> dict[str, Any]:
    price = {"usdPerHour": 5, "low": 5, "high": 5, "asOf": "2026-11-01", "source": "a quotation"}
    return {"instances": [{"name": "p5.4xlarge", "like": "p5.4xlarge", "capacityBlock": price}]}


def test_spot_runs_are_told_about_checkpoints_and_rarity() -> None:
    """Z01, PW18, PF10: spot nodes go with two minutes' notice; those with 16 and more EFA interfaces rarely come."""
    spot = {"pools.1.capacity": "spot", "pools.1.instanceType": "p4d.24xlarge", "budget.maxHourlyUsd": 900}
    assert about_blocks(planned(changes=spot)) == ["spot-without-checkpoint"]
    saved = {**spot, "training.runs.0.model": "llama-3-8b", "training.runs.0.checkpoint": CHECKPOINT}
    assert about_blocks(planned(changes=saved)) == []
    rare = planned(changes={**saved, "pools.1.instanceType": "p5en.48xlarge"})
    assert about_blocks(rare) == ["spot-is-rare"]
    assert all("for 58% off" in sentence for sentence in said(rare, "spot-is-rare"))


def test_neuron_devices_are_refused_as_what_they_are() -> None:
    """PW16, Z04: inf2 is known, and refused with its own sentence wherever it stands."""
    for pool in (0, 1, 2):
        found = planned(changes={f"pools.{pool}.instanceType": "inf2.xlarge"})
        assert "accelerator-not-gpu" in rules(found)
        assert "pool-without-gpu" not in rules(found)
    assert "accelerator-not-gpu" not in rules(planned())


def test_ultraserver_is_said_to_need_more() -> None:
    """NW11: P6e-GB200 is sold in blocks only, and NVLink between its nodes needs what is not installed here."""
    assert about_blocks(booked(type_="p6e-gb200.36xlarge")) == ["ultraserver-apart"]
    on_demand = planned(changes={"pools.1.instanceType": "p6e-gb200.36xlarge", "budget.maxHourlyUsd": 900})
    assert "capacity-not-offered" in rules(on_demand)


@pytest.mark.parametrize(("nodes", "found"), [(149, []), (152, ["quota-above-default"])])
def test_quota_above_default(nodes: int, found: list[str]) -> None:
    """Z04, A07: 152 p5 nodes with 33 interfaces each are more than the 5,000 of a region; 149 are not."""
    changes: dict[str, Any] = {
        "pools.1.instanceType": "p5.48xlarge",
        "pools.1.count": nodes,
        "budget.maxHourlyUsd": 9e5,
        "lifecycle.protect": False,
    }
    plan = planned(changes=changes)
    assert about_blocks(plan) == found
    assert all("L-DF5E4CA3" in sentence for sentence in said(plan, "quota-above-default"))


@given(budget=st.floats(16.58, 1e5), more=st.floats(0, 1e5), count=st.integers(2, 6))
def test_a_higher_limit_never_breaks_a_plan(budget: float, more: float, count: int) -> None:
    """Z15, A07: what passes with a budget passes with a larger one, and with more nodes if the budget has room."""
    changes = {"budget.maxHourlyUsd": budget, "pools.1.count": count}
    found = rules(planned(changes=changes))
    higher = rules(planned(changes={**changes, "budget.maxHourlyUsd": budget + more}))
    assert set(higher) <= set(found)
