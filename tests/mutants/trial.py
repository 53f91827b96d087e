"""What becomes of the mutants of a file: each alone with its likeliest killers, then those that live all at once.

A run of the program serves all that are tried together. Whoever dies there dies alone of the same test; what a mutant
hides of another in the same run lets that one live, so the rate of survivors is an upper bound.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    """Tries mutants: each alone for some seconds of the processor; then together, unless `impatient`, when what lives
    so long survives whatever its other tests would say."""

    def __init__(
        self,
        root: Path,
        items: Mapping[str, pytest.Item],
        packages: Sequence[str],
        *,
        jobs: int,
        alone: float,
        impatient: bool,
    ) -> None:
        self._root, self._items, self._packages, self._jobs = root, items, packages, jobs
        self._seconds, self._impatient = alone, impatient
        self.killers = Killers(root / "build" / "mutants" / "killers.json")

    def survivors(self, tree: ast.Module, found: Sequence[Covered]) -> Iterator[tuple[Mutant, bool]]:
        """Mutants of one file that change anything, as they come, and whether each lives."""
        suspects: list[tuple[Mutant, Fate]] = []
        for mutant, answer in self._alone(tree, found):
            if answer is None:
                yield mutant, False
            elif answer.killer:
                self.killers.keep(mutant, answer.killer)
                yield mutant, False
            elif answer.left and not self._impatient:
                suspects.append((mutant, answer))
            elif _works(mutant, answer):
                yield mutant, True
        for group in _apart(suspects):
            yield from self._together(tree, group)
        self.killers.write()

    def _alone(self, tree: ast.Module, found: Sequence[Covered]) -> Iterator[tuple[Mutant, Fate | None]]:
        def works() -> Iterator[tuple[Mutant, Callable[[], Fate], int]]:
            for mutant, cover in found:
                tests = self.killers.order(mutant, cover)
                seconds = max(LEAST_SECONDS, int(TIMES * sum(ran.seconds for ran in cover)))
                yield mutant, self._call([mutant], tree, tests, self._seconds), seconds

        return _fates(works(), self._jobs)

    def _call(
        self, some: Sequence[Mutant], tree: ast.Module, tests: Sequence[str], patience: float | None = None
    ) -> Callable[[], Fate]:
        items = [self._items[test] for test in tests]
        return partial(fate, some, tree, self._root, items, self._packages, patience)

    def _together(self, tree: ast.Module, group: Sequence[tuple[Mutant, Fate]]) -> Iterator[tuple[Mutant, bool]]:
        """In the order of the tests' files, so that tests of one find what they share."""
        living = [mutant for mutant, _ in group]
        worked = {place for _, before in group for place in before.worked}
        wanted = {test for _, before in group for test in before.left}
        tests: Sequence[str] = [test for test in self._items if test in wanted]
        while tests and living:
            works = [(living[0], self._call(living, tree, tests), len(tests) * LEAST_SECONDS)]
            ((_, answer),) = _fates(works, 1)
            if answer is None:
                break
            worked |= answer.worked
            killer, tests = answer.killer, [test for test in answer.left if test != answer.killer]
            works = [(each, self._call([each], tree, [killer]), LEAST_SECONDS) for each in living if killer]
            for mutant, alone in _fates(works, self._jobs):
                if alone is None or alone.killer:
                    living.remove(mutant)
                    self.killers.keep(mutant, killer)
                    yield mutant, False
        for mutant in living:
            if mutant.how == "dropped" or mutant.place in worked:
                yield mutant, True


def _fates(works: Iterable[tuple[Mutant, Callable[[], Fate], int]], jobs: int) -> Iterator[tuple[Mutant, Fate | None]]:
    """The fate of each; None of one that ended its process, or took too long."""
    for mutant, answer in each_forked(works, jobs):
        if isinstance(answer, Exception):
            raise answer
        yield mutant, answer if isinstance(answer, Fate) else None


def _works(mutant: Mutant, answer: Fate) -> bool:
    return mutant.how == "dropped" or mutant.place in answer.worked


def _apart(suspects: Sequence[tuple[Mutant, Fate]]) -> list[list[tuple[Mutant, Fate]]]:
    """Groups of mutants that can be in place at once: of one statement there is one in each."""
    groups: list[list[tuple[Mutant, Fate]]] = []
    for each in suspects:
        lines = set(each[0].lines)
        free = (group for group in groups if all(lines.isdisjoint(other.lines) for other, _ in group))
        if (group := next(free, None)) is None:
            groups.append(group := [])
        group.append(each)
    return groups
