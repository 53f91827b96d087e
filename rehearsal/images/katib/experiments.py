"""Experiments: how many trials there are and are to be, and which one wins (pkg/controller.v1beta1/experiment)."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rehearsal.images.katib.hooks import labels_of_trial
from rehearsal.images.katib.objects import API, Object, has, marked, name_of, namespace_of, owned, tell
from rehearsal.images.katib.observed import objective_value
from rehearsal.kube.client import ApiError, Kube
from rehearsal.kubelet.nodeobject import now

FINALIZER = "update-prometheus-metrics"
_OF_THE_TRIAL = re.compile(r"^\$\{trialSpec\.(\w+)\}$")
_LISTS = {
    "killed": ("Killed",),
    "failed": ("Failed",),
    "succeeded": ("Succeeded",),
    "earlyStopped": ("EarlyStopped",),
    "running": ("Running",),
    "metricsUnavailable": ("MetricsUnavailable",),
}
"""Lists of trials in an experiment's status, in the order in which the first that fits takes a trial."""


class Experiments:
    """The reconciler of experiments."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    def reconcile(self) -> None:
        """Looks at each experiment once."""
        for experiment in self._kube.list(API, "Experiment"):
            finalizers = experiment["metadata"].get("finalizers") or []
            if experiment["metadata"].get("deletionTimestamp"):
                if FINALIZER in finalizers:
                    self._finalizers(experiment, [each for each in finalizers if each != FINALIZER])
            elif FINALIZER not in finalizers:
                self._finalizers(experiment, [*finalizers, FINALIZER])
            else:
                self._look_at(experiment)

    def _finalizers(self, experiment: Object, kept: Sequence[str]) -> None:
        body = {"metadata": {"finalizers": list(kept)}}
        self._kube.patch(API, "Experiment", name_of(experiment), namespace_of(experiment), body)

    def _look_at(self, experiment: Object) -> None:
        status = experiment.get("status") or {}
        if not has(experiment, "Created"):
            made = {"startTime": now(), **status}
            tell(self._kube, experiment, marked(made, "Created", "ExperimentCreated", "Experiment is created"))
            return
        if has(experiment, "Succeeded", "Failed"):
            if experiment["spec"]["resumePolicy"] == "Never":
                self._end_suggestion(experiment)
            if not status.get("runningTrialList"):
                return
        trials = self._trials(experiment)
        if trials:
            status = tallied(experiment, trials)
        if not has({"status": status}, "Succeeded", "Failed"):
            status = self._more(experiment, trials, status)
        if status != experiment.get("status"):
            tell(self._kube, experiment, status)

    def _trials(self, experiment: Object) -> list[Object]:
        selector = ",".join(f"{key}={value}" for key, value in labels_of_trial(experiment).items())
        return self._kube.list(API, "Trial", namespace_of(experiment), selector)

    def _more(self, experiment: Object, trials: Sequence[Object], status: Object) -> Object:
        """Asks for as many trials as are missing, and makes those that were chosen (ReconcileTrials)."""
        missing = to_add(experiment["spec"], status)
        if missing <= 0:
            return status
        stopped = [each for each in trials if has(each, "EarlyStopped")]
        unread = sum("observation" not in each["status"] for each in stopped)
        suggestion = self._suggestion(experiment, len(trials) + missing - unread)
        if has(suggestion, "Failed"):
            return marked(status, "Failed", "ExperimentFailed", "Suggestion has failed")
        there = {name_of(each) for each in trials}
        chosen = (suggestion.get("status") or {}).get("suggestions") or []
        for assignment in [each for each in chosen if each["name"] not in there][:missing]:
            try:
                self._kube.create(trial_of(experiment, assignment), "katib-controller")
            except ApiError as error:
                if error.code != 409:
                    raise
        return status

    def _suggestion(self, experiment: Object, requests: int) -> Object:
        """The experiment's suggestion, asked for at least so many (GetOrCreateSuggestion)."""
        name, namespace = name_of(experiment), namespace_of(experiment)
        found = self._kube.get(API, "Suggestion", name, namespace)
        if found is None:
            kept = ("algorithm", "earlyStopping", "resumePolicy")
            spec = {"requests": requests, **{key: experiment["spec"][key] for key in kept if key in experiment["spec"]}}
            meta = {"name": name, "namespace": namespace, "labels": labels_of_trial(experiment)}
            made = owned({"apiVersion": API, "kind": "Suggestion", "metadata": meta, "spec": spec}, experiment)
            return self._kube.create(made, "katib-controller")
        if found["spec"]["requests"] < requests:
            return self._kube.patch(API, "Suggestion", name, namespace, {"spec": {"requests": requests}})
        return found

    def _end_suggestion(self, experiment: Object) -> None:
        """Its service goes (cleanupSuggestionResources)."""
        found = self._kube.get(API, "Suggestion", name_of(experiment), namespace_of(experiment))
        if found is not None and not has(found, "Succeeded"):
            ended = marked(found.get("status") or {}, "Succeeded", "ExperimentSucceeded", "Suggestion is succeeded")
            where = (API, "Suggestion", name_of(found), namespace_of(found))
            self._kube.patch(*where, {"status": {"conditions": ended["conditions"]}}, "status")


def to_add(spec: Mapping[str, Any], status: Mapping[str, Any]) -> int:
    """How many trials are to be made now (ReconcileTrials). Pure."""
    count = {key: int(status.get(f"trials{key}", 0)) for key in ("Pending", "Running")}
    active = sum(count.values())
    completed = sum(int(status.get(f"trials{key}", 0)) for key in ("Succeeded", "Failed", "Killed", "EarlyStopped"))
    parallel, most = spec["parallelTrialCount"], spec.get("maxTrialCount")
    required = parallel if most is None else min(most - completed, parallel)
    return max(0, required - active) if active < parallel else 0


def tallied(experiment: Object, trials: Sequence[Object]) -> Object:
    """The experiment's status by its trials (util/status_util.go, UpdateExperimentStatus). Pure."""
    spec, status = experiment["spec"], dict(experiment.get("status") or {})
    lists: dict[str, list[str]] = {key: [] for key in (*_LISTS, "pending")}
    for trial in trials:
        lists[next((key for key, kinds in _LISTS.items() if has(trial, *kinds)), "pending")].append(name_of(trial))
    for key, names in lists.items():
        status.pop(f"{key}TrialList", None)
        status |= {f"{key}TrialList": names} if names else {}
        count = "trialMetricsUnavailable" if key == "metricsUnavailable" else f"trials{key[0].upper()}{key[1:]}"
        status[count] = len(names)
    status["trials"] = len(trials)
    known = [(value, index) for index, trial in enumerate(trials) if (value := objective_value(trial)) is not None]
    if known:
        lowest = spec["objective"]["type"] == "minimize"
        best = min(known) if lowest else max(known, key=lambda each: (each[0], -each[1]))
        winner = trials[best[1]]
        status["currentOptimalTrial"] = {
            "bestTrialName": name_of(winner),
            "parameterAssignments": winner["spec"]["parameterAssignments"],
            "observation": winner["status"]["observation"],
        }
        goal = spec["objective"].get("goal")
        if goal is not None and (best[0] <= goal if lowest else best[0] >= goal):
            said = "Experiment has succeeded because Objective goal has reached"
            return marked({**status, "completionTime": now()}, "Succeeded", "ExperimentGoalReached", said)
    return _ended(spec, status, lists)


def _ended(spec: Mapping[str, Any], status: Object, lists: Mapping[str, Sequence[str]]) -> Object:
    """First whether too many have failed, then whether all have been made (UpdateExperimentStatusCondition)."""
    failed = len(lists["failed"]) + len(lists["metricsUnavailable"])
    completed = failed + sum(len(lists[key]) for key in ("succeeded", "killed", "earlyStopped"))
    most_failed, most = spec.get("maxFailedTrialCount"), spec.get("maxTrialCount")
    done = {**status, "completionTime": now()}
    if most_failed is not None and failed and failed >= most_failed:
        said = "Experiment has failed because max failed count has reached"
        return marked(done, "Failed", "ExperimentFailed", said)
    if most is not None and completed >= most:
        said = "Experiment has succeeded because max trial count has reached"
        return marked(done, "Succeeded", "ExperimentMaxTrialsReached", said)
    if has({"status": status}, "Running"):
        return status
    return marked(status, "Running", "ExperimentRunning", "Experiment is running")


def trial_of(experiment: Object, assignment: Mapping[str, Any]) -> Object:
    """A trial with its job: the template's text with each placeholder's value (manifest/generator.go). Pure."""
    spec, name, namespace = experiment["spec"], assignment["name"], namespace_of(experiment)
    template = spec["trialTemplate"]
    values = {each["name"]: each["value"] for each in assignment["parameterAssignments"]}
    text = json.dumps(template["trialSpec"])
    own = {"Name": name, "Namespace": namespace, "Kind": template["trialSpec"]["kind"]}
    for parameter in template.get("trialParameters") or ():
        about = _OF_THE_TRIAL.match(parameter["reference"])
        value = own[about[1]] if about else values[parameter["reference"]]
        text = text.replace(f"${{trialParameters.{parameter['name']}}}", value)
    job = json.loads(text)
    job["metadata"] = {**(job.get("metadata") or {}), "name": name, "namespace": namespace}
    made: Object = {
        "objective": spec["objective"],
        "parameterAssignments": assignment["parameterAssignments"],
        "runSpec": job,
        "metricsCollector": spec["metricsCollectorSpec"],
        "retainRun": bool(template.get("retain")),
        "primaryContainerName": template["primaryContainerName"],
        "primaryPodLabels": template.get("primaryPodLabels") or {},
        "successCondition": template["successCondition"],
        "failureCondition": template["failureCondition"],
    }
    if spec.get("earlyStopping") and assignment.get("earlyStoppingRules"):
        made["earlyStoppingRules"] = assignment["earlyStoppingRules"]
    meta = {"name": name, "namespace": namespace, "labels": labels_of_trial(experiment)}
    return owned({"apiVersion": API, "kind": "Trial", "metadata": meta, "spec": made}, experiment)
