"""Experiments of a rehearsed stack, one a team's: trials are gangs under the real operator and Volcano, the best one
wins, bad ones are ended early, and too many that fail end the experiment (R02, R05).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .databases import TRIALS, asked, copied, lose, restore, scaled
from .rehearsed import Rehearsed, rehearsed, until
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

API = "kubeflow.org/v1beta1"
BEST, BAD = 3e-4, 1e-2
RATE = {"name": "learning-rate", "numbers": [4e-4, BAD, BEST, 2e-4]}
"""In the order in which Sobol's sequence takes them, the bad one comes after two others."""
RATES: dict[str, Any] = {
    "name": "rates",
    "run": "llama-3-8b-sft",
    "nodes": 1,
    "trialHours": 0.5,
    "objective": {"metric": "loss"},
    "parameters": [RATE],
    "algorithm": {"name": "sobol"},
    "earlyStopping": {"afterTrials": 2, "afterReports": 3},
    "trials": {"parallel": 1, "most": 4},
    "budgetGpuHours": 4,
}
TOO_HIGH = {
    **RATES,
    "name": "too-high",
    "team": "vision",
    "parameters": [{"name": "learning-rate", "floatRange": {"min": 1, "max": 10}}],
    "earlyStopping": None,
    "algorithm": {"name": "random"},
    "trials": {"parallel": 1, "most": 4, "failed": 2},
}


TEAM = {"name": "vision", "queue": "vision", "gpus": 1, "members": [{"role": "viewer", "group": "research"}]}
SPACES = {"rates": "training", "too-high": "trials-vision"}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """The dev stack without services, with two experiments beside its run."""
    directory = tmp_path_factory.mktemp("tuned")
    tree = Tree.copy(directory / "tree")
    stack = tree.stack("dev")
    for path, value in {
        "pools[1].count": 3,
        "scheduling.queues": [{"name": "training", "weight": 4}, {"name": "experiments"}, {"name": "vision"}],
        "teams": [TEAM],
        "training.runs[0].nodes": 1,
        "training.runs[0].restarts": 0,
        "training.experiments": [RATES, TOO_HIGH],
        "budget.maxHourlyUsd": 900,
    }.items():
        stack.set(f"gpucluster:{path}", value)
    with rehearsed("tuned", tree, directory / "state") as site:
        site.up().require()
        yield site


def experiment(site: Rehearsed, name: str) -> dict[str, Any]:
    found: dict[str, Any] = site.kube.get(API, "Experiment", name, SPACES[name]) or {}
    return found


def ended(site: Rehearsed, name: str) -> dict[str, str]:
    """The conditions of an experiment that has ended: why, by their kind."""

    def conditions() -> dict[str, str]:
        listed = (experiment(site, name).get("status") or {}).get("conditions") or []
        true = {each["type"]: str(each["reason"]) for each in listed if each["status"] == "True"}
        return true if {"Succeeded", "Failed"} & set(true) else {}

    found: dict[str, str] = until(conditions, f"the experiment {name} to end", 240)
    return found


def test_four_trials_have_a_winner_and_a_bad_one_is_ended_early_r02(tuned: Rehearsed) -> None:
    assert ended(tuned, "rates")["Succeeded"] == "ExperimentMaxTrialsReached"
    status = experiment(tuned, "rates")["status"]
    stopped = status["earlyStoppedTrialList"]
    assert (status["trialsSucceeded"] + len(stopped), status["trials"]) == (4, 4)
    winner = status["currentOptimalTrial"]
    (rate,) = winner["parameterAssignments"]
    assert rate["name"] == "learning-rate"
    assert float(rate["value"]) == BEST
    (metric,) = winner["observation"]["metrics"]
    assert metric["name"] == "loss"
    assert float(metric["min"]) < 2.6
    assert {
        float((tuned.kube.get(API, "Trial", each, "training") or {})["spec"]["parameterAssignments"][0]["value"])
        for each in stopped
    } == {BAD}


def test_the_webhooks_fill_nothing_in_r02(tuned: Rehearsed) -> None:
    """What they would fill in would stand in the cluster and in no preview."""
    resources = json.loads(tuned.state_text())["checkpoint"]["latest"]["resources"]
    made = [each["inputs"] for each in resources if each["type"].startswith("kubernetes:kubeflow.org/v1beta1:Exp")]
    assert {each["metadata"]["name"] for each in made} == {"rates", "too-high"}
    for each in made:
        assert experiment(tuned, each["metadata"]["name"])["spec"] == each["spec"]


def test_trials_that_fail_end_their_experiment_in_their_teams_namespace_r02(tuned: Rehearsed) -> None:
    """DC12: each learning rate is so high that the loss is no number. Quota, queue and rights are the team's (Y02)."""
    assert ended(tuned, "too-high")["Failed"] == "ExperimentFailed"
    status = experiment(tuned, "too-high")["status"]
    assert status["trialsFailed"] == 2
    assert "bestTrialName" not in status["currentOptimalTrial"]
    trials = tuned.kube.list(API, "Trial", SPACES["too-high"])
    assert {each["spec"]["runSpec"]["spec"]["runPolicy"]["schedulingPolicy"]["queue"] for each in trials} == {"vision"}
    assert not [each for each in tuned.kube.list(API, "Trial", "training") if "too-high" in each["metadata"]["name"]]


def test_a_trial_was_a_gang_of_the_experiments_queue_and_its_job_goes_unless_trials_are_stopped_r02(
    tuned: Rehearsed,
) -> None:
    for name in ("rates", "too-high"):
        ended(tuned, name)
    trials = [
        each for each in tuned.kube.list(API, "Trial", "training") if each["metadata"]["name"].startswith("rates")
    ]
    specs = [each["spec"]["runSpec"]["spec"] for each in trials]
    assert {each["runPolicy"]["schedulingPolicy"]["queue"] for each in specs} == {"experiments"}
    assert {each["runPolicy"]["schedulingPolicy"]["priorityClass"] for each in specs} == {"experiments"}
    words = [each["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["args"][-1] for each in specs]
    assert len(set(words)) > 2
    assert all(word.startswith("--learning-rate=") for word in words)

    def jobs() -> set[str]:
        return {each["metadata"]["name"] for each in tuned.kube.list("kubeflow.org/v1", "PyTorchJob", "training")}

    stay = {"llama-3-8b-sft", *(each["metadata"]["name"] for each in trials)}
    until(lambda: jobs() == stay, "the jobs of trials to go where none is stopped early")


def test_lost_metrics_are_back_from_the_copy_that_their_schedule_made_r02(tuned: Rehearsed, tmp_path: Path) -> None:
    for name in ("rates", "too-high"):
        ended(tuned, name)

    def values() -> str:
        query = "select trial_name, time, value from observation_logs order by 1, 2, 3"
        return asked(tuned, TRIALS, f"psql --no-psqlrc --username=katib --dbname=katib --command='{query}'", tmp_path)

    known = values()
    assert "rates" in known
    (tmp_path / "katib.dump").write_bytes(copied(tuned, TRIALS))
    scaled(tuned, "kubeflow", "Deployment", "katib-db-manager", 0)
    lose(tuned, TRIALS)
    restore(tuned, TRIALS, tmp_path)
    scaled(tuned, "kubeflow", "Deployment", "katib-db-manager", 1)
    assert values() == known


def test_the_algorithms_go_with_their_experiments_and_up_changes_nothing(tuned: Rehearsed) -> None:
    for name in ("rates", "too-high"):
        ended(tuned, name)
    own = {"run-watch"}

    def searching() -> set[str]:
        made = [each for space in SPACES.values() for each in tuned.kube.list("apps/v1", "Deployment", space)]
        return {each["metadata"]["name"] for each in made} - own

    until(lambda: not searching(), "the algorithms' services to go")
    tuned.assert_quiet()


def test_destroying_the_stack_waits_for_no_finalizer_of_katib(tuned: Rehearsed) -> None:
    """Trials have a finalizer that Katib takes away: it goes after them."""
    tuned.destroy().require()
    assert tuned.clusters() == []
    assert json.loads(tuned.state_text()).get("checkpoint", {}).get("latest", {}).get("resources") in (None, [])
