"""What ends a wait at once: a part of the rehearsal that died, and a disk that is full.

Neither is seen by the engine in time: it waits minutes for an account that is gone, and writes to its log alone that it
cannot keep the state. Beside the site lies a file of some mebibytes that is given back when the disk is full, so that
what is under way can still be written down.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from rehearsal import sites
from rehearsal.engine.events import Diagnostic, Record, Step
from rehearsal.engine.run import EngineError, Watcher

RESERVE_MIB = 64
"""What is given back when the disk is full, and how much room is too little for the state and etcd."""
LOOK_SECONDS = 1.0
RESERVE = "reserve"


class AlarmError(EngineError):
    """What happened, and what to do. The engine ends what is in flight first, unless `at_once`."""

    def __init__(self, text: str, *, at_once: bool) -> None:
        super().__init__(text)
        self.at_once = at_once


def keep_reserve(directory: Path) -> None:
    """Make the file that is given back when the disk is full; raises OSError if it is full already."""
    path = directory / RESERVE
    if path.exists() and path.stat().st_size == RESERVE_MIB * 2**20:
        return
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, RESERVE_MIB * 2**20)


class Watch:
    """Looks at a site once a second. Raises AlarmError; `then` is the watcher that is called besides."""

    def __init__(self, directory: Path, then: Watcher, look: Callable[[Path], sites.Status] = sites.status) -> None:
        self._directory, self._then, self._look = directory, then, look
        self._next = 0.0
        self._given_back = False

    def __call__(self, seen: Step | Diagnostic | None, record: Record) -> None:
        self.look()
        self._then(seen, record)

    def look(self) -> None:
        """One look, if it is time for one. Raises AlarmError once."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + LOOK_SECONDS
        self._look_at_disk()
        status = self._look(self._directory)
        if status.state is not sites.State.RUNNING:
            raise AlarmError(
                f"the rehearsal died: {status.reason}. Its account was in memory and is gone with it: the next `up` "
                f"starts clean. Logs: {self._directory / 'log'}",
                at_once=True,
            )

    def _look_at_disk(self) -> None:
        free = shutil.disk_usage(self._directory).free
        if self._given_back or free >= RESERVE_MIB * 2**20:
            return
        self._given_back = True
        with contextlib.suppress(FileNotFoundError):
            (self._directory / RESERVE).unlink()
        raise AlarmError(
            f"the disk of {self._directory} is full ({free / 2**20:.0f} MiB were free): the engine was told to"
            f" finish what is in progress, and what was applied is kept. Free some space, or set GPUCLUSTER_HOME to"
            f" a directory on another disk, then run the same command again: it continues from there.",
            at_once=False,
        )
