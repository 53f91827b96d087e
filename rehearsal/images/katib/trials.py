"""Trials: their jobs, how these ended, and what was observed (pkg/controller.v1beta1/trial)."""

import re
from typing import Any

from rehearsal.images.katib.asking import RefusedError, call
from rehearsal.images.katib.objects import API, Object, has, marked, name_of, namespace_of, owned, tell
from rehearsal.images.katib.observed import objective_value, observation
from rehearsal.kube.client import Kube
from rehearsal.kubelet.nodeobject import now

FINALIZER = "clean-metrics-in-db"
_CONDITION = re.compile(r'^status\.conditions\.#\(type=="(\w+)"\)#\|#\(status=="True"\)#$')


class Trials:
    """The reconciler of trials."""

    def __init__(self, kube: Kube, proxy: str, database: str) -> None:
        self._kube, self._proxy, self._database = kube, proxy, database

    def reconcile(self) -> None:
        """Looks at each trial once."""
        for trial in self._kube.list(API, "Trial"):
            if trial["metadata"].get("deletionTimestamp"):
                self._let_go(trial)
            elif FINALIZER not in (trial["metadata"].get("finalizers") or ()):
                body = {"metadata": {"finalizers": [*(trial["metadata"].get("finalizers") or ()), FINALIZER]}}
                self._kube.patch(API, "Trial", name_of(trial), namespace_of(trial), body)
            else:
                self._look_at(trial)

    def _let_go(self, trial: Object) -> None:
        """Its metrics are deleted before it goes; where the database does not answer it stays."""
        kept = trial["metadata"].get("finalizers") or []
        if FINALIZER not in kept:
            return
        try:
            call(self._proxy, self._database, "DeleteObservationLog", {"trial": name_of(trial)})
        except RefusedError:
            return
        body = {"metadata": {"finalizers": [each for each in kept if each != FINALIZER]}}
        self._kube.patch(API, "Trial", name_of(trial), namespace_of(trial), body)

    def _look_at(self, trial: Object) -> None:
        status = trial.get("status") or {}
        if not has(trial, "Created"):
            made = marked({"startTime": now(), **status}, "Created", "TrialCreated", "Trial is created")
            tell(self._kube, trial, made)
            return
        job = self._job(trial)
        ended = has(trial, "Succeeded", "Failed", "EarlyStopped", "MetricsUnavailable")
        if job is None or (ended and not has(trial, "EarlyStopped")):
            return
        condition, message = job_status(trial, job)
        if condition is None:
            return
        if condition == "Succeeded" or has(trial, "EarlyStopped"):
            seen = self._observed(trial)
            if seen is None:
                return
            status = {**status, "observation": seen}
        told = judged({**trial, "status": status}, condition, message)
        if told != trial.get("status"):
            tell(self._kube, trial, told)

    def _job(self, trial: Object) -> Object | None:
        """The trial's job, made if need be; deleted, in the foreground, when the trial has ended (reconcileJob)."""
        wanted = owned(trial["spec"]["runSpec"], trial)
        found = self._kube.get(wanted["apiVersion"], wanted["kind"], name_of(wanted), namespace_of(wanted))
        completed = has(trial, "Succeeded", "Failed", "EarlyStopped", "MetricsUnavailable")
        if found is None:
            return None if completed else self._kube.create(wanted, "katib-controller")
        if completed and not trial["spec"].get("retainRun"):
            if has(trial, "EarlyStopped") and not (trial.get("status") or {}).get("observation"):
                return found
            if not found["metadata"].get("deletionTimestamp"):
                self._kube.delete(found, "Foreground")
            return None
        return found

    def _observed(self, trial: Object) -> dict[str, Any] | None:
        """What the database has of it; None as long as it has nothing."""
        try:
            log = call(self._proxy, self._database, "GetObservationLog", {"trial": name_of(trial)})["log"]
        except RefusedError:
            return None
        pairs = [(str(name), str(value)) for name, value in log]
        return observation(pairs, trial["spec"]["objective"]["metricStrategies"]) if pairs else None


def job_status(trial: Object, job: Object) -> tuple[str | None, str]:
    """How a job stands by the trial's two conditions; of gjson the form alone that Katib itself fills in. Pure."""
    for state, path in (("Failed", "failureCondition"), ("Succeeded", "successCondition")):
        asked = _CONDITION.match(trial["spec"][path])
        for each in (job.get("status") or {}).get("conditions") or ():
            if asked and each["type"] == asked[1] and each["status"] == "True":
                return state, str(each.get("message") or "")
    return (None, "") if has(trial, "Running") and not has(trial, "EarlyStopped") else ("Running", "")


def judged(trial: Object, condition: str, message: str) -> Object:
    """The trial's status after its job's (UpdateTrialStatusCondition). Pure."""
    status: Object = trial["status"]
    done = {**status, "completionTime": now()}
    if condition == "Succeeded":
        if has(trial, "EarlyStopped", "Succeeded", "MetricsUnavailable"):
            return status
        if objective_value(trial) is None:
            return marked(done, "MetricsUnavailable", "MetricsUnavailable", "Metrics are not available")
        return marked(done, "Succeeded", "TrialSucceeded", f"Trial has succeeded. Job message: {message}")
    if has(trial, "EarlyStopped"):
        return status
    if condition == "Failed":
        return marked(done, "Failed", "TrialFailed", f"Trial has failed. Job message: {message}")
    return marked(status, "Running", "TrialRunning", "Trial is running")
