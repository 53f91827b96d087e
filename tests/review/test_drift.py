"""`make drift`: what the CLI is asked, and what is written of its answer; the text itself is in test_post."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from review.drift import main
from tests.review.stacks import SUMMARY, stepped

PULUMI = """#!{python}
import json, os, pathlib, sys
pathlib.Path("asked.json").write_text(json.dumps([sys.argv[1:], os.environ["PULUMI_DEBUG_COMMANDS"]]))
if {log!r}:
    pathlib.Path(sys.argv[-1]).write_text({log!r})
sys.exit({failure!r} or None)
"""
GROWN = stepped("update", "aws:eks/nodeGroup:NodeGroup", "pool-training-nodes", {"size": 7}, {"size": 8})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one stack, and a PATH with nothing on it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "Pulumi.prod.yaml").touch()
    return tmp_path


def looked(*events: Mapping[str, Any] | str, failure: str = "", words: Sequence[str] = ("--stack", "prod")) -> int:
    """The command, beside a `pulumi` that logs these events."""
    log = "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in events)
    Path("pulumi").write_text(PULUMI.format(python=sys.executable, log=log, failure=failure))
    Path("pulumi").chmod(0o700)
    return main([*words, "--out", "build/drift", "--whole", "[all](x)"])


def test_the_account_is_read_and_what_differs_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert looked(GROWN, SUMMARY) == 0
    assert capsys.readouterr().out == "prod: 1 resource differs\n"
    words, unlocked = json.loads(Path("asked.json").read_text())
    assert words[:-1] == ["preview", "--refresh", "--non-interactive", "--stack", "prod", "--event-log"]
    assert unlocked == "true", "without it the CLI has no --event-log"
    assert "1 resource would be changed" in Path("build/drift/prod.md").read_text()
    assert "pool-training-nodes" in Path("build/drift/prod.diff").read_text()
    assert looked(stepped("same", "aws:ec2/vpc:Vpc", "network", {}, {}), SUMMARY) == 0
    assert (Path("build/drift/prod.md").read_text(), capsys.readouterr().out) == ("", "prod: no resource differs\n")
    assert looked(*(stepped("create", "aws:iam/role:Role", f"{each:099}", new={}) for each in range(999)), SUMMARY) == 0
    assert "more lines: [all](x)" in Path("build/drift/prod.md").read_text()


@pytest.mark.parametrize(
    ("events", "failure", "said"),
    [
        ((SUMMARY,), "no credentials", "error: the preview of prod failed:\nno credentials\n"),
        ((GROWN,), "", "error: the preview of prod failed:\n"),
        ((), "", "error: the preview of prod failed:\n"),
        (("{",), "", "error: line 1 of the event log is not the engine's"),
    ],
    ids=["failed", "killed", "silent", "torn"],
)
def test_a_preview_that_failed_is_no_answer(
    events: Sequence[Any], failure: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written: an empty text would close the issue."""
    assert looked(*events, failure=failure) == 1
    assert capsys.readouterr().err.startswith(said)
    assert not Path("build").exists()


def test_what_cannot_be_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert looked(words=("--stack", "prd")) == 2
    assert "error: Pulumi.prd.yaml is not in this tree; did you mean prod?" in capsys.readouterr().err
    Path("pulumi").unlink()
    assert main(["--stack", "prod", "--out", "out"]) == 2
    assert "`pulumi` is not on PATH" in capsys.readouterr().err
