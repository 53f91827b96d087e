"""What the README shows of `make plan` is what it prints."""

import re
import shlex

import pytest

from planner.__main__ import main
from tests.planner.stacks import ROOT

OPTIONS = {"STACK": "--stack", "PRESET": "--preset", "SET": "--set", "EXPLAIN": "--explain", "FORMAT": "--format"}
BLOCKS = re.findall(r"```console\n\$ make plan (.*)\n((?:.*\n)*?)```", (ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("command", "shown"), BLOCKS, ids=[command for command, _ in BLOCKS])
def test_output_is_real(
    command: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every line, in order, on a terminal of 100 columns; `...` stands for lines left out, as do lines in between."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    words = (word.partition("=") for word in shlex.split(command))
    main([part for name, _, value in words for part in (OPTIONS[name], value)])
    printed = iter(line.rstrip() for line in capsys.readouterr().out.splitlines())
    for line in shown.splitlines():
        assert line == "..." or line in printed, f"not printed, or not there: {line!r}"


def test_the_readme_shows_a_change_and_a_preset() -> None:
    """The examples are found."""
    assert [command.split("=")[0] for command, _ in BLOCKS] == ["STACK", "PRESET"]
