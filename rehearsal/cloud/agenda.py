"""Things that AWS finishes a little after it has answered: file systems that come up, NAT gateways that go away."""

import heapq
import itertools
import time
from collections.abc import Callable


class Agenda:
    """Effects due later; the server runs the due ones under its lock before it looks at the next request."""

    def __init__(self) -> None:
        self._order = itertools.count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []

    def after(self, seconds: float, effect: Callable[[], None]) -> None:
        """Run ``effect`` before the first request that arrives at least ``seconds`` from now."""
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._order), effect))

    def run_due(self) -> None:
        """Run what is due, earliest first."""
        while self._due and self._due[0][0] <= time.monotonic():
            heapq.heappop(self._due)[2]()

    def clear(self) -> None:
        """Forget everything, when the account is reset."""
        self._due.clear()


AGENDA = Agenda()
"""The agenda of this process: one process is one account."""
