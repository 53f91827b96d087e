"""`make lab`: three questions, and a lab that plans, ends by itself and stays within its money (Z15)."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from planner.lab import QUESTIONS, main
from planner.new import owner
from planner.plan import AwsPlan, plan
from settings.load import from_file
from tests.settings.editor import accepts
from tests.typed import handed

NOW = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory; the file is written where one stands."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "hours", "gpus", "usd"),
    [
        ([], 8, 1, 40),
        (["--hours", "8", "--gpus", "2", "--budget", "100"], 8, 2, 100),
        (["--hours", "72.5", "--gpus", "4", "--budget", "900"], 72.5, 4, 900),
    ],
)
def test_the_file_plans_and_ends_when_it_was_told_to(
    options: list[str],
    hours: float,
    gpus: int,
    usd: float,
    elsewhere: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--stack", "mine", *options], now=NOW) == 0
    file = elsewhere / "Pulumi.mine.yaml"
    found = plan(from_file(file), today=NOW)
    assert isinstance(found, AwsPlan)
    assert (found.errors, found.totals.gpus) == ((), gpus)
    assert found.keeper is not None
    assert (found.keeper.ends, found.keeper.max_usd) == (NOW + timedelta(hours=hours), usd)
    assert found.keeper.emails == (f"{owner()}@example.com",), "who is warned: a placeholder, and there"
    assert accepts(yaml.safe_load(file.read_text(encoding="utf-8")))
    said = capsys.readouterr().out
    assert f"{found.prices.hourly:.2f} USD an hour, {found.prices.hourly * hours:.2f} USD in {hours:g} hours" in said
    for command in ("pulumi up --stack mine", "make extend STACK=mine HOURS=2", "pulumi destroy --stack mine"):
        assert command in said


def test_at_most_three_questions_and_a_wrong_answer_is_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(QUESTIONS) <= 3
    typed = iter(["for ever", "4", "1.5", "1", ""])
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return next(typed)

    assert main(["--stack", "mine"], ask, now=NOW) == 0
    assert len(asked) == 5
    said = capsys.readouterr().out
    assert "'for ever' is not a number of hours up to 744" in said
    assert "'1.5' is not a number of GPUs up to 64" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hours", "0"], "--hours: '0' is not a number of hours"),
        (["--hours", "nan"], "--hours: 'nan' is not"),
        (["--gpus", "65"], "--gpus: '65' is not"),
        (["--hours", "8", "--gpus", "2", "--budget", "5"], "--budget: 8 hours at"),
        (["--hours", "200", "--budget", "5"], "keeper.maxUsd"),
    ],
)
def test_what_cannot_work_is_told_and_nothing_is_written(
    options: list[str], said: str, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--stack", "mine", *options], now=NOW) == 1
    assert said in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []


def test_a_file_that_is_there_is_left_alone(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (elsewhere / "Pulumi.mine.yaml").write_text("config: {}\n", encoding="utf-8")
    assert main(["--stack", "mine"]) == 2
    assert "make lab STACK=my-lab" in capsys.readouterr().err
    assert (elsewhere / "Pulumi.mine.yaml").read_text(encoding="utf-8") == "config: {}\n"


def test_make_hands_the_answers_on() -> None:
    (words,) = handed("make lab STACK=mine ARGS='--hours 8 --gpus 2 --budget 100'")
    assert words == ["-m", "planner.lab", "--stack", "mine", "--hours", "8", "--gpus", "2", "--budget", "100"]
