"""Work that programs in pods do on the side: each piece once, in a few shared threads, repeated until it is done."""

import threading
from collections.abc import Callable

from rehearsal.kube.workqueue import WorkQueue

Work = Callable[[], float | None]
WORKERS = 4


class Tasks:
    """Named pieces of work. A piece returns None when it is done, or the seconds after which it is to be repeated."""

    def __init__(self) -> None:
        self._work: dict[str, Work] = {}
        self._lock = threading.Lock()
        self._queue = WorkQueue("tasks", self._do, WORKERS)

    def start(self) -> None:
        self._queue.start()

    def stop(self) -> None:
        self._queue.stop()

    def run(self, name: str, work: Work) -> None:
        """Begin (or replace) the piece of that name."""
        with self._lock:
            self._work[name] = work
        self._queue.add(name)

    def cancel(self, name: str) -> None:
        """It is not to be repeated any more."""
        with self._lock:
            self._work.pop(name, None)

    def _do(self, name: str) -> float | None:
        with self._lock:
            work = self._work.get(name)
        if work is None:
            return None
        again = work()
        if again is None:
            with self._lock:
                if self._work.get(name) is work:
                    del self._work[name]
        return again
