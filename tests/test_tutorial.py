"""What the tutorial and the tasks say is so: their commands are taken, their fragments plan (B1)."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.__main__ import main as planner
from planner.plan import plan
from rehearsal.command.main import parser
from settings.load import from_sections, sections_in
from tests.graph.stackfiles import ROOT
from tests.graph.submit import main as submit
from tests.typed import handed

PAGES = ("tutorial.md", "how-to/tasks.md", "how-to/own-rows.md")
MODULES = {"planner", "planner.new", "doctor", "rehearsal", "tests.graph.submit"}


def text(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def commands() -> list[Any]:
    """Each `make` line of the pages, with the lines that are shown below it."""
    found = []
    for page in PAGES:
        for block in re.findall(r"^```console\n(.*?)^```", text(page), re.MULTILINE | re.DOTALL):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, *below = part.splitlines()
                if line.startswith("make "):
                    found.append(pytest.param(line, [each.strip() for each in below], id=f"{page} {line}"))
    return found


@pytest.mark.parametrize(("line", "below"), commands())
def test_a_command_is_taken_and_prints_its_lines(
    line: str, below: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    *policies, words = handed(line)
    assert all(each[:2] == ["-m", "tests.graph"] for each in policies)
    assert words[0] == "-m"
    assert words[1] in MODULES
    if words[1] == "rehearsal":
        assert parser().parse_args(words[2:]).stack == "dev"
    elif words[1] == "planner" and "mine" not in words:
        monkeypatch.chdir(ROOT)
        assert planner(words[2:]) == 0
    said = [" ".join(each.split()) for each in capsys.readouterr().out.splitlines()]
    assert [each for each in below if not any(one.startswith(each) for one in said)] == []


def test_the_job_that_is_sent_is_written_where_the_page_says(tmp_path: Path) -> None:
    (line,) = [each.values[0] for each in commands() if "make submit" in str(each.values[0])]
    (words,) = handed(str(line))
    assert submit([*words[2:4], "--account", words[words.index("--account") + 1], "--out", str(tmp_path / "j")]) == 0
    assert yaml.safe_load((tmp_path / "j").read_text())["kind"] == "PyTorchJob"


def fragments(pages: Sequence[str] = PAGES) -> list[Any]:
    return [
        pytest.param(block, id=f"{page} {block.splitlines()[0]}")
        for page in pages
        for block in re.findall(r"^```yaml\n(.*?)^```", text(page), re.MULTILINE | re.DOTALL)
    ]


@pytest.mark.parametrize("block", fragments())
def test_a_fragment_is_a_part_of_a_stack_that_plans(block: str) -> None:
    """In the place of the dev stack's own sections, key by key."""
    sections = dict(sections_in(ROOT / "Pulumi.dev.yaml"))
    for key, value in yaml.safe_load(block).items():
        name = key.removeprefix("gpucluster:")
        own = sections.get(name)
        sections[name] = {**own, **value} if isinstance(own, dict) and isinstance(value, dict) else value
    planned = plan(from_sections(sections))
    assert [each.sentence for each in planned.errors] == []
