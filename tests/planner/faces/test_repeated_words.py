"""What a person typed is repeated without control characters, and never at length."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from planner import new
from planner.__main__ import main
from review import __main__ as review
from review import changed

ROOT = Path(__file__).parents[3]
EVIL = "\x1b[2J" + "y" * 300


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (main, ["--stack", EVIL]),
        (main, ["--preset", EVIL]),
        (main, ["--stack", "dev", "--against", EVIL]),
        (main, ["--stack", "dev", "--explain", EVIL]),
        (main, ["--stack", "dev", "--explain", EVIL, "--format", "csv"]),
        (main, ["--stack", "dev", "--against", EVIL, "--format", "csv"]),
        (main, ["--stack", "dev", "--base", EVIL]),
        (main, ["--stack", "dev", "--base", EVIL, "--explain", "budget"]),
        (main, ["--preset", "h100-8n", "--base", EVIL]),
        (main, ["--stack", "dev", "--set", EVIL]),
        (main, ["--stack", "dev", "--set", f"pools[0].count.x={EVIL}"]),
        (new.main, ["--stack", "some", "--region", EVIL]),
        (new.main, ["--stack", "some", "--nodes", EVIL]),
        (review.main, ["--base", EVIL]),
        (review.main, ["--base", "HEAD", "--stack", EVIL]),
        (changed.main, ["--base", "HEAD", "--deployed", EVIL]),
        (changed.main, ["--base", "HEAD", "--deployed", '["dev"]', "--asked", EVIL]),
    ],
)
def test_words_are_repeated_escaped_and_cut(
    command: Callable[[Sequence[str]], int],
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    assert command(words) in (1, 2)
    said = capsys.readouterr().err
    assert said
    assert "\x1b" not in said
    assert "y" * 81 not in said
