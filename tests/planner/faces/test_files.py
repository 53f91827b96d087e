"""`make plan` with FORMAT=html and csv, TABLE and OUT."""

import csv
from pathlib import Path

import pytest

from planner.__main__ import main
from planner.faces.difference import difference
from planner.faces.page.whole import page
from tests.planner.faces.page.reading import read
from tests.planner.stacks import ROOT, planned


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stack files are found in the directory one stands in."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "160")


@pytest.mark.parametrize("how", ["text", "json", "html", "csv"])
def test_a_file_holds_what_would_be_printed(how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its folder is made; the output says where it is."""
    file = tmp_path / "new" / f"plan.{how}"
    assert main(["--stack", "metal", "--format", how]) == 0
    printed = capsys.readouterr().out
    assert main(["--stack", "metal", "--format", how, "--out", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: the plan of metal, 0 errors\n"
    assert file.read_text(encoding="utf-8") == printed


def test_a_refused_stack_has_a_page_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 1, and the page shows why."""
    file = tmp_path / "plan.html"
    assert main(["--stack", "prod", "--set", "pools[1].count=6", "--format", "html", "--out", str(file)]) == 1
    assert "1 error" in capsys.readouterr().out
    assert "gang-fits-pool" in file.read_text(encoding="utf-8")


def table(text: str) -> list[list[str]]:
    """The rows of the page's table of what changes."""
    listed = read(text).all("section", id="changes")[0].all("table")[0]
    return [[cell.words() for cell in row.all("td")] for row in listed.all("tr") if row.all("td")]


def test_a_page_shows_what_a_change_changes(capsys: pytest.CaptureFixture[str]) -> None:
    """The same rows as the text, the assignments, and the findings that come; above the plan as it would be."""
    changes = ["--set", "pools[1].count=6"]
    main(["--stack", "prod", *changes, "--format", "html"])
    shown = capsys.readouterr().out
    main(["--stack", "prod", *changes])
    text = capsys.readouterr().out
    rows = table(shown)
    assert ["pools.training.nodes", "8", "6", "-2"] in rows
    assert all(path in text and gain in text for path, _, _, gain in rows)
    (section,) = read(shown).all("section", id="changes")
    assert "gpucluster:pools[1].count=6" in section.words()
    assert "Findings: new" in section.words()
    assert "gang-fits-pool" in section.all("details")[0].words()
    assert read(shown).all("main")[0].children[0].attributes["id"] == "changes"


def test_a_page_of_two_presets_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    """AB04: both names stand above their columns; a stack against itself changes nothing."""
    main(["--preset", "full", "--against", "mid", "--format", "html"])
    shown = capsys.readouterr().out
    (listed,) = read(shown).all("section", id="changes")[0].all("table")
    assert [each.words() for each in listed.all("th")] == ["number", "preset mid", "preset full", "by"]
    assert ["totals.gpus", "32", "64", "+32"] in table(shown)
    main(["--stack", "dev", "--against", "dev", "--format", "html"])
    same = read(capsys.readouterr().out).all("section", id="changes")[0].words()
    assert "No number changes." in same
    assert "No finding comes or goes." in same


def test_no_word_of_a_change_is_markup() -> None:
    """What somebody assigns, and the names of what is compared, stay words."""
    hostile = "<script>alert(1)</script>"
    before, after = planned("dev"), planned("dev", {"pools.0.count": 3})
    changed = difference(before, after, (hostile, hostile), [f"x={hostile}"])
    document = read(page(hostile, after, changed))
    assert not document.all("script")
    assert document.all("section", id="changes")[0].words().count(hostile) >= 3


def test_lists_are_those_of_the_changed_plan(capsys: pytest.CaptureFixture[str]) -> None:
    """Nine nodes are in the bill, and a sentence beside it says that it is no comparison."""
    assert main(["--stack", "prod", "--set", "pools[1].count=9 budget.maxHourlyUsd=600", "--format", "csv"]) == 0
    shown = capsys.readouterr()
    rows = list(csv.reader(shown.out.splitlines()))
    assert [row[2] for row in rows if row[1].startswith("p5.48xlarge")] == ["9"]
    assert shown.err == "bom of prod, changed; text, json and html show the difference\n"


def test_the_page_of_a_preset(capsys: pytest.CaptureFixture[str]) -> None:
    """Under its name."""
    assert main(["--preset", "h100-8n", "--format", "html"]) == 0
    assert "<title>preset h100-8n: plan</title>" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--stack", "prod", "--format", "csv", "--table", "cables"], "prod has no fabric of its own"),
        (["--stack", "prod", "--format", "html", "--explain", "gang-fits-pool"], "as text or json"),
        (
            ["--stack", "prod", "--format", "html", "--out", "README.md/plan.html"],
            "README.md/plan.html: ",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_written(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, status 2, nothing on the output."""
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""
