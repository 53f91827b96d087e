"""Evaluations and exports of runs: what they get, and what is refused (prod: the run holds all 8 nodes)."""

from typing import Any

import pytest

from planner.findings import Finding
from planner.types import AwsPlan
from settings.errors import SettingsError
from tests.planner.stacks import experiment, planned

FOLLOW_UP = {"name": "evaluate", "pool": "training", "queue": "experiments", "script": ["/e.py"], "gpus": 2}


def plan(run: dict[str, Any] | None = None, **changes: Any) -> AwsPlan:
    said = {key: value for key, value in {**FOLLOW_UP, **changes}.items() if value is not None}
    above = {f"training.runs.0.{key}": value for key, value in (run or {}).items()}
    return planned("prod", {**above, "training.runs.0.followUps": [said]})


def found(rule: str, **said: Any) -> list[Finding]:
    return [each for each in plan(**said).findings if each.rule == rule]


def test_a_follow_up_gets_its_share_of_a_node_and_no_fabric() -> None:
    """2 of 8 GPUs, so a quarter of what the run's pod has of a whole node."""
    (run,) = plan().runs.values()
    (each,) = run.follow_ups
    assert (each.pod.gpus, each.pod.efa, each.image) == (2, 0, run.image)
    assert 0.2 < each.pod.memory_mib / run.pod.memory_mib <= 0.25
    assert each.pod.shm_mib <= each.pod.memory_mib // 2
    assert (each.after_end, each.deadline_s, each.keep_s) == (True, 4 * 3600, 48 * 3600)


def test_a_follow_up_without_checkpoints_is_refused() -> None:
    (finding,) = found("follow-up-cannot", run={"checkpoint": None})
    assert finding.path == "gpucluster:training.runs[0].followUps[0].name"
    assert "add checkpoint with everyMinutes" in finding.remedy
    assert not found("follow-up-cannot")


@pytest.mark.parametrize(
    ("queues", "gpus", "remedy"),
    [
        (None, 9, "set it to 8 or less"),
        (2, 4, "raise the queue's gpus to 4, or set it to 2 or less"),
    ],
)
def test_more_gpus_than_a_node_or_the_queue_has_are_refused(queues: int | None, gpus: int, remedy: str) -> None:
    changes = {} if queues is None else {"scheduling.queues.1.gpus": queues}
    found = [
        each
        for each in planned("prod", {**changes, "training.runs.0.followUps": [{**FOLLOW_UP, "gpus": gpus}]}).errors
        if each.rule == "follow-up-cannot"
    ]
    assert [(each.path[-4:], each.remedy) for each in found] == [("gpus", remedy)]


def test_one_that_waits_for_a_node_that_its_own_run_holds_is_refused() -> None:
    (finding,) = found("follow-up-waits", everyHours=6)
    assert "the run holds all 8 nodes of pool training" in finding.sentence
    assert not found("follow-up-waits")
    assert not found("follow-up-waits", everyHours=6, run={"nodes": 7})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"everyHours": 24, "keepHours": 47}, "raise it to 48 or more"),
        ({"name": "e" * 40}, "room for 43; shorten one"),
        ({"pool": "inference"}, "has role inference, not training"),
        ({"queue": "night"}, "there is no queue 'night'"),
        ({"script": []}, "script"),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_written(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError) as refused:
        plan(**changes)
    assert "training.runs[0].followUps[0]" in str(refused.value)
    assert sentence in str(refused.value).replace('"', "'")


def test_trials_of_an_experiment_are_not_followed_up() -> None:
    queues = [{"name": "training"}, {"name": "research"}, {"name": "experiments"}]
    changes = {
        "scheduling.queues": queues,
        "training.experiments": [experiment("llama-3-8b-sft")],
        "training.runs.0.followUps": [{**FOLLOW_UP, "gpus": 1}],
    }
    stack = planned("dev", changes)
    assert [each.name for each in stack.runs["llama-3-8b-sft"].follow_ups] == ["evaluate"]
    assert stack.experiments["rates"].trial.follow_ups == ()
