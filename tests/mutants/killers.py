"""Which tests kill: what killed a mutant the last time is tried first, then what kills most for the time it takes."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.mutants.coverage import Ran
from tests.mutants.points import Mutant

NEAR = 10
"""How much more it says that a test killed a mutant of the same file than one of another."""


class Killers:
    """What killed each mutant, kept in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
        self._kills: Counter[tuple[str, str]] = Counter()
        for name, test in self._known.items():
            self._count(name.partition("|")[0], test)

    def _count(self, file: str, test: str) -> None:
        self._kills[file, _function(test)] += NEAR
        self._kills["", _function(test)] += 1

    def order(self, mutant: Mutant, cover: Sequence[Ran]) -> list[str]:
        """The tests that cover a mutant, the likeliest killers first.

        Tests of one file that take as long as each other share what takes them time, a run of the program: they cost
        that once, and the more they are, the more of it they look at.
        """
        last = self._known.get(_name(mutant))
        groups: dict[tuple[str, int], list[Ran]] = defaultdict(list)
        for ran in cover:
            groups[_sharing(ran)].append(ran)
        worth = {
            each: (math.sqrt(len(some)) + sum(self._kills_of(mutant.file, {_function(ran.test) for ran in some})))
            / max(0.001, *(ran.seconds for ran in some))
            for each, some in groups.items()
        }

        def place(ran: Ran) -> tuple[bool, float, int, str]:
            function = _function(ran.test)
            return ran.test != last, -worth[_sharing(ran)], -sum(self._kills_of(mutant.file, {function})), function

        return [ran.test for ran in sorted(cover, key=place)]

    def _kills_of(self, file: str, functions: set[str]) -> Iterator[int]:
        return (self._kills[where, each] for where in (file, "") for each in functions)

    def keep(self, mutant: Mutant, test: str) -> None:
        """A test killed a mutant."""
        self._known[_name(mutant)] = test
        self._count(mutant.file, test)

    def write(self) -> None:
        """For the next run."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._known, sort_keys=True))


def _name(mutant: Mutant) -> str:
    return "|".join(mutant.key)


def _sharing(ran: Ran) -> tuple[str, int]:
    return ran.test.partition("::")[0], math.floor(math.log(max(ran.seconds, 0.001), 3))


def _function(test: str) -> str:
    return test.partition("[")[0]
