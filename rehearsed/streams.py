"""Streams of a vLLM server, and what becomes of them when it is told to end.

Source: vLLM pull requests 34730 and 36666: on SIGTERM a server takes no more requests; those it has go on for as many
seconds as `--shutdown-timeout` says, and are aborted then, or at once where it is 0, which is the default. The seconds
are those of the clock, as a pod's grace period is.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

from rehearsal.cluster.pages import Rest

TOKEN_SECONDS = 0.05
"""Between two tokens of a stream. Assumed."""


class Streams:
    """Those of one server. `wake` is told when the last one ends of a server that was told to end."""

    def __init__(self, drain_seconds: float, wake: Callable[[], None]) -> None:
        self._drain, self._wake, self._lock = drain_seconds, wake, threading.Lock()
        self._open, self._until = 0, math.inf
        self._told = self._cut = False

    @property
    def refuses(self) -> bool:
        """Whether it takes no more requests."""
        return self._told

    def of(self, parts: Sequence[bytes]) -> Rest:
        """A stream of these parts. It counts from when it is begun until it is closed."""
        return lambda: _Stream(self, parts)

    def begins(self) -> None:
        with self._lock:
            self._open += 1

    def ends(self) -> None:
        with self._lock:
            self._open -= 1
            last = self._told and not self._open
        if last:
            self._wake()

    @property
    def gone(self) -> bool:
        """Whether the process is, or its time to drain."""
        return self._cut or time.monotonic() > self._until

    def leaves(self) -> bool:
        """SIGTERM, or asked again after it: whether all streams have ended."""
        with self._lock:
            if not self._told:
                self._told, self._until = True, time.monotonic() + self._drain
            return not self._open or time.monotonic() >= self._until

    def cut(self) -> None:
        """The process is gone."""
        self._cut = True


class _Stream:
    """One of them."""

    def __init__(self, of: Streams, parts: Sequence[bytes]) -> None:
        self._of, self._parts = of, iter(parts)
        of.begins()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[float, bytes]:
        if self._of.gone:
            raise ConnectionResetError("the server ended before the stream did")
        return TOKEN_SECONDS, next(self._parts)

    def close(self) -> None:
        self._of.ends()
