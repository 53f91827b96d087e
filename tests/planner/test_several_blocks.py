"""Pools in several capacity blocks, and who keeps them: what the planner says (PF10)."""

from typing import Any

import pytest

from planner.types import AwsPlan
from tests.planner.stacks import planned, rules

DAYS = {"zone": "use2-az1", "start": "2026-11-22", "end": "2026-11-29"}


def share(last: int, count: int, **days: str) -> dict[str, Any]:
    return {"id": f"cr-0123456789abcdef{last}", "count": count, **DAYS, **days}


def booked(*shares: dict[str, Any], run: dict[str, Any] | None = None, **changes: Any) -> AwsPlan:
    """The dev stack's training pool in blocks; `run` changes the run on it."""
    given = {
        "pools.1.instanceType": "p5.48xlarge",
        "pools.1.capacity": "capacity-block",
        "pools.1.count": sum(each["count"] for each in shares),
        "pools.1.reservations": list(shares),
        "budget.maxHourlyUsd": 99_999,
        **{f"training.runs.0.{key}": value for key, value in (run or {}).items()},
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    return planned(changes=given)


def of_blocks(found: AwsPlan) -> list[str]:
    names = ("block-size", "block-group-taken", "blocks-never-together", "blocks-apart", "block-save-too-long")
    return [each.rule for each in found.findings if each.rule in (*names, "keeper-without-block")]


def test_a_pool_is_the_sum_of_its_blocks() -> None:
    found = booked(share(0, 64), share(1, 8))
    pool = found.pools["training"]
    assert [(each.group, each.count, each.nodes) for each in pool.shares] == [
        ("training-1", 64, 0),
        ("training-2", 8, 0),
    ]
    assert pool.count == 72
    assert pool.gpus == 576
    assert of_blocks(found) == []
    assert [block.hours for block in found.prices.blocks] == [168, 168]


def test_times_are_those_in_which_all_run() -> None:
    later = share(1, 8, start="2026-11-24", end="2026-12-01")
    block = booked(share(0, 8), later).pools["training"].block
    assert block
    assert (block.times.start.day, block.times.end.day) == (24, 29)


def test_blocks_that_never_run_together_are_refused() -> None:
    after = share(1, 8, start="2026-11-29", end="2026-12-06")
    assert of_blocks(booked(share(0, 8), after)) == ["blocks-never-together"]


def test_one_share_beyond_a_block_is_refused_by_its_own_path() -> None:
    found = booked(share(0, 65), share(1, 8))
    (refused,) = [each for each in found.errors if each.rule == "block-size"]
    assert refused.path == "gpucluster:pools[1].reservations[0].count"


def test_a_node_groups_name_is_not_another_pools() -> None:
    found = booked(share(0, 8), share(1, 8), pools__2__name="training-2", serving__services__0__pool="training-2")
    assert of_blocks(found) == ["block-group-taken"]


def test_a_gang_over_two_blocks_is_told_what_lies_between() -> None:
    run = {"nodes": 10}
    assert "blocks-apart" in of_blocks(booked(share(0, 8), share(1, 8), run=run))
    assert "blocks-apart" not in of_blocks(booked(share(0, 12), share(1, 4), run=run))


@pytest.mark.parametrize(
    ("seconds", "keeper", "refused"),
    [(570, None, False), (571, None, True), (870, {"blocks": True}, False), (871, {"blocks": True}, True)],
)
def test_the_last_save_ends_before_ec2_takes_the_nodes(seconds: int, keeper: Any, refused: bool) -> None:
    """Ten minutes from EKS' drain, a quarter of an hour from the keeper's signal; 30 s of it to end in."""
    run = {"checkpoint": {"everyMinutes": 60, "withinSeconds": seconds}}
    changes = {"keeper": keeper} if keeper else {}
    assert ("block-save-too-long" in of_blocks(booked(share(0, 8), run=run, **changes))) is refused


def test_a_keeper_of_blocks_without_one_is_refused() -> None:
    assert rules(planned(changes={"keeper": {"blocks": True}})) == ["keeper-without-block"]


def test_nobody_is_told_to_run_a_command_that_the_keeper_runs() -> None:
    def remedy(**changes: Any) -> str:
        (found,) = [each for each in booked(share(0, 8), **changes).findings if each.rule == "block-not-started"]
        return found.remedy

    assert "--nodegroup-name training-1 --scaling-config desiredSize=8" in remedy()
    assert "nothing to do" in remedy(keeper={"blocks": True})
