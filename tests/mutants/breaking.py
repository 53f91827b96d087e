"""A mutant in this process, which is a copy that ends with it: its code is put in place, and tests are run."""

import ast
import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.change import Changer
from tests.mutants.coverage import module_of
from tests.mutants.points import CHANGED, Mutant

QUICKLY = ("-p", "no:cacheprovider", "--capture=no", "--assert=plain", "--tb=native")
"""How pytest runs here: that a test fails is enough, and to say why of two long tables takes longer than to compare."""


@dataclass(frozen=True, kw_only=True)
class Fate:
    """The test that fails with a mutant in place, '' if none, and whether a value was changed."""

    killer: str
    worked: bool


def fate(
    mutant: Mutant,
    tree: ast.Module,
    root: Path,
    items: Sequence[pytest.Item],
    packages: Sequence[str],
    patience: float | None,
) -> Fate:
    """What becomes of a mutant, for `patience` seconds of the processor at most.

    Code of a function is exchanged where it is. What runs at import is imported again, by a pytest in this pytest, file
    of tests by file.
    """
    patience = math.inf if patience is None else patience
    changer = Changer()
    setattr(builtins, CHANGED, changer)
    mutant.apply()
    code = compile(tree, str(root / mutant.file), "exec", dont_inherit=True)
    module = importlib.import_module(module_of(mutant.file))
    if not mutant.static and _exchange(module, code, mutant.function):
        killer = _first_failure(_within(patience, items))
    else:
        paths = [each.path for each in items]
        items = sorted(items, key=lambda each: paths.index(each.path))
        killer = _first_failure_anew(code, root, mutant.file, items, packages, patience)
    return Fate(killer=killer, worked=bool(changer.worked))


def _exchange(module: ModuleType, code: CodeType, function: str) -> bool:
    """Give the living function the code of its namesake. False where it cannot be found, or has other free names."""
    living: Any = module
    for name in function.split("."):
        inner = next((each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name), None)
        if inner is None:
            return False
        code, living = inner, vars(living).get(name)
        while not isinstance(living, type) and hasattr(living, "__wrapped__"):
            living = living.__wrapped__
        living = getattr(living, "fget", None) or getattr(living, "__func__", living)
        if isinstance(living, FunctionType):
            try:
                living.__code__ = code
            except ValueError:
                return False
            return True
    return False


def _within(patience: float, items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    end = time.process_time() + patience
    return itertools.takewhile(lambda _: time.process_time() < end, items)


def _first_failure(items: Iterable[pytest.Item]) -> str:
    for item in items:
        if any(report.failed for report in runtestprotocol(item, nextitem=None, log=False)):
            return item.nodeid
    return ""


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads one file with the code it is given."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return self._code


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        if fullname != self._name:
            return None
        loader = _Loader(fullname, str(self._path), self._code)
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


class _First:
    """Remembers the first test that failed, or the file that could not be imported; ends when patience does, which
    begins after the first import."""

    test: str = ""
    over: bool = False
    _end: float | None = None

    def __init__(self, patience: float) -> None:
        self._patience = patience

    def pytest_collection_modifyitems(self) -> None:
        self._end = self._end or time.process_time() + self._patience

    def pytest_runtest_logstart(self) -> None:
        if self._end is not None and time.process_time() >= self._end:
            self.over = True
            pytest.exit("out of patience")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.test:
            self.test = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.test:
            self.test = report.nodeid


def _first_failure_anew(
    code: CodeType, root: Path, file: str, items: Sequence[pytest.Item], packages: Sequence[str], patience: float
) -> str:
    """Forget the program and its tests, and import them again with the mutant in its place, as far as each file of
    tests needs: the first that fails; of a file that cannot be imported, its first."""
    ours: Callable[[str], bool] = lambda name: name.partition(".")[0] in packages and "mutants" not in name  # noqa: E731
    for name in [each for each in sys.modules if ours(each) or each == "conftest"]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder(module_of(file), root / file, code))
    first = _First(patience)
    words = ["-x", *QUICKLY, "--rootdir", str(root)]
    for _, of_file in itertools.groupby(items, lambda each: each.path):
        tests = [item.nodeid for item in of_file]
        pytest.main([*words, *tests], plugins=[first])
        if first.test:
            return first.test if first.test in tests else tests[0]
        if first.over:
            break
    return ""
