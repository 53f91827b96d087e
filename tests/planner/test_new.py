"""`make new`: six questions, and a file that plans (B2 of a newcomer)."""

from pathlib import Path

import pytest

from planner.lab import main as lab
from planner.new import NOTHING, QUESTIONS, main
from planner.plan import plan
from settings.load import from_file
from tests.settings.editor import accepts
from tests.typed import handed


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory; the file is written where one stands."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


OWN = ["--weights", "s3://team-models/weights", "--network", "198.18.7.0/24"]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--region", "eu-north-1", "--train", "p5en.48xlarge", "--nodes", "4", "--serve", "qwen2.5-32b", *OWN],
        ["--train", NOTHING, *OWN],
        ["--serve", NOTHING, "--nodes", "1", *OWN],
        ["--serve", "llama-3-70b", "--train", "g6e.12xlarge", *OWN],
        ["--region", "ap-east-2", *OWN],
    ],
    ids=" ".join,
)
def test_the_file_plans_without_an_error(options: list[str], elsewhere: Path) -> None:
    """Loaded as any stack file, accepted by the schema of editors, no finding that stops it, and comments."""
    import yaml

    assert main(["--stack", "mine", *options]) == 0
    file = elsewhere / "Pulumi.mine.yaml"
    assert plan(from_file(file)).errors == ()
    assert accepts(yaml.safe_load(file.read_text(encoding="utf-8")))
    assert file.read_text(encoding="utf-8").count("#") >= 6


def test_at_most_six_questions_and_a_wrong_answer_is_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(QUESTIONS) <= 6
    typed = iter(["eu-nort-1", "eu-north-1", "", "", "", "", ""])
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return next(typed)

    assert main(["--stack", "mine"], ask) in (0, 1)
    assert len(asked) == len(QUESTIONS) + 1
    assert "did you mean eu-north-1?" in capsys.readouterr().out


def test_what_cannot_work_is_told_and_nothing_is_written(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stack", "mine", "--train", "p5.48xlarg"]) == 1
    assert "--train: there is no instance type 'p5.48xlarg'; did you mean p5.48xlarge?" in capsys.readouterr().err
    assert main(["--stack", "mine", "--weights", "/models/llama"]) == 1
    assert "gpucluster:serving.services[0].weights: '/models/llama' is not s3://" in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []


def test_a_file_that_is_there_is_left_alone(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (elsewhere / "Pulumi.mine.yaml").write_text("config: {}\n", encoding="utf-8")
    assert main(["--stack", "mine"]) == 2
    assert "Pulumi.mine.yaml already exists" in capsys.readouterr().err
    assert (elsewhere / "Pulumi.mine.yaml").read_text(encoding="utf-8") == "config: {}\n"


def test_make_hands_the_answers_on() -> None:
    (words,) = handed("make new STACK=mine ARGS='--region eu-north-1 --serve -'")
    assert words == ["-m", "planner.new", "--stack", "mine", "--region", "eu-north-1", "--serve", "-"]


def test_only_what_no_server_would_mend_stands_in_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    """The smallest servers cannot hold the model, larger ones do: nothing is said of its memory."""
    assert (
        main(["--stack", "mine", "--region", "eu-central-1", "--train", "p5.48xlarge", "--serve", "llama-3-70b"]) == 1
    )
    said = capsys.readouterr().err
    assert "offers no p5.48xlarge in eu-central-1" in said
    assert "KV cache" not in said


@pytest.mark.parametrize("word", ["../x", "Mine", "a b", "", "-x", "x" * 41])
def test_what_is_no_name_of_a_stack_is_refused_before_anything_is_asked(
    word: str, capsys: pytest.CaptureFixture[str], elsewhere: Path
) -> None:
    for command in (main, lab):
        with pytest.raises(SystemExit):
            command([f"--stack={word}"])
        assert "is not the name of a stack: type lower-case letters" in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []
