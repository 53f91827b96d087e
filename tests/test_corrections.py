"""The table of corrections: what the documents behind the project have wrong, what is right, and what holds it.

Each row's guards exist: a rule of the planner that names the row, a value that cannot be expressed, a policy, a test
that carries the row's id, or a sentence that says why there is none.
"""

import ast
import csv
import importlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import planner.rules.metal  # noqa: F401
import policy
from planner.draft import registry

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "reference" / "corrections.csv"
SUBJECTS = {
    "KJ": 33,
    "NW": 11,
    "NC": 22,
    "FB": 19,
    "HW": 26,
    "ST": 18,
    "PW": 19,
    "SL": 20,
    "DC": 13,
    "IN": 12,
    "PF": 22,
}
RIGHT_ALREADY = ("IN12", "PF03", "PF21", "PF22")
"""Claims that were looked into and are right."""

MOST_DOCUMENTED = 15
LONGEST = 120
CORRECTION = re.compile(rf"(?:{'|'.join(SUBJECTS)})\d\d")


class Row(NamedTuple):
    """A row of the table, its guards as (kind, what)."""

    id: str
    right: str
    kinds: str
    guards: tuple[tuple[str, str], ...]


@cache
def table() -> tuple[Row, ...]:
    """The rows, in order."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        heading, *lines = csv.reader(file)
    assert heading == ["id", "right", "guard kind", "guard"]
    return tuple(
        Row(id_, right, kinds, tuple(_guard(each) for each in guard.split("; "))) for id_, right, kinds, guard in lines
    )


def _guard(text: str) -> tuple[str, str]:
    kind, _, what = text.partition(":")
    return kind, what


def guards(kind: str) -> Iterator[tuple[str, str]]:
    """(row's id, guard) of every guard of the kind."""
    return ((row.id, what) for row in table() for guard, what in row.guards if guard == kind)


def test_every_correction_stands_there_once_and_in_order() -> None:
    """215 rows by subject; nothing is left out, and nothing said twice."""
    assert [row.id for row in table()] == [
        f"{name}{n:02}" for name, last in SUBJECTS.items() for n in range(1, last + 1)
    ]


def test_each_row_says_what_is_right_and_what_holds_it() -> None:
    """No cell is empty, the sentence is short, and the third column names the kinds of the last."""
    for row in table():
        assert row.right == row.right.strip(), row.id
        assert 0 < len(row.right) <= LONGEST, row.id
        assert all(kind and what for kind, what in row.guards), f"{row.id} has no guard, or half of one"
        assert row.kinds == "; ".join(dict.fromkeys(kind for kind, _ in row.guards)), row.id
        assert len(set(row.guards)) == len(row.guards), row.id


def test_guards_are_of_the_kinds_there_are() -> None:
    """A misspelt kind would be checked by nobody."""
    kinds = {kind for row in table() for kind, _ in row.guards}
    assert kinds <= {"rule", "type", "policy", "test", "document"}


def test_rules_and_rows_name_each_other() -> None:
    """A rule in the table guards that row, and a correction named by a rule has the rule in its row."""
    in_table = {(correction, rule) for correction, rule in guards("rule")}
    in_rules = {(guard, rule.id) for rule in registry.rules for guard in rule.guards if CORRECTION.fullmatch(guard)}
    assert in_table - in_rules == set(), "the table names rules that do not guard these corrections"
    assert in_rules - in_table == set(), "rules guard these corrections, and their rows do not say so"


def resolved(what: str) -> bool:
    """Whether module:Name or module:Name.member exists; fields of dataclasses and models count as members."""
    module, _, path = what.partition(":")
    name, _, member = path.partition(".")
    found = getattr(importlib.import_module(module), name, None)
    if found is None or not member:
        return found is not None
    names = {each.name for each in fields(found)} if is_dataclass(found) else set()
    return member in names or member in getattr(found, "model_fields", ()) or hasattr(found, member)


def test_named_types_exist() -> None:
    """What makes a wrong value impossible is still there."""
    assert [what for _, what in guards("type") if not resolved(what)] == []


def test_named_policies_exist_and_say_what_they_guard() -> None:
    """A policy in the table is one of those that run, and its docstring carries the row's id."""
    held = {rule.id: rule.holds for rule in policy.RULES}
    assert [(id_, name) for id_, name in guards("policy") if id_ not in held.get(name, "")] == []


@cache
def said_in(file: str) -> dict[str, str]:
    """The tests of a file with all that they say of themselves: name, docstring, and the texts of their parameters."""
    functions = [node for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)]
    return {
        each.name: " ".join(
            (
                each.name.upper().replace("_", " "),
                ast.get_docstring(each) or "",
                *(
                    part.value
                    for decorator in each.decorator_list
                    for part in ast.walk(decorator)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                ),
            )
        )
        for each in functions
        if each.name.startswith("test_")
    }


def test_named_tests_exist_and_carry_the_id() -> None:
    """Renaming or removing such a test is noticed here, and so is a test that speaks of something else."""
    wrong = []
    for id_, what in guards("test"):
        file, _, name = what.partition("::")
        said = said_in(file).get(name, "") if (ROOT / file).is_file() else ""
        if not re.search(rf"\b{id_}\b", said):
            wrong.append((id_, what))
    assert wrong == []


def test_few_corrections_are_only_written_down() -> None:
    """Beside the claims that were right, at most 15 rows have a sentence instead of a guard, each with its reason."""
    documented = [(id_, reason) for id_, reason in guards("document") if id_ not in RIGHT_ALREADY]
    assert len(documented) <= MOST_DOCUMENTED
    assert all(len(reason) > LONGEST // 10 for _, reason in documented)


def test_no_two_rows_say_the_same() -> None:
    """A sentence that was copied from the row above is a row that says nothing."""
    assert [text for text, times in Counter(row.right for row in table()).items() if times > 1] == []
