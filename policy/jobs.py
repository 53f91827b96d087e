"""Rules about pods that end: what restarts them, how long they may wait, and the time they get to stop."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from policy.gangs import above, metadata_of, of_training_operator, roles, spec_of, whole
from policy.graph import Graph
from policy.pods import Pod, is_kubernetes, pods
from policy.rule import Finding, rule
from policy.words import flags, seconds, tokens, words

LEAST_LATE_SECONDS = 10
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
STEADY = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController")
_WAITING = re.compile(
    r"\bkubectl\b.*\b(wait|rollout status)\b|\b(until|while)\b.*\bsleep\b|\bsleep (infinity|inf)\b", re.S
)
GRACE_SECONDS = 30


@rule(
    source="Kubernetes: Jobs (restartPolicy Never or OnFailure; podFailurePolicy needs Never); Volcano 1.15, "
    "job policies (PodFailed); training-operator v1.9 ReplicaSpec.restartPolicy",
    remedy="Never or OnFailure in a Job, none in a Deployment; Never under a Volcano policy of PodFailed; one "
    "value in a replica spec",
)
def restarts_agree(graph: Graph) -> Iterator[Finding]:
    """A pod's restart policy is set once, and fits its controller (ST15, J18)."""
    for pod in pods(graph):
        given = pod.spec.get("restartPolicy")
        batch = pod.maker.token.startswith("kubernetes:batch/")
        if batch and given not in ("Never", "OnFailure"):
            yield pod.owner, f"is a {pod.kind} with restartPolicy {given}, which the API refuses"
        if pod.kind in STEADY and given not in (None, "Always"):
            yield pod.owner, f"is a {pod.kind} with restartPolicy {given}, which the API refuses"
        if batch and any("podFailurePolicy" in each for each in above(pod)) and given != "Never":
            yield pod.owner, f"has a podFailurePolicy and restartPolicy {given}; it needs Never"
        if pod.maker.token.startswith("kubernetes:batch.volcano.sh/") and given != "Never" and _restarted(pod):
            yield (
                pod.owner,
                f"acts on PodFailed, and its pods restart in place (restartPolicy {given or 'Always'}): none fails",
            )
    for each in graph.resources.values():
        if not (is_kubernetes(each) and of_training_operator(each)):
            continue
        limit = (spec_of(each).get("runPolicy") or {}).get("backoffLimit")
        for role, replicas in roles(each).items():
            said = (replicas or {}).get("restartPolicy")
            inner = ((replicas or {}).get("template") or {}).get("spec", {}).get("restartPolicy")
            if inner and inner != (said or inner):
                yield each.name, f"restarts its {role} {said} by the replica spec and {inner} by the template"
            if said == "Always" or (said is None and inner == "Always"):
                yield each.name, f"restarts its {role} always, after success too: it never ends"
            if limit == 0 and said in ("OnFailure", "ExitCode"):
                yield each.name, f"restarts its {role} ({said}) and ends at the first failure (backoffLimit 0)"
            if said == "Never" and whole(limit, 0) > 0:
                yield each.name, f"allows {limit} failures and never restarts its {role}: the first one ends the run"


def _restarted(pod: Pod) -> bool:
    events = [policy for each in above(pod) for policy in each.get("policies") or []]
    events += spec_of(pod.maker).get("policies") or []
    return any("PodFailed" in (policy.get("event"), *(policy.get("events") or [])) for policy in events)


def _longest(container: Mapping[str, Any]) -> int:
    return sum(seconds(value) for name, value in flags(container) if name == "timeout")


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/workloads/controllers/job/; "
    "pulumi-kubernetes renews a Job's timeout with each event (LF23)",
    remedy="set activeDeadlineSeconds of the Job beyond what its commands wait together",
)
def waits_end(graph: Graph) -> Iterator[Finding]:
    """A Job that waits for something has a deadline, later than that of its own commands (LF23)."""
    for pod in pods(graph):
        if not pod.maker.token.startswith("kubernetes:batch/"):
            continue
        deadlines = [whole(each["activeDeadlineSeconds"], 0) for each in above(pod) if "activeDeadlineSeconds" in each]
        waiting = [each for each in pod.containers if _WAITING.search(" ".join(words(each)))]
        if waiting and not deadlines:
            yield (
                pod.owner,
                (f"waits in {waiting[0].get('name')} without activeDeadlineSeconds: it may wait indefinitely"),
            )
        first = sum(_longest(each) for each in pod.spec.get("initContainers") or [])
        needed = first + max((_longest(each) for each in pod.spec.get("containers") or []), default=0)
        if deadlines and needed > min(deadlines) > 0:
            yield pod.owner, f"is terminated after {min(deadlines)} s but waits up to {needed} s by its own --timeout"


def _drains(container: Mapping[str, Any]) -> int:
    """Seconds in which a model server ends the requests that it has: of vLLM, or of Triton, whose own are 30."""
    own = next((30 for word in words(container) if word.rpartition("/")[2] == "tritonserver"), 0)
    given = [value for name, value in flags(container) if name in ("shutdown-timeout", "exit-timeout-secs")]
    return whole(given[-1], 0) if given else own


def _saves(container: Mapping[str, Any]) -> int:
    """Seconds that a save of a run may take, which its script is told."""
    told = {each.get("name"): each.get("value") for each in container.get("env") or []}
    return whole(told.get("CHECKPOINT_WITHIN_SECONDS"), 0)


@rule(
    source="Kubernetes: Termination of Pods; https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/; "
    "vLLM 0.29: --shutdown-timeout; Triton: --exit-timeout-secs",
    remedy="set terminationGracePeriodSeconds above what preStop, requests that are under way and the saving of a "
    "checkpoint take",
)
def pods_may_stop(graph: Graph) -> Iterator[Finding]:
    """A pod's grace period covers its preStop hook, open requests, a checkpoint and pending writes (J15)."""
    for pod in pods(graph):
        grace = whole(pod.spec.get("terminationGracePeriodSeconds"), GRACE_SECONDS)
        claims = {
            each.get("name")
            for each in pod.spec.get("volumes") or []
            if each.get("persistentVolumeClaim") and not each["persistentVolumeClaim"].get("readOnly")
        }
        for container in pod.spec.get("containers") or []:
            stop = (container.get("lifecycle") or {}).get("preStop") or {}
            asked = whole((stop.get("sleep") or {}).get("seconds"), 0)
            said = tokens({"command": (stop.get("exec") or {}).get("command") or []})
            for word, after in pairwise(said):
                asked += seconds(after) if word == "sleep" else 0
            if asked and asked >= grace:
                yield pod.owner, f"sleeps {asked} s before it stops and is killed after {grace} s"
            elif (drain := _drains(container)) and asked + drain >= grace:
                yield (
                    pod.owner,
                    f"goes on with its requests for {drain} s, {asked} s after it is told to stop, and is killed after "
                    f"{grace} s",
                )
            if (save := _saves(container)) > grace:
                yield pod.owner, f"may stand {save} s for a save and is killed {grace} s after it is told to stop"
            writes = any(
                each.get("name") in claims and not each.get("readOnly") for each in container.get("volumeMounts") or []
            )
            if grace <= 1 and writes:
                yield pod.owner, f"writes to a claim and is killed {grace} s after it is told to stop"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ (startingDeadlineSeconds "
    "below 10: may not be scheduled; TZ in the schedule is refused); v1 PodSpec: activeDeadlineSeconds",
    remedy="no activeDeadlineSeconds in the pods of a run; startingDeadlineSeconds: 10 or more; timeZone instead of TZ",
)
def work_is_given_its_time(graph: Graph) -> Iterator[Finding]:
    """A run is not ended by a deadline of its pods, and a CronJob is looked at in time (J18)."""
    for pod in pods(graph):
        if (roles(pod.maker) or pod.kind in STEADY) and (ends := pod.spec.get("activeDeadlineSeconds")):
            yield pod.owner, f"ends its pods after {ends} s, whatever they do ({pod.path})"
    for each in graph.of_type("CronJob"):
        spec = spec_of(each)
        late = spec.get("startingDeadlineSeconds")
        if whole(late, LEAST_LATE_SECONDS) < LEAST_LATE_SECONDS:
            yield each.name, f"starts at most {late} s late, and is looked at every 10 s: it may never start"
        if "TZ=" in str(spec.get("schedule")):
            yield each.name, f"has the schedule {spec['schedule']}, which the API refuses"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/workloads/controllers/job/#suspending-a-job; "
    "RunPolicy.suspend of Kubeflow's jobs; Kueue resumes what has the label kueue.x-k8s.io/queue-name",
    remedy="take suspend out, or name the queue of who resumes it",
)
def runs_are_started(graph: Graph) -> Iterator[Finding]:
    """A run is not suspended, unless a queue of Kueue or another controller resumes it."""
    for each in graph.resources.values():
        spec = spec_of(each) if is_kubernetes(each) and each.kind != "CronJob" else {}
        told = {**spec, **(spec.get("runPolicy") or {})}
        queued = QUEUE_NAME in (metadata_of(each).get("labels") or {})
        if told.get("suspend") is True and not told.get("managedBy") and not queued:
            yield each.name, f"is a {each.kind} that is suspended, and nobody resumes it: it makes no pods"
