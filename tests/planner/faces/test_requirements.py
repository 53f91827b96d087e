"""docs/reference/requirements.csv: every id once, what a row names is there, and what is done has a test."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from planner.faces import requirements_page
from planner.faces.codes_page import REQUIREMENTS
from settings.errors import NAMESPACE
from settings.schema import stack_file_schema
from tests.graph.stackfiles import ROOT

ROWS = requirements_page.rows()
COUNTS = dict(
    zip(
        REQUIREMENTS,
        (19, 20, 13, 6, 22, 12, 32, 17, 12, 18, 12, 8, 9, 20, 13, 25, 13, 11, 9, 16, 14, 12, 10, 14, 15, 19, 10, 11),
        strict=True,
    )
)
"""Rows of each letter."""

LONGEST = 140


def test_every_row_is_there_once_and_in_order() -> None:
    assert [row.id for row in ROWS] == [f"{name}{n:02}" for name, last in COUNTS.items() for n in range(1, last + 1)]


def test_a_row_says_where_it_is_done_and_what_proves_it() -> None:
    """What is done has a test, what is not has a note; what is named is there."""
    assert {row.id: wrong for row in ROWS if (wrong := list(faults(row)))} == {}


def faults(row: requirements_page.Row) -> Iterator[str]:
    """What is wrong with a row."""
    if row.state not in requirements_page.STATES:
        yield f"{row.state} is no state"
    if not 0 < len(row.subject) <= LONGEST or len(row.note) > LONGEST:
        yield "no subject, or one that is too long, or such a note"
    if row.state == "done" and not row.test:
        yield "done without a test"
    if row.state != "done" and not row.note:
        yield f"{row.state} without a note"
    if row.state != "refused" and not row.where:
        yield "it is nowhere"
    yield from (f"{each} is not there" for each in row.where if not is_there(each))
    if row.test and not proves(row.test):
        yield f"{row.test} is no test"


def is_there(place: str) -> bool:
    """A path of the repository, or a key of a stack file."""
    return (ROOT / place).exists() or place in keys()


@cache
def keys() -> frozenset[str]:
    """Every key of a stack file, with the sections that it stands in."""
    definitions = stack_file_schema()["$defs"]
    found: set[str] = set()

    def walk(described: Any, path: str, inside: tuple[str, ...]) -> None:
        if isinstance(described, list):
            for each in described:
                walk(each, path, inside)
        elif isinstance(described, Mapping):
            name = str(described.get("$ref", "")).rpartition("/")[2]
            if name and name not in inside:
                walk(definitions[name], path, (*inside, name))
            for key, below in described.get("properties", {}).items():
                whole = ".".join(filter(None, (path, key.removeprefix(f"{NAMESPACE}:"))))
                found.add(whole)
                walk(below, whole, inside)
            for part in ("items", "anyOf", "oneOf", "allOf"):
                walk(described.get(part, []), path, inside)

    for kind in ("aws", "metal"):
        walk(definitions[kind], "", ())
    return frozenset(found)


def proves(node: str) -> bool:
    """A test function of that name stands in that file."""
    file, _, name = node.partition("::")
    return name.startswith("test_") and name in functions(file)


@cache
def functions(file: str) -> frozenset[str]:
    """Names of the functions of a file of tests; none where there is no such file."""
    if not (ROOT / file).is_file():
        return frozenset()
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


RIGHT = ROWS[0]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, None),
        ({"state": "nearly"}, "nearly is no state"),
        ({"subject": ""}, "no subject"),
        ({"note": "n" * (LONGEST + 1)}, "such a note"),
        ({"test": ""}, "done without a test"),
        ({"state": "partly", "note": ""}, "partly without a note"),
        ({"where": ()}, "it is nowhere"),
        ({"where": ("planner/gone.py",)}, "planner/gone.py is not there"),
        ({"where": ("training.runs.checkpoint.everyMinutes", "inventory.hosts.rails")}, None),
        ({"where": ("training.runs.chekpoint",)}, "training.runs.chekpoint is not there"),
        ({"test": "tests/planner/faces/test_gone.py::test_keys"}, "is no test"),
        ({"test": "tests/planner/faces/test_requirements.py::keys"}, "is no test"),
    ],
)
def test_a_wrong_row_is_seen(changes: Mapping[str, Any], fault: str | None) -> None:
    found = list(faults(replace(RIGHT, **changes)))
    assert found == [] if fault is None else fault in "; ".join(found)


def test_the_page_counts_every_row() -> None:
    lines = requirements_page.page().splitlines()
    counted = {cells[1]: [int(cell) for cell in cells[3:8]] for cells in map(_cells, lines) if _letters(cells)}
    assert {name: numbers[-1] for name, numbers in counted.items()} == COUNTS
    assert all(sum(numbers[:-1]) == numbers[-1] for numbers in counted.values())


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def _letters(cells: list[str]) -> bool:
    return len(cells) > len(requirements_page.STATES) and cells[1] in REQUIREMENTS
