"""Previews by the rehearsal: what is asked of it, and what becomes of its answers."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from planner.faces.revision import Told
from review import rehearsed
from review.changed import main as changed
from review.compared import Compared
from review.rehearsed import previewed
from tests.review.stacks import SUMMARY, stack_text, stepped

PLANNED, BASE = Told(), Path("/base")
STACK = Compared(stack="dev", before=PLANNED, after=PLANNED, unseen="not yet")


class Rehearsal:
    """Notes what it is asked, and writes the events that it was given."""

    def __init__(self, *events: object, status: int = 0, stderr: str = "") -> None:
        self.events, self.status, self.stderr = events, status, stderr
        self.asked: list[Sequence[str]] = []

    def __call__(self, words: Sequence[str], _: Path) -> subprocess.CompletedProcess[str]:
        self.asked.append(words)
        if self.events:
            log = Path(words[words.index("--events") + 1])
            log.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in self.events))
        return subprocess.CompletedProcess(words, self.status, "", self.stderr)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Sequence[Sequence[str]]:
    return use(monkeypatch, stepped("create", "aws:ec2/vpc:Vpc", "a", new={}), SUMMARY).asked


def use(monkeypatch: pytest.MonkeyPatch, *events: object, status: int = 0, stderr: str = "") -> Rehearsal:
    made = Rehearsal(*events, status=status, stderr=stderr)
    monkeypatch.setattr(rehearsed, "_run", made)
    return made


def silent(_: str) -> None:
    pass


def test_the_base_is_applied_and_the_log_read(asked: Sequence[Sequence[str]], tmp_path: Path) -> None:
    """Policies are asked where their environment was made."""
    seen = previewed(tmp_path, STACK, "0123", BASE, silent)
    assert seen.preview is not None
    assert [step.label for step in seen.preview.changes] == ["aws:ec2:Vpc a"]
    assert seen.unseen == ""
    ((_, *words),) = asked
    assert words[:9] == ["-m", "rehearsal", "preview", "--stack", "dev", "--base", "0123", "--base-tree", "/base"]
    assert "--policy-pack" not in words
    (tmp_path / "policy/pack/.venv/bin").mkdir(parents=True)
    (tmp_path / "policy/pack/.venv/bin/python").touch()
    previewed(tmp_path, STACK, "0123", BASE, silent)
    assert list(asked[-1][-2:]) == ["--policy-pack", "policy/pack"]


@pytest.mark.parametrize(
    ("stack", "why"),
    [
        (replace(STACK, after=None), "without a file"),
        (replace(STACK, after=Told(problems=("x",))), "refused is not previewed"),
        (replace(STACK, before=Told(problems=("x",))), "The base itself is refused"),
    ],
    ids=["gone", "refused", "base"],
)
def test_what_the_program_refuses_is_not_tried(
    stack: Compared, why: str, asked: Sequence[Sequence[str]], tmp_path: Path
) -> None:
    assert why in previewed(tmp_path, stack, "0123", BASE, silent).unseen
    assert asked == []


def test_a_rehearsal_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, status=1, stderr="applying\nerror: the disk is full\n")
    assert previewed(tmp_path, STACK, "0123", BASE, silent).unseen == "There is no preview: the disk is full"


def test_a_preview_that_fails_is_told_by_its_events(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, {"diagnosticEvent": {"severity": "error", "message": "no such image"}}, status=1)
    seen = previewed(tmp_path, STACK, "0123", BASE, silent).preview
    assert seen is not None
    assert seen.errors == ("no such image",)


@pytest.mark.parametrize("line", ["{", "[]", '{"resourcePreEvent": {}}', '{"policyEvent": {"policyName": "x"}}'])
def test_a_log_of_something_else_is_refused(line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, line)
    said = previewed(tmp_path, STACK, "0123", BASE, silent).unseen
    assert said.startswith("There is no preview: line 1 of the event log is not the engine's")


def test_a_killed_preview_is_not_taken_for_a_quiet_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, stepped("same", "aws:ec2/vpc:Vpc", "a", {}, {}))
    seen = previewed(tmp_path, STACK, "0123", BASE, silent).preview
    assert seen is not None
    assert "it was killed" in seen.errors[0]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--deployed", '["dev"]', "--asked", "dev"], 0, '["dev"]'),
        (["--deployed", '["dev"]', "--asked", "fork"], 2, "Pulumi.fork.yaml is not in this tree; "),
        (
            ["--deployed", '["dev"]', "--asked", "lab"],
            2,
            "Pulumi.lab.yaml is not deployed: add lab to the variable STACKS",
        ),
        (["--deployed", "dev"], 2, "STACKS=dev is not a JSON list of stacks"),
        (["--deployed", '["deb"]'], 2, "Pulumi.deb.yaml is not in this tree; did you mean dev?"),
        (["--deployed", '["dev", "lab"]'], 0, '["dev", "lab"]'),
    ],
    ids=["asked", "fork", "undeployed", "text", "mistaken", "first"],
)
def test_only_what_is_named_is_deployed(
    arguments: list[str],
    status: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A stack file alone, whoever added it, is no deployment; the first push of a branch has no base."""
    for name in ("dev", "lab"):
        (tmp_path / f"Pulumi.{name}.yaml").write_text(stack_text(name))
    monkeypatch.chdir(tmp_path)
    assert changed(["--base", "0" * 40, *arguments]) == status
    shown = capsys.readouterr()
    assert said in (shown.err if status else shown.out)
