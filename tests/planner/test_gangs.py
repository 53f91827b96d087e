"""Two gangs of one pool: both fit, one gives way, or the stack is refused unless the second is to wait (A08, M04)."""

from typing import Any

import pytest

from planner.types import AwsPlan
from tests.planner.stacks import planned, rules, sections

QUEUES = [{"name": "training"}, {"name": "other"}]
WAIVER = {"rule": "gangs-exclude-each-other", "subject": "second", "reason": "it is next", "until": "2099-12-31"}


def both(second: dict[str, Any], first: dict[str, Any] | None = None, **changes: Any) -> AwsPlan:
    """The dev stack, whose pool has two nodes, with a second run of the whole pool."""
    (run,) = sections()["training"]["runs"]
    one = {**run, "priority": "training", **(first or {})}
    return planned(changes={"training.runs": [one, {**one, "name": "second", **second}], **changes})


def refused(plan: AwsPlan) -> bool:
    return "gangs-exclude-each-other" in rules(plan)


def test_the_second_of_two_equal_gangs_is_refused_unless_it_is_to_wait() -> None:
    plan = both({})
    (finding,) = plan.errors
    assert (finding.path, finding.subject) == ("gpucluster:training.runs[1].nodes", "second")
    assert finding.sentence == (
        "the gang takes 2 nodes and that of llama-3-8b-sft 2, pool training has 2, and neither gives way, so that one "
        "waits for the end of the other"
    )
    assert finding.remedy == (
        "set priority: experiments in one of them, set the pool's count to 4, or waive gangs-exclude-each-other for a "
        "run that is to wait"
    )
    assert rules(both({}, waivers=[WAIVER])) == []


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ({"priority": "experiments"}, ["gangs-wait-in-line"]),
        ({"nodes": 1}, None),
        ({"elastic": {"minNodes": 1}}, None),
    ],
)
def test_one_that_gives_way_is_told_of(second: dict[str, Any], says: list[str] | None) -> None:
    """M04: training takes nodes of experiments; a smaller gang still has no room beside one of the whole pool."""
    plan = both(second)
    assert refused(plan) is (says is None)
    if says is not None:
        assert rules(plan) == says


def test_what_both_begin_with_counts() -> None:
    """Elastic gangs begin with minNodes, and the pool has room for both."""
    saves = {"checkpoint": {"everyMinutes": 15, "withinSeconds": 60}, "elastic": {"minNodes": 1}}
    assert not refused(both({}, saves))


def test_experiments_do_not_take_of_experiments() -> None:
    (finding,) = both({}, {"priority": "experiments"}).errors
    assert finding.remedy.startswith("set priority: training in one of them")


@pytest.mark.parametrize(("reclaimable", "is_refused"), [(True, False), (False, True)])
def test_between_queues_what_is_reclaimable_gives_way(reclaimable: bool, is_refused: bool) -> None:
    queues = [{**each, "reclaimable": reclaimable} for each in QUEUES]
    plan = both({"queue": "other"}, None, **{"scheduling.queues": queues})
    assert refused(plan) is is_refused
    if is_refused:
        (finding,) = plan.errors
        assert finding.remedy.startswith("set reclaimable: true for queue other")


def test_a_gang_below_one_switch_takes_nothing() -> None:
    """Volcano 1.14 preempts for no gang with a networkTopology."""
    plan = both({"within": "leaf"}, {"priority": "experiments"})
    assert refused(plan)
    plan = both({"within": "leaf", "priority": "training"}, {"priority": "experiments"})
    (finding,) = (each for each in plan.errors if each.rule == "gangs-exclude-each-other")
    assert finding.remedy.startswith("remove within")


def test_what_a_pipeline_starts_waits_for_it() -> None:
    assert not refused(both({}, None, **{"training.pipelines": {"runs": ["second"]}}))


def test_a_run_that_never_fits_is_another_matter() -> None:
    plan = both({"nodes": 3})
    assert [each.rule for each in plan.errors] == ["gang-fits-pool"]
    assert "gangs-wait-in-line" not in rules(plan)
