"""Katib's reconcilers together: from an Experiment to trials, what they came to, and the end (R02, R05)."""

import json
from typing import Any

import pytest

from rehearsal.images.katib import algorithms, suggestions, trials
from rehearsal.images.katib.asking import RefusedError
from rehearsal.images.katib.experiments import Experiments, tallied, to_add
from rehearsal.images.katib.hooks import with_defaults
from rehearsal.images.katib.objects import Object, Reconciler, has, marked, name_of, reason
from rehearsal.tests.katib.kube import EXPERIMENT, Memory

CONFIG: dict[str, Any] = {
    "runtime": {
        "suggestions": [{"algorithmName": "random", "image": "hyperopt:1"}],
        "earlyStoppings": [{"algorithmName": "medianstop", "image": "median:1"}],
    }
}
TEMPLATE = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "spec": {"args": ["--rate=${trialParameters.rate}", "${trialParameters.trial}"]},
}


def experiment(**changes: Any) -> Object:
    spec = {
        "objective": {"type": "minimize", "objectiveMetricName": "loss"},
        "algorithm": {"algorithmName": "random"},
        "parameters": [{"name": "rate", "parameterType": "double", "feasibleSpace": {"min": "0", "max": "1"}}],
        "parallelTrialCount": 2,
        "maxTrialCount": 4,
        "maxFailedTrialCount": 2,
        "trialTemplate": {
            "primaryContainerName": "pytorch",
            "trialParameters": [
                {"name": "rate", "reference": "rate"},
                {"name": "trial", "reference": "${trialSpec.Name}"},
            ],
            "trialSpec": TEMPLATE,
        },
        **changes,
    }
    meta = {"name": "rates", "namespace": "training"}
    return with_defaults({"apiVersion": EXPERIMENT[0], "kind": EXPERIMENT[1], "metadata": meta, "spec": spec})


class Cluster:
    """The reconcilers on an API server in memory; a trial's loss is its rate, and one above `fails` has none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: float = 2.0, silent: float = 2.0) -> None:
        self.kube = Memory(self._started)
        self.jobs: list[str] = []
        self.log: dict[str, list[list[str]]] = {}
        self._fails, self._silent = fails, silent
        self.most_at_once = 0
        monkeypatch.setattr(suggestions, "call", self._call)
        monkeypatch.setattr(trials, "call", self._call)
        kube: Any = self.kube
        self._parts: tuple[Reconciler, ...] = (
            Experiments(kube),
            suggestions.Suggestions(kube, "", "db", lambda: CONFIG),
            trials.Trials(kube, "", "db"),
        )

    def _started(self, job: Object) -> None:
        self.jobs.append(name_of(job))

    def _call(self, _: str, address: str, method: str, message: dict[str, Any]) -> dict[str, Any]:
        if method == "GetSuggestions":
            return {"assignments": algorithms.suggestions(message)}
        if method == "GetObservationLog":
            return {"log": self.log.get(message["trial"], [])}
        if method == "ValidateAlgorithmSettings" and address.endswith(":6789"):
            name = message["spec"]["algorithm"]["algorithmName"]
            if said := algorithms.wrong_with(name, {}, message["spec"]):
                raise RefusedError(said, unavailable=False)
        return {}

    def _end_jobs(self) -> None:
        running = self.kube.list("kubeflow.org/v1", "PyTorchJob")
        self.most_at_once = max(self.most_at_once, len(running))
        for job in running:
            rate = float(job["spec"]["args"][0].partition("=")[2])
            ended = "Failed" if rate > self._fails else "Succeeded"
            if ended == "Succeeded":
                value = "unavailable" if rate > self._silent else str(rate)
                self.log[name_of(job)] = (
                    [["loss", "9"], ["loss", value]] if value != "unavailable" else [["loss", value]]
                )
            status = marked({}, ended, "", "all pods are done")
            where = ("kubeflow.org/v1", "PyTorchJob", name_of(job), "training")
            self.kube.patch(*where, {"status": status}, "status")

    def run(self, made: Object, rounds: int = 80) -> Object:
        """The experiment when nothing changes any more."""
        self.kube.create(made)
        for number in range(rounds):
            for part in self._parts:
                part.reconcile()
            if number % 4 == 3:
                self._end_jobs()
        found = self.kube.get(*EXPERIMENT, "rates", "training")
        assert found
        return found


def test_four_trials_two_at_a_time_and_the_least_loss_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch)
    found = cluster.run(experiment())
    assert reason(found, "Succeeded") == "ExperimentMaxTrialsReached"
    assert len(cluster.jobs) == 4
    assert cluster.most_at_once == 2
    winner = found["status"]["currentOptimalTrial"]
    assert winner["parameterAssignments"] == [{"name": "rate", "value": "0.125"}]
    assert winner["observation"]["metrics"] == [{"name": "loss", "min": "0.125", "max": "9", "latest": "0.125"}]
    assert found["status"]["trialsSucceeded"] == 4
    assert cluster.kube.list("kubeflow.org/v1", "PyTorchJob") == []
    assert cluster.kube.list("apps/v1", "Deployment") == []


def test_a_trials_job_has_its_name_and_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch)
    cluster.run(experiment())
    for trial in cluster.kube.list(EXPERIMENT[0], "Trial"):
        job = trial["spec"]["runSpec"]
        assert job["metadata"] == {"name": name_of(trial), "namespace": "training"}
        (value,) = trial["spec"]["parameterAssignments"]
        assert job["spec"]["args"] == [f"--rate={value['value']}", name_of(trial)]
        assert "${" not in json.dumps(job)


def test_too_many_failed_trials_end_the_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    """DC12."""
    found = Cluster(monkeypatch, fails=0.0).run(experiment())
    assert reason(found, "Failed") == "ExperimentFailed"
    assert found["status"]["trialsFailed"] == 2
    assert "currentOptimalTrial" not in found["status"]


def test_trials_without_a_value_count_as_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """MetricsUnavailable: the script printed nothing that the collector's format finds."""
    found = Cluster(monkeypatch, silent=0.0).run(experiment())
    assert reason(found, "Failed") == "ExperimentFailed"
    assert found["status"]["trialMetricsUnavailable"] == 2


def test_a_goal_that_is_reached_ends_the_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = {"type": "minimize", "objectiveMetricName": "loss", "goal": 0.3}
    found = Cluster(monkeypatch).run(experiment(objective=objective))
    assert reason(found, "Succeeded") == "ExperimentGoalReached"
    assert found["status"]["trials"] == 2


def test_an_algorithm_that_cannot_take_the_parameters_fails_the_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    config = {**CONFIG["runtime"], "suggestions": [{"algorithmName": "cmaes", "image": "goptuna:1"}]}
    monkeypatch.setitem(CONFIG, "runtime", config)
    cluster = Cluster(monkeypatch)
    found = cluster.run(experiment(algorithm={"algorithmName": "cmaes"}))
    assert has(found, "Failed")
    assert cluster.jobs == []
    (said,) = [each["message"] for each in found["status"]["conditions"] if each["type"] == "Failed"]
    assert said == "Suggestion has failed"


@pytest.mark.parametrize(
    ("status", "added"),
    [
        ({}, 2),
        ({"trialsRunning": 1}, 1),
        ({"trialsPending": 1, "trialsRunning": 1}, 0),
        ({"trialsSucceeded": 3}, 1),
        ({"trialsSucceeded": 3, "trialsRunning": 1}, 0),
        ({"trialsSucceeded": 2, "trialsEarlyStopped": 2}, 0),
    ],
)
def test_as_many_trials_as_are_missing_are_added(status: dict[str, int], added: int) -> None:
    assert to_add({"parallelTrialCount": 2, "maxTrialCount": 4}, status) == added


def test_the_highest_wins_where_it_is_asked_for() -> None:
    made = experiment(objective={"type": "maximize", "objectiveMetricName": "accuracy"})
    found = []
    for name, value in (("a", "0.5"), ("b", "0.75"), ("c", "0.7")):
        metric = {"name": "accuracy", "min": "0", "max": value, "latest": "0.1"}
        status = marked({"observation": {"metrics": [metric]}}, "Succeeded", "", "")
        spec = {"objective": made["spec"]["objective"], "parameterAssignments": []}
        found.append({"metadata": {"name": name}, "spec": spec, "status": status})
    assert tallied(made, found)["currentOptimalTrial"]["bestTrialName"] == "b"
