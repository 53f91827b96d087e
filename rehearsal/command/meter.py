"""Wall time and peak memory of the phases of a command."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rehearsal import procfs
from rehearsal.engine.table import Phase

SAMPLE_SECONDS = 5.0
"""Linux adds up the pages of each process that it is asked about: once a second that was a tenth of an `up`'s CPU."""


class Meter:
    """Measures phases one after another; memory is that of this process, its descendants and the watched ones."""

    def __init__(self) -> None:
        self.phases: list[Phase] = []
        self._watched: set[int] = set()

    def watch(self, pid: int) -> None:
        """Count this process and its descendants too (a supervisor that was started earlier)."""
        self._watched.add(pid)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure what runs inside; the phase is recorded however it ends."""
        peak, done = 0, threading.Event()

        def sample() -> None:
            nonlocal peak
            while True:
                peak = max(peak, self.memory())
                if done.wait(SAMPLE_SECONDS):
                    return

        began = time.monotonic()
        sampler = threading.Thread(target=sample, name="meter", daemon=True)
        sampler.start()
        try:
            yield
        finally:
            seconds = time.monotonic() - began
            done.set()
            sampler.join()
            self.phases.append(Phase(name, seconds, peak))

    def memory(self) -> int:
        """Bytes in use now (proportional set size)."""
        own = os.getpid()
        covered = set(procfs.tree(own))
        return procfs.memory(own) + sum(procfs.memory(pid) for pid in self._watched - covered)
