"""make mutants: break the wiring of stacks and components in every small way, and list what no quick test notices.

One process imports the SDKs, the program and its tests, and collects. For each mutant it forks, exchanges the code, and
runs the tests that cover the line, quickest first, until one fails. Whatever slows this down is in docs/adr/0009.
"""

import argparse
import ast
import contextlib
import functools
import gc
import io
import json
import os
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants import reasons
from tests.mutants.breaking import QUICKLY
from tests.mutants.coverage import BrokenSuiteError, Noting, Ran, covered, imported, module_of
from tests.mutants.points import Mutant, files, mutants
from tests.mutants.trial import Trial

PROGRAM = ("stacks", "components")
TESTS = ("tests/components", "tests/stacks", "tests/graph")
NOT_KILLERS = (
    "test_urns_are_those_on_record",
    "test_every_import_is_allowed",
    "test_what_a_good_file_deploys_keeps_every_rule_and_schema",
)
"""Tests that notice that something is different, and not that it is wrong; and one that asks of twenty stacks, slowly,
what tests/graph asks of the shipped ones."""

PATIENCE = "of the processor, after which a mutant counts as a survivor, whatever its other tests would say"


def main(words: Sequence[str] | None = None) -> int:
    """Exit status 0 if hardly any mutant survives, each with its reason; 1 if not; 2 if the tests fail without one."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("paths", nargs="*", help="files or directories to break (default: stacks components)")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--program", nargs="+", default=PROGRAM, help="packages that the tests are traced through")
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sample", type=int, metavar="N", help="try N of each path's mutants, drawn by chance")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default: 1)")
    parser.add_argument("--again", action="store_true", help="try what survived the last time, with other tests")
    parser.add_argument("--patience", type=float, metavar="SECONDS", help=PATIENCE)
    options = parser.parse_args(words)
    os.chdir(options.root)
    sys.path.insert(0, os.fspath(options.root))
    run = _Run(options)
    sys.meta_path.insert(0, Noting(options.root, run.traced))
    words = [*QUICKLY, "--rootdir", os.fspath(options.root), "-m", "not engine"]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        pytest.main([*words, *options.tests], plugins=[run])
    if run.status is None:
        print(said.getvalue())
        return 2
    return run.status


class _Run:
    """In the place of pytest's loop over tests: one over mutants."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.status: int | None = None
        self._out = sys.stdout
        self._root, self._program, self._jobs = options.root, options.program, options.jobs
        self._again = options.again
        self._sample, self._seed = options.sample, options.seed
        self._patience = options.patience
        self._cache = self._root / "build" / "mutants"
        self._lived = self._cache / "lived.json"
        self._places = {path: list(files(self._root, path)) for path in options.paths or self._program}
        self._files = [file for each in self._places.values() for file in each]
        self.traced = [file for package in self._program for file in files(self._root, package)]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items if item.name.partition("[")[0] not in NOT_KILLERS}
        modules = {item.module.__name__ for item in items.values() if isinstance(item, pytest.Function)}
        names = {*modules, *map(module_of, self.traced)}
        packages = {name.partition(".")[0] for name in names}
        try:
            known = covered(list(items.values()), self._root, self.traced, sorted(packages), self._cache, self._jobs)
        except (BrokenSuiteError, RuntimeError) as error:
            print(error, file=self._out)
            self.status = 2
            return True
        self.status = self._judge(items, known, sorted(packages))
        return True

    def _judge(self, items: dict[str, pytest.Item], known: Sequence[Ran], packages: Sequence[str]) -> int:
        survivors: list[Mutant] = []
        tried: list[Mutant] = []
        trial = Trial(self._root, items, packages, jobs=self._jobs, patience=self._patience)
        gc.freeze()
        for file, tree, found in self._drawn():
            print(f"trying {len(found)} mutants of {file}", file=self._out, flush=True)
            for mutant, lives in trial.survivors(tree, [self._cover(mutant, known) for mutant in found]):
                tried.append(mutant)
                if lives:
                    survivors.append(mutant)
                    print(f"survives: {mutant}", file=self._out, flush=True)
        self._lived.write_text(json.dumps([each.key for each in survivors]))
        survivors.sort(key=lambda each: (each.file, each.line))
        excused = reasons.read(self._root / "tests" / "mutants" / "survivors.toml")
        whole = not (self._sample or self._again)
        lines, well = reasons.verdict(survivors, tried, self._files if whole else (), excused)
        if len(self._places) > 1:
            lines[-1:-1] = [self._rate(place, survivors, tried) for place in self._places]
        if self._sample:
            lines.append(f"{lines.pop()}, {self._sample} of each drawn by chance with seed {self._seed}")
        print("\n".join(lines), file=self._out)
        return 0 if well else 1

    def _rate(self, place: str, survivors: Sequence[Mutant], tried: Sequence[Mutant]) -> str:
        here = self._places[place]
        return f"{place}: {reasons.rate(*(sum(each.file in here for each in some) for some in (survivors, tried)))}"

    def _cover(self, mutant: Mutant, known: Sequence[Ran]) -> tuple[Mutant, list[Ran]]:
        """The mutant and the tests of it. What no test runs is run when its file is imported, or by nobody."""
        users = self._users(mutant.file)
        if found := [ran for ran in known if _covers(ran, mutant, users)]:
            return mutant, found
        mutant = replace(mutant, static=True)
        return mutant, [ran for ran in known if _covers(ran, mutant, users)]

    def _drawn(self) -> list[tuple[str, ast.Module, list[Mutant]]]:
        """Files with their mutants, or with those of the sample."""
        found = {file: mutants(self._root, file) for file in self._files}
        chance, chosen = random.Random(self._seed), set()  # noqa: S311 - no secret
        lived = {tuple(each) for each in json.loads(self._lived.read_text())} if self._again else None
        for within in self._places.values():
            known = [mutant for file in within for mutant in found[file][1]]
            every = [id(mutant) for mutant in known if lived is None or mutant.key in lived]
            chosen.update(chance.sample(every, min(self._sample or len(every), len(every))))
        rows = ((file, tree, [each for each in every if id(each) in chosen]) for file, (tree, every) in found.items())
        return [row for row in rows if row[2]]

    @functools.cache  # noqa: B019 - there is one
    def _users(self, file: str) -> frozenset[str]:
        """The files whose behaviour may change with what `file` does when it is imported: itself, and its users."""
        imports = {each: imported((self._root / each).read_bytes()) for each in self.traced}
        found = {file}
        while more := {each for each, names in imports.items() if each not in found and names & _names(found)}:
            found |= more
        return frozenset(found)


def _names(found: set[str]) -> set[str]:
    return {module_of(each) for each in found}


def _covers(ran: Ran, mutant: Mutant, users: frozenset[str]) -> bool:
    if mutant.static:
        return not users.isdisjoint(ran.lines)
    return any(line in mutant.lines for line in ran.lines.get(mutant.file, ()))


if __name__ == "__main__":
    sys.exit(main())
