"""Processes that are started again when they end on their own, with a pause that grows while that keeps happening."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rehearsal import places
from rehearsal.processes import Process, StartError

log = logging.getLogger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
STEADY = 60.0


@dataclass
class _Kept:
    """One process and its history: when it began, how often it ended of late, when it may begin again."""

    process: Process
    grace: float
    begun: float = 0.0
    failures: int = 0
    not_before: float | None = None
    wanted: bool = True


class KeptProcesses:
    """The processes of `owner` by name; the JSON file `record` tells others the identity of each.

    Thread-safe. Nothing happens by itself: call `tend()` now and then.
    """

    def __init__(self, owner: str, record: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._owner = owner
        self._record = record
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.RLock()

    def start(self, process: Process, grace: float) -> None:
        """Start a process and keep it; it gets `grace` seconds to end when it is stopped. Raises StartError."""
        with self._lock:
            kept = self._kept[process.name] = _Kept(process, grace)
            self._launch(kept)

    def pid(self, name: str) -> int | None:
        """The pid of a process that runs; None for any other."""
        with self._lock:
            kept = self._kept.get(name)
            running = kept is not None and kept.process.running()
            return kept.process.identity.pid if running and kept and kept.process.identity else None

    def halt(self, name: str) -> None:
        """Stop a process and leave it stopped."""
        with self._lock:
            self._kept[name].wanted = False
            self._kept[name].process.stop(self._kept[name].grace)

    def restart(self, name: str) -> None:
        """Stop a process if it runs and start it, its failures forgotten."""
        with self._lock:
            self.halt(name)
            kept = self._kept[name]
            kept.wanted, kept.failures = True, 0
            self._launch(kept)

    def stop(self, names: Iterable[str]) -> None:
        """Stop these processes one after another; names that were never started are passed over."""
        for name in names:
            if name in self._kept:
                self.halt(name)

    def check(self) -> None:
        """Raise StartError, with the last lines of its log, for a process that ended on its own."""
        with self._lock:
            for name, kept in self._kept.items():
                if kept.wanted and not kept.process.running():
                    status, words = kept.process.exit_status(), kept.process.last_words()
                    raise StartError(f"{name} of {self._owner} ended with status {status}:\n{words}")

    def tend(self) -> None:
        """Start again what ended on its own, after a pause that doubles with each failure up to 30 s."""
        with self._lock:
            for name, kept in self._kept.items():
                if kept.wanted and not kept.process.running():
                    self._revive(name, kept)

    def _revive(self, name: str, kept: _Kept) -> None:
        now = self._clock()
        if kept.not_before is None:
            if now - kept.begun > STEADY:
                kept.failures = 0
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**kept.failures)
            kept.failures += 1
            kept.not_before = now + pause
            status = kept.process.exit_status()
            log.warning("%s of %s ended with status %s; starting it in %.1f s", name, self._owner, status, pause)
        elif now >= kept.not_before:
            self._launch(kept)
            log.info("%s of %s was started again", name, self._owner)

    def _launch(self, kept: _Kept) -> None:
        kept.begun, kept.not_before = self._clock(), None
        kept.process.start()
        known = {name: each.process.identity for name, each in self._kept.items()}
        places.write_json(self._record, {name: each.record() for name, each in known.items() if each is not None})
