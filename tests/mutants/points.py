"""Where a source can be broken: each argument, each entry of a dict or list, each literal, changed or dropped.

Left out by construction: docstrings, annotations and decorators, conditions, everything in a `raise`, what is logged,
what `--help` shows, logical names and parents (`named(...)`, the first argument of a constructor, `parent=`; the
goldens of URNs hold them), and component outputs (`register_outputs`), which nothing but a person reads. What
`Output.all` waits for is dropped and not changed: most of it is there for the order alone.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from tests.mutants.change import Place

CHANGED = "__changed__"
"""Name of the builtin that changes a value at run time: see change.py."""

SILENT = frozenset(
    {"register_outputs", "named", "warn", "info", "debug", "error", "isinstance", "super", "field", "ArgumentParser"}
)
"""Calls whose arguments nobody registers."""

COMPOSED = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Call, ast.Lambda)
"""Values whose parts are broken, and not the whole."""

ALIAS = re.compile(r"([A-Z][a-z]\w*|dict|list|tuple|type)\[")
"""How a name for a type begins."""

LONGEST = 100
"""How much of a text is shown, and known by."""

How = Literal["changed", "dropped"]
Key = tuple[str, str, str, str]
"""(file, function, text, how): what a mutant is known by when lines move."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One way to break a file: `text` of the source, `changed` or `dropped`, in `function` ('' outside of any).

    `lines` are those of the statement, `place` is that of the value. `apply` breaks the tree, once. `static` says that
    the code runs at import.
    """

    file: str
    line: int
    lines: range
    place: Place
    function: str
    text: str
    how: How
    static: bool
    apply: Callable[[], None] = field(compare=False, repr=False)

    @property
    def key(self) -> Key:
        return (self.file, self.function, self.text, self.how)

    def __str__(self) -> str:
        inside = f" in {self.function}" if self.function else ""
        return f"{self.file}:{self.line}: {self.text}{inside} {self.how}"


def mutants(root: Path, file: str) -> tuple[ast.Module, list[Mutant]]:
    """The tree of a file below `root`, and every way to break it. Each is for a process of its own."""
    source = (root / file).read_text(encoding="utf-8")
    tree = ast.parse(source)
    finder = _Finder(file, source)
    finder.visit(tree)
    return tree, finder.found


def _called(node: ast.Call) -> str:
    """The last name of what is called."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


class _Finder(ast.NodeVisitor):
    """Walks a file and keeps what can be broken."""

    def __init__(self, file: str, source: str) -> None:
        self.found: list[Mutant] = []
        self._file, self._source = file, source
        self._scope: list[str] = []
        self._functions = 0
        self._statement: ast.stmt | None = None

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self._statement = node
        super().visit(node)

    def _keep(self, node: ast.AST, text: str, how: How, apply: Callable[[], None]) -> None:
        start, end = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
        statement = self._statement
        if statement is not None and not hasattr(statement, "body"):
            start, end = statement.lineno, statement.end_lineno or end
        mutant = Mutant(
            file=self._file,
            line=node.lineno,  # type: ignore[attr-defined]
            lines=range(start, end + 1),
            place=_place(node),
            function=".".join(self._scope),
            text=" ".join(text.split())[:LONGEST],
            how=how,
            static=not self._functions,
            apply=apply,
        )
        self.found.append(mutant)

    def _text(self, node: ast.AST) -> str:
        return ast.get_source_segment(self._source, node) or ast.unparse(node)

    # What runs when, and what says nothing

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *(each for each in node.args.kw_defaults if each)):
            self._value(default, partial(_replace_default, node.args, default))
        self._inside(node.name, node.body, runs_later=True)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node.name, node.body, runs_later=False)

    def _inside(self, name: str, body: list[ast.stmt], *, runs_later: bool) -> None:
        outer = self._statement
        self._scope.append(name)
        self._functions += runs_later
        for each in body:
            self.visit(each)
        self._functions -= runs_later
        self._scope.pop()
        self._statement = outer

    def visit_Raise(self, node: ast.Raise) -> None:
        """A message for a person."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """A message for a person."""

    def visit_Compare(self, node: ast.Compare) -> None:
        """A condition."""

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._field(node, "value", node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not (isinstance(node.value, ast.Subscript) and ALIAS.match(self._text(node.value))):
            self._field(node, "value", node.value)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        for name in ("body", "orelse"):
            self._field(node, name, getattr(node, name))

    # What can be broken

    def visit_Call(self, node: ast.Call) -> None:
        name = _called(node)
        if name in SILENT:
            return
        self.visit(node.func)
        first = 1 if name[:1].isupper() else 0
        for position, each in enumerate(node.args):
            if isinstance(each, ast.Starred):
                self.visit(each)
            elif name == "all":
                self._keep(each, self._text(each), "dropped", partial(node.args.remove, each))
            elif position >= first:
                self._value(each, partial(node.args.__setitem__, position))
        for keyword in node.keywords:
            if keyword.arg == "parent" or (name == "add_argument" and keyword.arg in ("help", "metavar")):
                continue
            if keyword.arg is None:
                self.visit(keyword.value)
                continue
            text = self._text(keyword)
            self._keep(keyword, text, "dropped", partial(node.keywords.remove, keyword))
            self._value(keyword.value, partial(setattr, keyword, "value"), text)

    def visit_Dict(self, node: ast.Dict) -> None:
        for position, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if key is None:
                self.visit(value)
                continue
            text = f"{self._text(key)}: {self._text(value)}"
            self._keep(key, text, "dropped", partial(_drop_entry, node, position))
            self._value(value, partial(node.values.__setitem__, position), text)

    def visit_List(self, node: ast.List) -> None:
        self._elements(node.elts)

    def visit_Set(self, node: ast.Set) -> None:
        self._elements(node.elts)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        if isinstance(node.ctx, ast.Load):
            self._elements(node.elts)

    def _elements(self, elements: list[ast.expr]) -> None:
        for position, each in enumerate(list(elements)):
            self._keep(each, self._text(each), "dropped", partial(elements.remove, each))
            if isinstance(each, ast.Starred):
                self.visit(each.value)
            else:
                self._value(each, partial(elements.__setitem__, position))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                self.visit(each.value)

    def generic_visit(self, node: ast.AST) -> None:
        """Constants wherever they stand; conditions are left out."""
        for name, value in ast.iter_fields(node):
            if name in ("test", "ifs", "pattern", "annotation", "returns", "decorator_list"):
                continue
            if isinstance(value, ast.Constant | ast.JoinedStr):
                self._field(node, name, value)
            elif isinstance(value, ast.AST):
                self.visit(value)
            elif isinstance(value, list):
                for each in value:
                    if isinstance(each, ast.AST):
                        self.visit(each)

    def _field(self, node: ast.AST, name: str, value: ast.expr) -> None:
        self._value(value, partial(setattr, node, name))

    def _value(self, value: ast.expr, put: Callable[[ast.expr], None], text: str | None = None) -> None:
        """A value that is handed on is changed as a whole; of displays and calls it is their parts that are."""
        if not isinstance(value, COMPOSED) and not _is_none(value):
            self._keep(value, text or self._text(value), "changed", lambda: put(_wrapped(value)))
        if not isinstance(value, ast.Constant):
            self.visit(value)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and (value.value is None or value.value is Ellipsis)


def _place(node: ast.AST) -> Place:
    return f"{node.lineno}:{node.col_offset}"  # type: ignore[attr-defined]


def _wrapped(value: ast.expr) -> ast.expr:
    place = ast.Constant(_place(value))
    call = ast.Call(func=ast.Name(id=CHANGED, ctx=ast.Load()), args=[value, place], keywords=[])
    return ast.fix_missing_locations(ast.copy_location(call, value))


def _drop_entry(node: ast.Dict, position: int) -> None:
    del node.keys[position], node.values[position]


def _replace_default(arguments: ast.arguments, old: ast.expr, new: ast.expr) -> None:
    arguments.defaults = [new if each is old else each for each in arguments.defaults]
    arguments.kw_defaults = [new if each is old else each for each in arguments.kw_defaults]


def files(root: Path, within: str) -> Iterator[str]:
    """Python files at or below a path, relative to `root`. Raises FileNotFoundError if there are none."""
    place = root / within
    found = sorted(place.rglob("*.py")) if place.is_dir() else [place] * place.is_file()
    if not found:
        raise FileNotFoundError(f"no Python file at {within}; give a path like components/serving")
    return (path.relative_to(root).as_posix() for path in found)
