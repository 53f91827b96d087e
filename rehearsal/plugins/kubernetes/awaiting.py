"""Waits until an object is ready, or gone, as pulumi-kubernetes does (provider/pkg/await/await.go)."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.plugins.kubernetes import waitfor
from rehearsal.plugins.kubernetes.awaiter import CONDITION_TIMEOUT, Awaiter, Seen
from rehearsal.plugins.kubernetes.awaiters import (
    DaemonSetAwaiter,
    JobAwaiter,
    PodAwaiter,
    ServiceAwaiter,
    StatefulSetAwaiter,
)
from rehearsal.plugins.kubernetes.deployment_awaiter import DeploymentAwaiter
from rehearsal.plugins.kubernetes.objects import (
    SKIP_AWAIT,
    TIMEOUT_SECONDS,
    WAIT_FOR,
    Object,
    annotation,
    dig,
    flagged,
)
from rehearsal.plugins.kubernetes.polled import ClaimAwaiter, QuotaAwaiter, TokenAwaiter, VolumeAwaiter
from rehearsal.plugins.servicer import OwnWordsError

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0
DEFAULT_SECONDS = 600.0
Progress = Callable[[str, str], None]
"""Shows a passing line: severity (`info`, `warning`), text."""

AWAITERS: dict[tuple[str, str], type[Awaiter]] = {
    ("apps/v1", "DaemonSet"): DaemonSetAwaiter,
    ("apps/v1", "Deployment"): DeploymentAwaiter,
    ("apps/v1", "StatefulSet"): StatefulSetAwaiter,
    ("batch/v1", "Job"): JobAwaiter,
    ("v1", "PersistentVolume"): VolumeAwaiter,
    ("v1", "PersistentVolumeClaim"): ClaimAwaiter,
    ("v1", "Pod"): PodAwaiter,
    ("v1", "ResourceQuota"): QuotaAwaiter,
    ("v1", "Secret"): TokenAwaiter,
    ("v1", "Service"): ServiceAwaiter,
}
"""What is waited for (await/awaiters.go); any other kind is ready as soon as it exists, CRDs and namespaces too."""

READ_TOO = (DaemonSetAwaiter, DeploymentAwaiter, JobAwaiter, PodAwaiter, ServiceAwaiter, StatefulSetAwaiter)
"""Those that a refresh judges as well (`awaitRead`)."""

SKIPS_DELETION = {
    ("v1", "Namespace"),
    ("v1", "Pod"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
}
"""Kinds whose deletion `pulumi.com/skipAwait` does not wait for (metadata/overrides.go, allowsSkipAwaitWithDelete)."""


@dataclass(frozen=True)
class Waited:
    """The object as last seen; `reasons` is empty if it is ready, else says why not."""

    live: Object
    reasons: list[str]


class ConditionAwaiter(Awaiter):
    """The annotation `pulumi.com/waitFor`, in place of the kind's own rule."""

    @override
    def judge(self, seen: Seen, now: float) -> None:
        missing = waitfor.unmet(self.live, waitfor.parse(annotation(self.live, WAIT_FOR) or ""))
        for text in missing:
            self.say(text)
        self.ready = seen.live is not None and not missing

    @override
    def timeout_text(self) -> str:
        return CONDITION_TIMEOUT


def patience(inputs: Mapping[str, Any], custom: float) -> float:
    """Seconds to wait: customTimeouts, else the annotation `pulumi.com/timeoutSeconds`, else ten minutes.

    An annotation that is no whole number counts for nothing, without a word (metadata/overrides.go, TimeoutDuration).
    """
    stated = annotation(inputs, TIMEOUT_SECONDS) or ""
    try:
        return float(int(custom)) if custom else float(int(stated))
    except ValueError:
        return DEFAULT_SECONDS


def until_ready(
    inputs: Mapping[str, Any],
    live: Object,
    before: Object | None,
    kube: Kube,
    seconds: float,
    stop: threading.Event,
    say: Progress,
) -> Waited:
    """Waits for the object; returns early if it failed for good or the engine wants operations to end."""
    kind = _kind_of_wait(inputs, live)
    if kind is None:
        return Waited(live, [])
    awaiter, pause = kind(live, time.monotonic(), before), FIRST_PAUSE
    tell = _once(say)
    while True:
        now = time.monotonic()
        try:
            awaiter.look(kube, now)
            for severity, text in awaiter.said + (_events(live, kube) if pause >= LONGEST_PAUSE else []):
                tell(severity, text)
        except (ApiError, Unreachable) as error:
            if awaiter.breaks:
                return Waited(awaiter.live, [str(error)])
        awaiter.said.clear()
        if awaiter.ready:
            return Waited(awaiter.live, [])
        if awaiter.failed:
            return Waited(awaiter.live, [awaiter.failure_text(), *awaiter.reasons()])
        if awaiter.late(now, seconds):
            late = [] if awaiter.at_last() else [awaiter.timeout_text(), *awaiter.reasons()]
            return Waited(awaiter.live, late)
        if stop.wait(pause):
            cancelled = f'Resource operation was cancelled for "{live["metadata"]["name"]}"'
            return Waited(awaiter.live, [cancelled, *awaiter.reasons()])
        pause = min(LONGEST_PAUSE, pause * 1.5)


def _kind_of_wait(inputs: Mapping[str, Any], live: Mapping[str, Any]) -> type[Awaiter] | None:
    if flagged(inputs, SKIP_AWAIT):
        return None
    if annotation(live, WAIT_FOR):
        return ConditionAwaiter
    return AWAITERS.get((str(live.get("apiVersion")), str(live.get("kind"))))


def now(inputs: Mapping[str, Any], live: Object, kube: Kube) -> list[str]:
    """Why a refresh finds the object unready; empty if it is ready, or of a kind that no refresh judges."""
    kind = AWAITERS.get((str(live.get("apiVersion")), str(live.get("kind"))))
    if kind not in READ_TOO or kind is None or flagged(inputs, SKIP_AWAIT):
        return []
    awaiter = kind(live)
    awaiter.observe(Seen(live, awaiter.beside(kube)), 0.0)
    ready = awaiter.judge_at_once() if isinstance(awaiter, ServiceAwaiter) else awaiter.ready
    return [] if ready else [awaiter.failure_text(), *awaiter.reasons()]


def until_gone(
    inputs: Mapping[str, Any], live: Mapping[str, Any], kube: Kube, seconds: float, stop: threading.Event, say: Progress
) -> None:
    """Waits until what has the object's name now is deleted. Raises OwnWordsError when the time is over."""
    if flagged(inputs, SKIP_AWAIT) and (live["apiVersion"], live["kind"]) in SKIPS_DELETION:
        return
    deadline, pause, tell = time.monotonic() + seconds, FIRST_PAUSE, _once(say)
    meta, first, found = live["metadata"], None, None
    while True:
        try:
            found = kube.get(live["apiVersion"], live["kind"], meta["name"], meta.get("namespace"))
            uid = dig(found, "metadata", "uid")
            first = first or uid
            if found is None or uid != first:
                return
        except (ApiError, Unreachable) as error:
            tell("warning", f"unexpected error while checking cluster state: {error}")
        if time.monotonic() >= deadline or stop.wait(pause):
            finalizers = ", ".join(dig(found, "metadata", "finalizers", default=[]))
            say("warning", f"finalizers might be preventing deletion ({finalizers})")
            raise OwnWordsError(CONDITION_TIMEOUT)
        pause = min(LONGEST_PAUSE, pause * 1.5)


def _events(live: Mapping[str, Any], kube: Kube) -> list[tuple[str, str]]:
    """Kubernetes' warnings about the object itself (await/watchers.go, NewEventAggregator)."""
    meta = live["metadata"]
    selector = f"involvedObject.uid={meta.get('uid')},type=Warning"
    found = kube.list("v1", "Event", meta.get("namespace") or "default", field_selector=selector)
    return [("warning", f"{event.get('reason')}: {event.get('message')}") for event in found]


def _once(say: Progress) -> Progress:
    """Says each line once (logging/dedup_logger.go)."""
    told: set[tuple[str, str]] = set()

    def tell(severity: str, text: str) -> None:
        if (severity, text) not in told:
            told.add((severity, text))
            say(severity, text)

    return tell
