"""Why an object is not ready, in Kubernetes' own words: pod conditions, container states, warning events."""

from collections.abc import Iterator, Mapping
from typing import Any

from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.plugins.kubernetes.objects import condition, dig, holds, identifier

MOST = 5
"""Reasons shown per object: a DaemonSet on many nodes has many pods that wait for the same thing."""

LENGTH = 500


def explain(live: Mapping[str, Any], kube: Kube) -> list[str]:
    """What the pods of the object wait for and what the cluster warned about; empty if it says nothing."""
    try:
        found = [*_pods(live, kube), *_events_beside_pods(live, kube)]
    except (ApiError, Unreachable) as error:
        return [f"the reasons could not be read: {error}"]
    distinct = list(dict.fromkeys(text[:LENGTH] for text in found))
    more = [f"and {len(distinct) - MOST} more"] if len(distinct) > MOST else []
    return distinct[:MOST] + more


def _pods(live: Mapping[str, Any], kube: Kube) -> Iterator[str]:
    selector = _selector(live)
    if live.get("kind") == "Pod":
        yield from _pod(live, kube)
    elif selector:
        pods = kube.list("v1", "Pod", live["metadata"].get("namespace"), selector)
        if live.get("kind") == "Service" and not pods:
            yield f"no pod has the labels {selector}"
        for pod in pods:
            yield from _pod(pod, kube)
        if live.get("kind") == "Job" and not pods:
            yield from _gone_pods(live, kube)
        if live.get("kind") == "Deployment":
            yield from _replica_sets(live, kube, selector)


def _gone_pods(job: Mapping[str, Any], kube: Kube) -> Iterator[str]:
    """What was said of the pods that a Job deleted with its deadline: their events stay for a while."""
    meta = job["metadata"]
    found = kube.list("v1", "Event", meta.get("namespace"), field_selector="involvedObject.kind=Pod,type=Warning")
    for event in found:
        name = str(dig(event, "involvedObject", "name", default=""))
        if name.startswith(f"{meta['name']}-"):
            yield f"pod {meta.get('namespace')}/{name}, which is gone: {event.get('reason')}: {event.get('message')}"


def _selector(live: Mapping[str, Any]) -> str:
    if live.get("kind") == "Service":
        labels = dig(live, "spec", "selector", default={})
    else:
        labels = dig(live, "spec", "selector", "matchLabels", default={})
    return ",".join(f"{key}={value}" for key, value in labels.items())


def _pod(pod: Mapping[str, Any], kube: Kube) -> Iterator[str]:
    """What one pod waits for; nothing if it is ready or done."""
    if holds(pod, "Ready") or dig(pod, "status", "phase") == "Succeeded":
        return
    name = f"pod {identifier(pod)}"
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        yield f"{name}: {scheduled.get('reason')}: {scheduled.get('message')}"
        return
    if scheduled.get("status") != "True" and not dig(pod, "spec", "nodeName"):
        yield f"{name}: no scheduler has looked at it (schedulerName {dig(pod, 'spec', 'schedulerName')})"
        return
    states = [*_containers(pod, "initContainerStatuses"), *_containers(pod, "containerStatuses")]
    yield from (f"{name}: {state}" for state in states)
    # What the scheduler said is past, now that the pod has a node.
    warnings = [text for text in _events(pod, kube, name) if not text.startswith(f"{name}: FailedScheduling:")]
    yield from warnings
    if not states and not warnings:
        message = dig(pod, "status", "message") or condition(pod, "Ready").get("message")
        yield f"{name}: {dig(pod, 'status', 'reason') or dig(pod, 'status', 'phase')}: {message or 'no reason given'}"


def _containers(pod: Mapping[str, Any], field: str) -> Iterator[str]:
    for status in dig(pod, "status", field, default=[]):
        name = f"container {status.get('name')}"
        if waiting := dig(status, "state", "waiting"):
            yield f"{name} is waiting: {waiting.get('reason')}" + _colon(waiting.get("message"))
        if terminated := dig(status, "state", "terminated") or dig(status, "lastState", "terminated"):
            if terminated.get("exitCode"):
                code, reason = terminated["exitCode"], terminated.get("reason")
                yield f"{name} exited with code {code}: {reason}" + _colon(terminated.get("message"))
        elif dig(status, "state", "running") and not status.get("ready"):
            yield f"{name} is running but not ready"


def _replica_sets(live: Mapping[str, Any], kube: Kube, selector: str) -> Iterator[str]:
    uid = dig(live, "metadata", "uid")
    for item in kube.list("apps/v1", "ReplicaSet", live["metadata"].get("namespace"), selector):
        owners = dig(item, "metadata", "ownerReferences", default=[])
        if any(owner.get("uid") == uid for owner in owners) and dig(item, "spec", "replicas"):
            yield from _events(item, kube, "ReplicaSet")


def _events_beside_pods(live: Mapping[str, Any], kube: Kube) -> Iterator[str]:
    kind = str(live.get("kind"))
    return iter(()) if kind == "Pod" else _events(live, kube, kind)


def _events(obj: Mapping[str, Any], kube: Kube, subject: str) -> Iterator[str]:
    """The last warning of each kind about the object; cluster-scoped objects' events lie in `default`."""
    meta = obj["metadata"]
    if not meta.get("uid"):
        return
    selector = f"involvedObject.uid={meta['uid']},type=Warning"
    found = kube.list("v1", "Event", meta.get("namespace") or "default", field_selector=selector)
    latest = {str(event.get("reason")): event for event in found}
    for reason, event in latest.items():
        yield f"{subject}: {reason}: {event.get('message')}"


def _colon(message: object) -> str:
    return f": {message}" if message else ""
