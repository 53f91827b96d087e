"""The table of what reviews found: each row has a test that exists, or a reason to be accepted."""

import ast
import csv
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "reference" / "findings.csv"
MODEL = ROOT / "docs" / "explanation" / "threat-model.md"


def rows() -> list[tuple[str, str, str]]:
    """(id, what holds now, tests or reason), in order."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        _, *lines = csv.reader(file)
    return [(id_, what, closed) for id_, what, closed in lines]


def test_every_finding_stands_there_once() -> None:
    """28 about life, 24 about safety and fifteen small ones, 17 faults and a jump of the clock."""
    small = [f"S25{letter}" for letter in "abcdefghijklmno"]
    numbered = [f"{kind}{n:02}" for kind, last in (("LF", 28), ("S", 24)) for n in range(1, last + 1)]
    assert [id_ for id_, *_ in rows()] == [*numbered, *small, *(f"X{n:02}" for n in range(1, 19))]


def test_each_is_closed_by_a_test_that_exists_or_is_accepted_with_a_reason() -> None:
    for id_, _, closed in rows():
        if closed.startswith("accepted: "):
            assert id_.startswith("S25"), id_
            assert len(closed.split()) > 6, id_
            continue
        for each in closed.split("; "):
            path, _, name = each.partition("::")
            assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), (id_, each)


def test_the_threat_model_names_every_finding_about_safety() -> None:
    text = MODEL.read_text(encoding="utf-8")
    named = {id_[:3] for id_, *_ in rows() if id_.startswith("S")} - {"S01", "S14"}
    assert [id_ for id_ in sorted(named) if id_ not in text] == []


def rare(test: str) -> bool:
    """Whether `make engine` leaves a test to `make test-scale`."""
    path, _, name = test.partition("::")
    body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    marked = [
        each.value for each in body if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "pytestmark"
    ]
    marked += [
        mark for each in body if isinstance(each, ast.FunctionDef) and each.name == name for mark in each.decorator_list
    ]
    return any("pytest.mark.scale" in ast.unparse(each) for each in marked)


def test_the_threat_model_says_which_faults_a_release_alone_tries() -> None:
    faults = [id_ for id_, _, closed in rows() if id_.startswith("X") and all(map(rare, closed.split("; ")))]
    assert f"{', '.join(faults)} are tried by `make test-scale` alone" in MODEL.read_text(encoding="utf-8")
