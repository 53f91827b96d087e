"""The command: what it takes, what it prints, what it writes."""

from pathlib import Path

import pytest

from planner.proposing.__main__ import main
from tests.planner.proposing.test_best import SERVE, TRAIN, reduced
from tests.planner.stacks import TODAY


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "say what to train"),
        ({"MODEL": "llama-3-8b", "SERVE": "llama-3-8b"}, "say what to train"),
        ({**TRAIN, "MODEL": "llama-3-80b"}, "the catalogue has no model 'llama-3-80b'"),
        ({**TRAIN, "TOKENS": ""}, "TOKENS is missing"),
        ({**TRAIN, "TOKENS": "-5"}, "TOKENS is '-5'"),
        ({**TRAIN, "DAYS": "nan"}, "DAYS is 'nan'"),
        ({**TRAIN, "REGION": "mars-1"}, "there is no region 'mars-1'"),
        ({**SERVE, "PROMPT": "8000", "ANSWER": "900"}, "lower PROMPT or ANSWER"),
        ({**SERVE, "RPS": "1e99"}, "RPS is '1e99'"),
    ],
)
def test_a_wrong_question_is_told_what_to_type(
    words: dict[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A08: a sentence on stderr and status 2."""
    assert main(words, reduced(), TODAY) == 2
    assert said in capsys.readouterr().err


def test_a_proposal_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A17: OUT is written with PICK's proposal, and a file that is there is left alone."""
    file = tmp_path / "Pulumi.mine.yaml"
    words = {**SERVE, "OUT": str(file), "PICK": "2"}
    assert main(words, reduced(), TODAY) == 0
    printed = capsys.readouterr().out
    assert "more nodes" in printed
    assert "limited by" in printed
    written = file.read_text(encoding="utf-8")
    assert "gpucluster:serving:" in written
    assert "# replace" in written
    assert main(words, reduced(), TODAY) == 2
    assert "already exists" in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == written
    assert main({**words, "OUT": str(tmp_path / "nowhere" / "Pulumi.mine.yaml")}, reduced(), TODAY) == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_what_does_not_fit_ends_with_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    """A17: the nearest miss and by how much."""
    assert main({**TRAIN, "BUDGET": "100"}, reduced(), TODAY) == 1
    out = capsys.readouterr().out
    assert "nothing fits" in out
    assert "USD over the budget" in " ".join(out.split())


def test_words_that_make_exports_empty_are_as_if_nobody_said_them(capsys: pytest.CaptureFixture[str]) -> None:
    """A08: `make propose SERVE=... RPS=10 TTFT=1` leaves PROMPT and the rest empty in the environment."""
    empty = dict.fromkeys(("MODEL", "PROMPT", "ANSWER", "BUDGET", "REGION", "SPOT", "OUT", "PICK"), "")
    assert main({**empty, **SERVE}, reduced(), TODAY) == 0
    assert "best of" in capsys.readouterr().out
