"""What pulumi-kubernetes reads out of Pods and Jobs, and what it does not: provider/pkg/await/checker.

Of a pod that is not initialized it reads the condition and the main containers only, never `initContainerStatuses`:
what an init container said when it failed stays unsaid.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from rehearsal.plugins.kubernetes.objects import condition, dig, holds

KNOWN_FAILURES = ("BackoffLimitExceeded", "DeadlineExceeded")
"""Reasons for which a Job counts as failed; with any other one it is waited for until the time is over."""


def warnings(pods: Iterable[Mapping[str, Any]]) -> list[str]:
    """The warnings about pods that are not ready, each once."""
    return list(dict.fromkeys(text for pod in pods if (text := pod_warning(pod))))


def pod_ready(pod: Mapping[str, Any]) -> bool:
    """checker/pod/check.go: scheduled, initialized, and ready or succeeded."""
    done = holds(pod, "Ready") or (bool(condition(pod, "Ready")) and dig(pod, "status", "phase") == "Succeeded")
    return holds(pod, "PodScheduled") and holds(pod, "Initialized") and done


def pod_warning(pod: Mapping[str, Any]) -> str:
    """checker/pod/check.go: what is wrong with the first condition that is not met; nothing while it is unscheduled."""
    if pod_ready(pod) or not holds(pod, "PodScheduled"):
        return ""
    unmet = condition(pod, "Initialized") if not holds(pod, "Initialized") else condition(pod, "Ready")
    if not unmet:
        return ""
    said = "\n".join(
        text for each in dig(pod, "status", "containerStatuses", default=[]) for text in _container(each) if text
    )
    if not said and not unmet.get("message"):
        return ""
    about = str(unmet["message"]) if unmet.get("reason") and unmet.get("message") else ""
    return f"[Pod {_name(pod)}]: {about}{said}"


def _container(status: Mapping[str, Any]) -> Iterable[str]:
    if status.get("ready"):
        return
    waiting = dig(status, "state", "waiting")
    if waiting and waiting.get("reason") != "ContainerCreating":
        yield f"[{waiting.get('reason', '')}] {waiting.get('message', '')}"
    ended = dig(status, "state", "terminated")
    if ended and ended.get("reason"):
        if ended.get("message"):
            yield f"[{ended['reason']}] {ended['message']}"
        else:
            yield f'container "{status.get("name")}" completed with exit code {ended.get("exitCode", 0)}'
    before = dig(status, "lastState", "terminated")
    if before:
        at, reason, code = before.get("finishedAt"), before.get("reason", ""), before.get("exitCode", 0)
        yield f'container "{status.get("name")}" terminated at {at} ({reason}: exit code {code})'
        yield str(before.get("message") or "")


def job_ready(job: Mapping[str, Any]) -> bool:
    """checker/job/check.go: started and complete."""
    return bool(dig(job, "status", "startTime")) and not job_failure(job) and holds(job, "Complete")


def job_failure(job: Mapping[str, Any]) -> str:
    """Why the Job has failed for good, as far as the official provider knows the reason."""
    failed = condition(job, "Failed")
    if not dig(job, "status", "startTime") or not holds(job, "Failed") or failed.get("reason") not in KNOWN_FAILURES:
        return ""
    return f"[{failed['reason']}] {failed.get('message', '')}"


def owned(objects: Iterable[Mapping[str, Any]], owner: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The objects that name the owner in their metadata."""
    uid = dig(owner, "metadata", "uid")
    return [
        each
        for each in objects
        if any(reference.get("uid") == uid for reference in dig(each, "metadata", "ownerReferences", default=[]))
    ]


def _name(obj: Mapping[str, Any]) -> str:
    meta = obj["metadata"]
    inside = meta.get("namespace")
    return f"{inside}/{meta['name']}" if inside and inside != "default" else str(meta["name"])
