"""`make plan` with FORMAT=html and csv, TABLE and OUT."""

from pathlib import Path

import pytest

from planner.__main__ import main
from tests.planner.stacks import ROOT


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stack files are found in the directory one stands in."""
    monkeypatch.chdir(ROOT)


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
