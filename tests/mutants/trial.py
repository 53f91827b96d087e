"""What becomes of the mutants of a file: each alone, with the tests that cover it, its likeliest killers first."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.mutants.breaking import Fate, fate
from tests.mutants.coverage import Ran
from tests.mutants.forks import each_forked
from tests.mutants.killers import Killers
from tests.mutants.points import Mutant

LEAST_SECONDS, TIMES = 60, 10
"""How long a mutant's tests may take: at least so many seconds, and so many times what they take without it."""

Covered = tuple[Mutant, Sequence[Ran]]


class Trial:
    """Tries mutants, for `patience` seconds of the processor each where it is given: what lives so long survives,
    whatever its other tests would say."""

    def __init__(
        self,
        root: Path,
        items: Mapping[str, pytest.Item],
        packages: Sequence[str],
        *,
        jobs: int,
        patience: float | None,
    ) -> None:
        self._root, self._items, self._packages = root, items, packages
        self._jobs, self._patience = jobs, patience
        self._killers = Killers(root / "build" / "mutants" / "killers.json")

    def survivors(self, tree: ast.Module, found: Sequence[Covered]) -> Iterator[tuple[Mutant, bool]]:
        """Mutants that change anything, as they come, and whether each lives."""
        for mutant, answer in each_forked(self._works(tree, found), self._jobs):
            if isinstance(answer, Exception):
                raise answer
            if not isinstance(answer, Fate):  # it ended its process, or took too long
                yield mutant, False
            elif answer.killer:
                self._killers.keep(mutant, answer.killer)
                yield mutant, False
            elif mutant.how == "dropped" or answer.worked:
                yield mutant, True
        self._killers.write()

    def _works(self, tree: ast.Module, found: Sequence[Covered]) -> Iterator[tuple[Mutant, Callable[[], Fate], int]]:
        for mutant, cover in found:
            items = [self._items[test] for test in self._killers.order(mutant, cover)]
            seconds = max(LEAST_SECONDS, int(TIMES * sum(ran.seconds for ran in cover)))
            yield mutant, partial(fate, mutant, tree, self._root, items, self._packages, self._patience), seconds
