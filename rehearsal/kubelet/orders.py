"""What a person does to a rehearsal that runs: loads on Services, and failures of nodes.

A file in the cluster's directory holds them: commands change it, whatever simulates looks at it. Times are seconds of
the Unix clock, so that what was ordered is understood after either side was started anew.
"""

import fcntl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rehearsal import places

FILE = "orders.json"
KEPT_SECONDS = 3600.0


@dataclass(frozen=True)
class Load:
    """Requests a second offered to a Service from `since` until `until`, spread over the pods that `selector` finds."""

    namespace: str
    service: str
    selector: Mapping[str, str]
    rps: float
    since: float
    until: float

    def on(self, now: float) -> bool:
        return self.since <= now < self.until


@dataclass(frozen=True)
class Fault:
    """One failure of a node: its kind, which of several things it hit, and until when it lasted (None: it does)."""

    node: str
    kind: str
    since: float
    gpu: int = 0
    target: str = ""
    until: float | None = None

    @property
    def lasts(self) -> bool:
        return self.until is None


@dataclass(frozen=True)
class Ordered:
    """All of it. Failures that were healed are kept: counters do not forget them."""

    loads: tuple[Load, ...] = ()
    faults: tuple[Fault, ...] = ()

    def of(self, node: str) -> list[Fault]:
        """The failures of a node, healed ones too, the first one first."""
        return [each for each in self.faults if each.node == node]


class Orders:
    """Reads the file of one cluster, again only when it has changed. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._ordered = Ordered()

    def now(self) -> Ordered:
        """What is ordered."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return Ordered()
        with self._lock:
            seen = (found.st_mtime_ns, found.st_ino)
            if seen != self._seen:
                self._ordered, self._seen = read(self._path), seen
            return self._ordered

    def heal(self, node: str, kinds: Iterable[str]) -> None:
        """Failures of these kinds end on the node, as a reboot or another machine ends them."""
        chosen = frozenset(kinds)
        if any(each.lasts and each.kind in chosen for each in self.now().of(node)):
            change(self._path, lambda before: healed(before, node, chosen, time.time()))


def read(path: Path) -> Ordered:
    """What a file holds; nothing if there is none."""
    found: Any = places.read_json(path) or {}
    loads = tuple(Load(**each) for each in found.get("loads") or ())
    return Ordered(loads, tuple(Fault(**each) for each in found.get("faults") or ()))


def change(path: Path, by: Callable[[Ordered], Ordered]) -> Ordered:
    """Replace what a file holds by what `by` makes of it. Two who change it at once do so one after the other."""
    places.private_directory(path.parent)
    with path.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        after = by(read(path))
        places.write_json(path, {key: [dict(each) for each in some] for key, some in asdict(after).items()})
    return after


def loaded(before: Ordered, load: Load) -> Ordered:
    """With a load, which ends the one that its Service had; at 0 requests a second it only ends that. Pure."""
    ended = [
        replace(each, until=min(each.until, load.since)) if _same(each, load) else each
        for each in before.loads
        if each.until > load.since - KEPT_SECONDS
    ]
    return replace(before, loads=(*ended, *([load] if load.rps else [])))


def _same(one: Load, other: Load) -> bool:
    return (one.namespace, one.service) == (other.namespace, other.service)


def broken(before: Ordered, fault: Fault) -> Ordered:
    """With a failure; one that lasts is not begun again. Pure."""
    what = (fault.node, fault.kind, fault.gpu, fault.target)
    if any(each.lasts and (each.node, each.kind, each.gpu, each.target) == what for each in before.faults):
        return before
    return replace(before, faults=(*before.faults, fault))


def healed(before: Ordered, node: str, kinds: Iterable[str] | None, now: float) -> Ordered:
    """The orders without the node's failures of these kinds, None for all. Pure."""
    chosen = None if kinds is None else frozenset(kinds)
    ends = [each.node == node and each.lasts and (chosen is None or each.kind in chosen) for each in before.faults]
    faults = [replace(each, until=now) if end else each for each, end in zip(before.faults, ends, strict=True)]
    return replace(before, faults=tuple(faults))


def share(loads: Iterable[Load], pod: Mapping[str, Any], pods: Iterable[Mapping[str, Any]], now: float) -> float:
    """Requests a second that reach a pod: a ClusterIP spreads a load evenly over the ready pods behind it. Pure."""
    total, there = 0.0, list(pods)
    for load in loads:
        if load.on(now) and behind(load, pod):
            ready = [each for each in there if behind(load, each) and _ready(each)]
            if any(each["metadata"]["uid"] == pod["metadata"]["uid"] for each in ready):
                total += load.rps / len(ready)
    return total


def behind(load: Load, pod: Mapping[str, Any]) -> bool:
    """Whether the Service of a load selects a pod."""
    meta = pod["metadata"]
    labels = meta.get("labels") or {}
    return meta["namespace"] == load.namespace and all(labels.get(key) == value for key, value in load.selector.items())


def _ready(pod: Mapping[str, Any]) -> bool:
    if pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
