"""Which test runs which lines of the program, and how long each takes; kept until a file that matters changes."""

import ast
import builtins
import functools
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import re
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.forks import each_forked

QUOTED = re.compile(r'"([^"\n]+)"')
RAN = "__ran__"
"""Name of the builtin that is told which lines run."""
Lines = dict[str, list[int]]
_PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
SCRIPTS = frozenset(tomllib.loads(_PYPROJECT.read_text())["tool"]["pytest"]["ini_options"]["pythonpath"])
"""Directories whose files import each other by their names alone."""
SECONDS = 1800
"""That a file of tests may take while each of its lines is noted."""


class BrokenSuiteError(Exception):
    """A test fails, or leaves out, without any mutant; the text says which."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What one test ran: lines by file, and the seconds of the processor that it takes alone."""

    test: str
    seconds: float
    lines: Lines


def module_of(file: str) -> str:
    """The module that a file of the program is imported as: by its own name alone where it is a script's, as on nodes
    and in the account there is no package around it.
    """
    place = Path(file)
    return (
        place.stem
        if os.fspath(place.parent) in SCRIPTS
        else ".".join(place.with_suffix("").parts).removesuffix(".__init__")
    )


class Noting(importlib.abc.MetaPathFinder):
    """Has files below `root` imported so."""

    def __init__(self, root: Path, files: Sequence[str]) -> None:
        self._paths = {module_of(file): os.fspath(root / file) for file in files}
        setattr(builtins, RAN, lambda *_: None)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        if (place := self._paths.get(fullname)) is not None:
            return importlib.util.spec_from_file_location(fullname, place, loader=Noted(fullname, place))
        return None


class Noted(importlib.machinery.SourceFileLoader):
    """Loads a file of the program so that its functions tell of each statement before it runs.

    A trace function would be asked about every call of the SDK as well, which takes twenty times as long.
    """

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        tree = _Noting(self.path).visit(ast.parse(Path(self.path).read_bytes()))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)


class _Noting(ast.NodeTransformer):
    """Puts a call of `RAN` before each statement of a function: with the file, and the lines of what is run at once,
    which is the head of a compound one."""

    def __init__(self, path: str) -> None:
        self._path, self._functions = path, 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self._functions += 1
        self.generic_visit(node)
        self._functions -= 1
        return node

    def visit(self, node: ast.AST) -> Any:
        if not (self._functions and isinstance(node, ast.stmt)):
            return super().visit(node)
        inner = [each for each in ast.walk(node) if isinstance(each, ast.stmt) and each is not node]
        last = min((each.lineno for each in inner), default=node.lineno + 1) - 1
        words: list[ast.expr] = [ast.Constant(each) for each in (self._path, node.lineno, max(node.lineno, last))]
        return [ast.copy_location(ast.Expr(ast.Call(ast.Name(RAN, ast.Load()), words, [])), node), super().visit(node)]


class Tracer:
    """Notes the lines of some files that run. A cached call counts for each test that makes it, with its time."""

    def __init__(self, root: Path, files: Sequence[str]) -> None:
        self._names = {os.fspath(root / file): file for file in files}
        self.lines: set[tuple[str, int]] = set()
        self.saved_seconds = 0.0

    def ran(self, path: str, first: int, last: int) -> None:
        if path in self._names:
            self.lines.update((self._names[path], line) for line in range(first, last + 1))

    def remembering(self, cached: Callable[..., Any]) -> Callable[..., Any]:
        """In the place of a function under `functools.cache`."""
        known: dict[Any, tuple[Any, set[tuple[str, int]], float]] = {}
        plain = cached.__wrapped__  # type: ignore[attr-defined]

        @functools.wraps(plain)
        def call(*args: Any, **named: Any) -> Any:
            key = (args, tuple(sorted(named.items())))
            if key not in known:
                outer, self.lines = self.lines, set()
                start = time.process_time()
                value = plain(*args, **named)
                known[key] = (value, self.lines, time.process_time() - start)
                self.lines = outer
            else:
                self.saved_seconds += known[key][2]
            self.lines |= known[key][1]
            return known[key][0]

        return call


def _remember_instead(tracer: Tracer, packages: Sequence[str]) -> None:
    """Replace what is under `functools.cache` wherever one of the packages refers to it."""
    made: dict[int, Callable[..., Any]] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in packages:
            for variable, value in list(vars(module).items()):
                if isinstance(value, functools._lru_cache_wrapper):
                    made.setdefault(id(value), tracer.remembering(value))
                    setattr(module, variable, made[id(value)])


def _trace(items: Sequence[pytest.Item], root: Path, files: Sequence[str], packages: Sequence[str]) -> list[Ran]:
    tracer = Tracer(root, files)
    _remember_instead(tracer, packages)
    setattr(builtins, RAN, tracer.ran)
    found = []
    for item in items:
        tracer.lines, tracer.saved_seconds = set(), 0.0
        start = time.process_time()
        reports = runtestprotocol(item, nextitem=None, log=False)
        seconds = time.process_time() - start + tracer.saved_seconds
        for report in reports:
            if report.failed:
                raise BrokenSuiteError(f"{item.nodeid} fails without any mutant:\n{report.longreprtext}")
        lines: Lines = {}
        for file, line in sorted(tracer.lines):
            lines.setdefault(file, []).append(line)
        found.append(Ran(test=item.nodeid, seconds=seconds, lines=lines))
    return found


def covered(
    items: Sequence[pytest.Item], root: Path, files: Sequence[str], packages: Sequence[str], cache: Path, jobs: int
) -> list[Ran]:
    """What each test runs, quickest first: measured for the files of tests whose own text or whose support changed."""
    by_file: dict[Path, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    support = Support(root)
    kept = {path: cache / f"{path.stem}-{support.key(path, files)}.json" for path in by_file}
    cache.mkdir(parents=True, exist_ok=True)
    works = (
        (path, functools.partial(_trace, by_file[path], root, files, packages), SECONDS)
        for path in by_file
        if not kept[path].exists()
    )
    for path, answer in each_forked(works, jobs):
        if isinstance(answer, list):
            kept[path].write_text(json.dumps([[each.test, each.seconds, each.lines] for each in answer]))
        else:
            raise BrokenSuiteError(f"{path}: {answer or 'died, or took too long'}")
    wanted = {item.nodeid for item in items}
    found = [
        Ran(test=test, seconds=seconds, lines=lines)
        for path in by_file
        for test, seconds, lines in json.loads(kept[path].read_text())
        if test in wanted
    ]
    return sorted(found, key=lambda ran: ran.seconds)


class Support:
    """What a file of tests may read below `root`: the program, what it imports of the tests, and tables of theirs whose
    name, or whose directory's, stands in quotes in one of those."""

    def __init__(self, root: Path) -> None:
        self._root = root
        texts = {path.relative_to(root): path.read_bytes() for path in _texts(root)}
        self._tests = {place: text for place, text in texts.items() if _of_tests(place)}
        self._program = hashlib.sha256()
        for place, text in texts.items():
            if place not in self._tests:
                self._program.update(_named(place, text))
        self._uses: dict[Path, tuple[set[Path], set[str]]] = {}

    def key(self, path: Path, files: Sequence[str]) -> str:
        """Differs when any of it does, or the files that are traced."""
        found, said, left = set[Path](), set[str](), [path.relative_to(self._root)]
        while left:
            if (place := left.pop()) not in found and place in self._tests:
                found.add(place)
                uses, words = self._used(place)
                left += uses
                said |= words
        whole = self._program.copy()
        whole.update(" ".join(files).encode())
        for place, text in self._tests.items():
            if place in found or (place.suffix == ".yaml" and {place.name, place.parent.name} & said):
                whole.update(_named(place, text))
        return whole.hexdigest()[:16]

    def _used(self, place: Path) -> tuple[set[Path], set[str]]:
        """What a file may import, and the words that it has in quotes."""
        if place not in self._uses:
            text = self._tests[place].decode()
            modules = [each.replace(".", "/") for each in imported(text)]
            places = {Path(each) for module in modules for each in (f"{module}.py", f"{module}/__init__.py")}
            self._uses[place] = places, set(QUOTED.findall(text))
        return self._uses[place]


def _named(place: Path, text: bytes) -> bytes:
    return place.as_posix().encode() + b"\0" + text


def imported(source: str | bytes) -> set[str]:
    """Modules that a source imports or imports from, as far as they are named in full."""
    nodes = list(ast.walk(ast.parse(source)))
    each_from = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return (
        {f"{node.module}" for node in each_from}
        | {f"{node.module}.{alias.name}" for node in each_from for alias in node.names}
        | {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    )


def _of_tests(place: Path) -> bool:
    return place.name.startswith("test_") or place.parts[0] == "tests"


def _texts(root: Path) -> Iterator[Path]:
    for place in sorted(root.iterdir()):
        if not place.name.startswith(".") and place.name not in ("build", "rehearsal", "docs"):
            found = sorted(place.rglob("*")) if place.is_dir() else [place]
            yield from (each for each in found if each.suffix in {".py", ".yaml"} and each.is_file())
