"""A mutant in this process, which is a copy that ends with it: its code is put in place, and its tests are run."""

import ast
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.change import Changer
from tests.mutants.points import CHANGED, Mutant

SURVIVED, WITHOUT_EFFECT = "survived", "without effect"


def fate(
    mutant: Mutant,
    tree: ast.Module,
    root: Path,
    items: Sequence[pytest.Item],
    packages: Sequence[str],
    patience: float = math.inf,
) -> str:
    """The test that fails with the mutant in place, SURVIVED, or WITHOUT_EFFECT if it changed no value.

    Tests after `patience` seconds of the processor are left out: what lives so long counts as a survivor.
    Code of a function is exchanged where it is. What runs at import is imported again, by a pytest in this pytest.
    """
    changer = Changer()
    setattr(builtins, CHANGED, changer)
    mutant.apply()
    code = compile(tree, str(root / mutant.file), "exec", dont_inherit=True)
    module = sys.modules.get(_module(mutant.file))
    if not mutant.static and module is not None and _exchange(module, code, mutant.function):
        killer = _first_failure(_within(patience, items))
    else:
        killer = _first_failure_anew(code, root, mutant.file, items, packages, patience)
    if killer:
        return killer
    return SURVIVED if changer.worked or mutant.how == "dropped" else WITHOUT_EFFECT


def _module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


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
    """Remembers the first test that failed, or whose file could not be imported; ends when patience does."""

    test: str = ""

    def __init__(self, patience: float) -> None:
        self._patience = patience

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self._left = iter(_within(self._patience, items[:]))

    def pytest_runtest_logstart(self) -> None:
        if next(self._left, None) is None:
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
    """Forget the program and its tests, and import them again with the mutant in its place."""
    ours: Callable[[str], bool] = lambda name: name.partition(".")[0] in packages and "mutants" not in name  # noqa: E731
    for name in [each for each in sys.modules if ours(each) or each == "conftest"]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder(_module(file), root / file, code))
    first = _First(patience)
    words = ["-x", "-p", "no:cacheprovider", "--capture=no", "--rootdir", str(root)]
    pytest.main([*words, *(item.nodeid for item in items)], plugins=[first])
    return first.test
