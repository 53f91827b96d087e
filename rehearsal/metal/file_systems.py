"""Lustre between the hosts of a hall: which targets run where, what an MGS knows, and what a client gets to mount.

Words and numbers: lustre-release, lustre/utils/mount_lustre.c (what mount.lustre adds to EIO, EADDRINUSE, EINVAL);
lustre/mgs/mgs_llog.c (a new target whose index is registered: EADDRINUSE); lustre/llite/llite_lib.c (a client without
the profile of its file system: EINVAL). A NID is reached by who has a network of its kind.
"""

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from rehearsal.metal.machine import Machine
from rehearsal.metal.pools import Answer, Boot

_MEANT = {
    5: "Input/output error\nIs the MGS running?",
    98: "Address already in use\nThe target service's index is already in use.",
    22: "Invalid argument\nThis may have multiple causes.",
    110: "Connection timed out",
}


@dataclass(frozen=True)
class _Running:
    """A target that is mounted: on which host, since which boot, at which NIDs."""

    host: str
    boot: str
    nids: frozenset[str]


@dataclass
class _Mgs:
    """An MGS by its pool's number: the targets of each file system that registered there, with their pools' numbers."""

    registered: dict[str, dict[str, str]] = field(default_factory=dict)


class FileSystems:
    """What runs in the hall."""

    def __init__(self, boot: Boot) -> None:
        self._boot, self._lock = boot, threading.Lock()
        self._known: dict[str, _Mgs] = {}
        self._running: dict[tuple[str, str], _Running] = {}

    def asked(self, machine: Machine, question: Mapping[str, str]) -> Answer:
        """The answer to one question of a host's mount.lustre."""
        verbs: Mapping[str, Callable[[Machine, Mapping[str, str]], Answer]] = {
            "start": self._start,
            "stop": self._stop,
            "mount": self._mount,
        }
        with self._lock:
            return verbs[question["verb"]](machine, question)

    def _start(self, machine: Machine, question: Mapping[str, str]) -> Answer:
        name, pool, own = question["name"], question["pool"], frozenset(question["nids"].split())
        if name == "MGS":
            self._known.setdefault(pool, _Mgs())
        elif problem := self._register(question, own):
            return _refused(problem)
        self._running[pool, name] = _Running(machine.name, self._boot(machine.name), own)
        return {}

    def _register(self, question: Mapping[str, str], own: frozenset[str]) -> int:
        """Why a target cannot start, 0 if it can: a new one asks the MGS, a known one needs it no more."""
        mgs = self._mgs(question["mgs"], own)
        if mgs is None:
            return 5 if question["first"] == "yes" else 0
        registered = mgs.registered.setdefault(question["fsname"], {})
        if registered.setdefault(question["name"], question["pool"]) != question["pool"]:
            return 98
        return 0

    def _stop(self, _: Machine, question: Mapping[str, str]) -> Answer:
        self._running.pop((question["pool"], question["name"]), None)
        return {}

    def _mount(self, _: Machine, question: Mapping[str, str]) -> Answer:
        spec, _slash, name = question["source"].partition(":/")
        own = frozenset(question["nids"].split())
        mgs = self._mgs(spec, own)
        if mgs is None:
            return _refused(5)
        targets = mgs.registered.get(name)
        if not targets:
            return _refused(22, f"\nIs '{name}' the correct filesystem name?")
        first = self._running.get((targets.get(f"{name}-MDT0000", ""), f"{name}-MDT0000"))
        if not self._reached(first, own):
            return _refused(110)
        return {}

    def _mgs(self, spec: str, own: frozenset[str]) -> _Mgs | None:
        """The MGS behind NIDs as `mgsnode` and mount have them: machines between colons, their NIDs between commas."""
        wanted = set(re.split("[:,]", spec))
        for (pool, name), each in self._running.items():
            if name == "MGS" and each.nids & wanted and self._reached(each, own, wanted):
                return self._known[pool]
        return None

    def _reached(self, target: _Running | None, own: Iterable[str], wanted: set[str] | None = None) -> bool:
        if target is None or self._boot(target.host) != target.boot:
            return False
        nets = {each.partition("@")[2] for each in own}
        return any(each.partition("@")[2] in nets for each in target.nids if wanted is None or each in wanted)


def _refused(number: int, more: str = "") -> Answer:
    return {"error": f"{_MEANT[number]}{more}", "status": str(number)}
