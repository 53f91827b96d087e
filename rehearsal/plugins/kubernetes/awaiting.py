"""Waits until an object is ready, or gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.kube.client import Kube
from rehearsal.plugins.kubernetes.objects import TIMEOUT_SECONDS, Object, annotation, dig, title
from rehearsal.plugins.kubernetes.readiness import judge, timeout_seconds
from rehearsal.plugins.kubernetes.reasons import explain
from rehearsal.plugins.servicer import PluginError

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Waited:
    """The object as last seen; `reasons` is empty if it is ready, else says why not."""

    live: Object
    reasons: list[str]


def patience(inputs: Mapping[str, Any], custom: float, live: Mapping[str, Any]) -> float:
    """Seconds to wait: customTimeouts, else the annotation `pulumi.com/timeoutSeconds`, else the kind's default."""
    if custom:
        return custom
    stated = annotation(inputs, TIMEOUT_SECONDS)
    if stated is None:
        return timeout_seconds(live)
    try:
        return float(stated)
    except ValueError:
        raise PluginError(f"{TIMEOUT_SECONDS} is {stated!r}: write a number of seconds") from None


def until_ready(
    inputs: Mapping[str, Any], live: Object, kube: Kube, seconds: float, stop: threading.Event, say: Progress
) -> Waited:
    """Waits for the object; returns early if it failed for good or the engine wants operations to end.

    The program's inputs decide what ready means (readiness.judge). An object deleted meanwhile is a reason, too.
    """
    deadline, pause, said = time.monotonic() + seconds, FIRST_PAUSE, ""
    while True:
        verdict = judge(inputs, live, kube)
        if verdict.ready:
            return Waited(live, [])
        left = deadline - time.monotonic()
        if verdict.failed or left <= 0 or stop.wait(min(pause, left)):
            return Waited(live, [_sentence(live, verdict.missing, seconds, left <= 0, stop), *explain(live, kube)])
        if verdict.missing != said and pause >= LONGEST_PAUSE:
            said = verdict.missing
            say(said)
        pause = min(LONGEST_PAUSE, pause * 1.5)
        found = _same(live, kube)
        if found is None:
            return Waited(live, [f"{title(live)} was deleted while it was waited for"])
        live = found


def now(inputs: Mapping[str, Any], live: Object, kube: Kube) -> list[str]:
    """Why the object is not ready at this moment; empty if it is."""
    verdict = judge(inputs, live, kube)
    return [] if verdict.ready else [f"{title(live)} is not ready: {verdict.missing}", *explain(live, kube)]


def until_gone(live: Mapping[str, Any], kube: Kube, seconds: float, stop: threading.Event, say: Progress) -> None:
    """Waits until this very object is deleted. Raises PluginError with what holds it, when the time is over."""
    deadline, pause, said = time.monotonic() + seconds, FIRST_PAUSE, ""
    while (found := _same(live, kube)) is not None:
        held = _holders(found)
        if time.monotonic() >= deadline or stop.wait(pause):
            raise PluginError(f"{title(live)} is still being deleted after {seconds:.0f} s{held}")
        if held and held != said and pause >= LONGEST_PAUSE:
            said = held
            say(f"still being deleted{held}")
        pause = min(LONGEST_PAUSE, pause * 1.5)


def _same(live: Mapping[str, Any], kube: Kube) -> Object | None:
    """The object as it is now; None if it is gone, also if another has taken its name."""
    meta = live["metadata"]
    found = kube.get(live["apiVersion"], live["kind"], meta["name"], meta.get("namespace"))
    return found if found and meta.get("uid") in (None, found["metadata"]["uid"]) else None


def _holders(live: Mapping[str, Any]) -> str:
    finalizers = dig(live, "metadata", "finalizers", default=[]) + dig(live, "spec", "finalizers", default=[])
    conditions = dig(live, "status", "conditions", default=[])
    said = [str(item["message"]) for item in conditions if item.get("status") == "True" and item.get("message")]
    held = [f"finalizers {', '.join(map(str, finalizers))}"] if finalizers else []
    return "".join(f"; {text}" for text in held + said)


def _sentence(live: Mapping[str, Any], missing: str, seconds: float, late: bool, stop: threading.Event) -> str:
    if late:
        return f"{title(live)} exists but is not ready after {seconds:.0f} s: {missing}"
    if stop.is_set():
        return f"{title(live)} exists; the wait for it was cancelled: {missing}"
    return f"{title(live)} exists but cannot become ready: {missing}"
