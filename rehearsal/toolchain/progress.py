"""How far a build is, how long it will still take, and how that is shown."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rehearsal.toolchain.go import Report

TRUST_SECONDS = 60.0
"""Measured seconds that count as much as the pace that is assumed before anything is measured."""
MOST_CORES = 8
"""Further cores make a build no faster: it waits for its longest chain of packages."""


@dataclass(frozen=True)
class Work:
    """One step: what is built, and the seconds that takes on two cores from empty caches."""

    what: str
    seconds: float


@runtime_checkable
class Live(Protocol):
    """A report that can also show one line which keeps itself up to date: a terminal."""

    def __call__(self, line: str) -> None: ...

    def following(self, now: Callable[[], str]) -> AbstractContextManager[object]:
        """Shows what `now` says, again and again, as long as the context is open."""


class Progress:
    """The steps of one run, taken in order. In a log each is one line; on a terminal it stays with what it took."""

    def __init__(self, works: Sequence[Work], report: Report, clock: Callable[[], float] = time.monotonic) -> None:
        self._works, self._report, self._clock = works, report, clock
        self._taken: list[float] = []

    @contextmanager
    def step(self) -> Iterator[None]:
        """The next step; it counts as taken if its context ends well."""
        begun, work = self._clock(), self._works[len(self._taken)]

        def now() -> str:
            return self._line(work, self._clock() - begun)

        if isinstance(self._report, Live):
            with self._report.following(now):
                yield
            self._report(f"built {work.what} in {self._clock() - begun:.0f} s")
        else:
            self._report(now())
            yield
        self._taken.append(self._clock() - begun)

    def _line(self, work: Work, running: float) -> str:
        expected = [each.seconds for each in self._works]
        left = in_words(remaining(expected, self._taken, running, usual_pace()))
        so_far = f", {running:.0f} s so far" if running >= 1 else ""
        return f"building {work.what} ({len(self._taken) + 1} of {len(self._works)}, {left} on this machine){so_far}"

    def summary(self) -> str:
        """What each step took."""
        each = ", ".join(f"{work.what} {taken:.0f} s" for work, taken in zip(self._works, self._taken, strict=False))
        return f"built in {sum(self._taken):.0f} s: {each}"


def usual_pace() -> float:
    """How many times as long as on two cores a build takes here, before anything is measured."""
    return 2 / min(len(os.sched_getaffinity(0)), MOST_CORES)


def remaining(expected: Sequence[float], taken: Sequence[float], running: float, pace: float) -> float:
    """Seconds that are left of steps which take `expected` seconds each at pace 1.

    The first `len(taken)` steps are done and took that long; the next one has been `running`. What was measured
    replaces `pace` bit by bit, so packages that are compiled already, and a slow machine, move the guess.
    """
    rest = expected[len(taken) :]
    if not rest:
        return 0.0
    assumed = TRUST_SECONDS + sum(expected[: len(taken)])
    measured = TRUST_SECONDS * pace + sum(taken)
    if running * assumed > measured * rest[0]:
        assumed, measured = assumed + rest[0], measured + running
    pace = measured / assumed
    return max(pace * rest[0] - running, running / 10) + pace * sum(rest[1:])


def in_words(seconds: float) -> str:
    """A guess as precise as it deserves."""
    return "less than a minute left" if seconds < 45 else f"about {max(1, round(seconds / 60))} min left"
