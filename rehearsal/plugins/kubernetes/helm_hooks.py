"""Hooks of a release: which run when, in which order, what is waited for and what is deleted (pkg/action/hooks.go)."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rehearsal.kube.client import ApiError, Kube
from rehearsal.plugins.kubernetes.helm_objects import HOOK, MANAGER, NotReady, Objects, in_order
from rehearsal.plugins.kubernetes.objects import Object, condition, dig, holds, title
from rehearsal.plugins.kubernetes.reasons import explain

WEIGHT, DELETE_POLICY = "helm.sh/hook-weight", "helm.sh/hook-delete-policy"
BEFORE, SUCCEEDED, FAILED = "before-hook-creation", "hook-succeeded", "hook-failed"


class HookFailed(Exception):  # noqa: N818 - what happened to the operation
    """A hook failed or did not end in time; `reasons` say which and why."""

    def __init__(self, event: str, reasons: list[str]) -> None:
        super().__init__(f"{event} hooks failed: {'; '.join(reasons)}")
        self.reasons = [f"{event} hooks failed: {reasons[0]}", *reasons[1:]]


def events(obj: Mapping[str, Any]) -> list[str]:
    """The events of an object's hook annotation; none for an object of the release itself."""
    text = dig(obj, "metadata", "annotations", HOOK, default="")
    return [each.strip() for each in str(text).split(",") if each.strip()]


def split(rendered: Iterable[Object]) -> tuple[list[Object], list[Object]]:
    """(hooks, objects of the release itself), each in the order in which Helm creates them."""
    ordered = in_order(rendered)
    return [obj for obj in ordered if events(obj)], [obj for obj in ordered if not events(obj)]


def weight(hook: Mapping[str, Any]) -> int:
    """A weight that is no number counts as 0 (pkg/releaseutil/manifest_sorter.go, calculateHookWeight)."""
    try:
        return int(str(dig(hook, "metadata", "annotations", WEIGHT, default="0")))
    except ValueError:
        return 0


def policies(hook: Mapping[str, Any]) -> list[str]:
    """When a hook's object is deleted; without a word before it is made anew."""
    text = str(dig(hook, "metadata", "annotations", DELETE_POLICY, default=""))
    return [each.strip().lower() for each in text.split(",") if each.strip()] or [BEFORE]


class Hooks:
    """Runs the hooks of one release."""

    def __init__(self, kube: Kube, objects: Objects, stop: threading.Event) -> None:
        self._kube, self._objects, self._stop = kube, objects, stop

    def run(self, hooks: Iterable[Object], event: str, seconds: float, log: Callable[[str], None]) -> None:
        """Makes the event's hooks one after another, by weight and name, and waits for each. Raises HookFailed."""
        chosen = [self._objects.placed(hook) for hook in hooks if event in events(hook)]
        chosen.sort(key=lambda hook: (weight(hook), hook["metadata"]["name"]))
        done: list[Object] = []
        for hook in chosen:
            try:
                self._delete(hook, BEFORE, seconds)
                log(f"{event} hook {title(hook)} ...")
                self._kube.create(hook, MANAGER)
                self._wait(hook, seconds)
            except (ApiError, NotReady) as error:
                self._delete(hook, FAILED, seconds)
                for earlier in done:
                    self._delete(earlier, SUCCEEDED, seconds)
                reasons = error.reasons if isinstance(error, NotReady) else [f"{title(hook)}: {error}"]
                raise HookFailed(event, reasons) from None
            done.append(hook)
        for hook in reversed(done):
            self._delete(hook, SUCCEEDED, seconds)

    def _wait(self, hook: Object, seconds: float) -> None:
        """Waits for a Job or Pod to end well; other kinds are done when they are made (client.go, watchUntilReady)."""
        if hook["kind"] not in ("Job", "Pod"):
            return
        deadline = time.monotonic() + seconds
        while (live := self._objects.live(hook)) is not None and not _ended_well(live):
            if failed := _failure(live):
                raise NotReady([f"{title(hook)} failed: {failed}", *explain(live, self._kube)])
            if time.monotonic() > deadline or self._stop.wait(0.2):
                raise NotReady([f"{title(hook)} did not end in {seconds:.0f} s", *explain(live, self._kube)])

    def _delete(self, hook: Object, policy: str, seconds: float) -> None:
        """Deletes the hook's object if its policy says so, and waits until it is gone; never a definition."""
        if policy in policies(hook) and hook["kind"] != "CustomResourceDefinition":
            self._kube.delete(hook)
            self._objects.wait_gone([hook], time.monotonic() + seconds)


def _ended_well(live: Mapping[str, Any]) -> bool:
    if live["kind"] == "Pod":
        return bool(dig(live, "status", "phase") == "Succeeded")
    return holds(live, "Complete")


def _failure(live: Mapping[str, Any]) -> str:
    if live["kind"] == "Pod":
        return "its phase is Failed" if dig(live, "status", "phase") == "Failed" else ""
    failed = condition(live, "Failed")
    return f"{failed.get('reason')}: {failed.get('message')}" if holds(live, "Failed") else ""
