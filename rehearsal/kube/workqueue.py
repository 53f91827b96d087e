"""A queue of keys worked off by a few threads: a key is never handled twice at once, and may be due later."""

import heapq
import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0


class WorkQueue:
    """Calls `handle(key)` for every key added, at its time.

    A key that is added while it is being handled is handled once more afterwards; of several times the earliest
    counts. `handle` may return seconds after which the key is due again. An exception is logged and the key tried
    again.
    """

    def __init__(self, name: str, handle: Callable[[str], float | None], workers: int = 1) -> None:
        self._name, self._handle, self._workers = name, handle, workers
        self._due: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        self._busy: set[str] = set()
        self._changed = threading.Condition()
        self._stopped = False
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        for number in range(self._workers):
            thread = threading.Thread(target=self._work, name=f"{self._name}-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self, timeout: float = 5.0) -> None:
        """No key is begun after this; waits up to `timeout` seconds for those in hand."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def add(self, key: str, delay: float = 0.0) -> None:
        at = time.monotonic() + delay
        with self._changed:
            if key in self._due and self._due[key] <= at:
                return
            self._due[key] = at
            heapq.heappush(self._heap, (at, key))
            self._changed.notify()

    def forget(self, key: str) -> None:
        """The key is not due any more, until it is added again."""
        with self._changed:
            self._due.pop(key, None)

    def _take(self) -> str | None:
        """Waits for a due key that nobody handles; None at the end."""
        with self._changed:
            while not self._stopped:
                wait = None
                postponed: list[tuple[float, str]] = []
                while self._heap:
                    at, key = self._heap[0]
                    if self._due.get(key) != at:
                        heapq.heappop(self._heap)
                        continue
                    wait = at - time.monotonic()
                    if wait > 0:
                        break
                    heapq.heappop(self._heap)
                    if key in self._busy:
                        postponed.append((at, key))
                        wait = None
                        continue
                    del self._due[key]
                    self._busy.add(key)
                    for entry in postponed:
                        heapq.heappush(self._heap, entry)
                    return key
                for entry in postponed:
                    heapq.heappush(self._heap, entry)
                self._changed.wait(wait)
            return None

    def _work(self) -> None:
        while (key := self._take()) is not None:
            again: float | None = None
            try:
                again = self._handle(key)
            except Exception:
                log.exception("%s: %s", self._name, key)
                again = RETRY_SECONDS
            with self._changed:
                self._busy.discard(key)
                self._changed.notify_all()
            if again is not None and not self._stopped:
                self.add(key, again)
