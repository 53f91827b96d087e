"""`make deploy`: the CLI as a person runs it, and what is said when it fails."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from deploy.__main__ import main
from rehearsal.engine.remedies import IN_USE, REMEDIES
from tests.typed import handed

ROOT = Path(__file__).parents[2]
CLI = """#!{python}
import json, os, pathlib, signal, sys, time
words = sys.argv[1:]
log = pathlib.Path(words[words.index("--event-log") + 1])
event = {{"severity": "error", "message": "api error DependencyViolation: no", "urn": {urn!r}}}
log.write_text(json.dumps({{"timestamp": 1, "diagnosticEvent": event}}) + "\\n")
try:
    pathlib.Path({calls!r}).write_text(json.dumps([words, os.environ.get("PULUMI_DEBUG_COMMANDS")]))
    time.sleep(60 * ("--hang" in words))
    if "--interrupt" in words:
        os.kill(os.getppid(), signal.SIGINT)
except KeyboardInterrupt:
    sys.exit(7)
print(sys.stdin.readline().strip())
sys.exit(255 * ("--fail" in words))
"""
URN = "urn:pulumi:lab::gpucluster::gpucluster:aws:Network$aws:ec2/subnet:Subnet::network-nodes-1"


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    """Where a played CLI, which is alone on PATH, writes how it was called."""
    cli, made = tmp_path / "pulumi", tmp_path / "calls"
    cli.write_text(CLI.format(python=sys.executable, calls=str(made), urn=URN))
    cli.chmod(0o755)
    return made


def started(calls: Path, *words: str) -> subprocess.Popen[str]:
    """The command without any package: a workflow's job has installed none for it."""
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from deploy.__main__ import main; sys.exit(main({words!r}))"
    )
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", script],
        env={"PATH": str(calls.parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_the_cli_has_the_terminal_and_its_words(calls: Path) -> None:
    """What is asked and answered there is its own, and a success says no more."""
    done = started(calls, "up", "--stack", "lab", "--yes", "--policy-pack", "policy/pack")
    assert done.communicate("an answer\n", timeout=30) == ("an answer\n", "")
    assert done.returncode == 0
    words, unlocked = json.loads(calls.read_text())
    assert words[:4] == ["up", "--stack", "lab", "--event-log"]
    assert words[5:] == ["--yes", "--policy-pack", "policy/pack"]
    assert unlocked == "true", "without it the CLI has no --event-log"
    assert not Path(words[4]).exists()


def test_a_failure_ends_with_component_and_next_step(calls: Path) -> None:
    done = started(calls, "destroy", "--stack", "lab", "--fail")
    _, said = done.communicate("\n", timeout=30)
    assert done.returncode == 255
    assert said.splitlines()[:2] == ["what to do:", "  Network: aws:ec2:Subnet network-nodes-1"]
    assert "`make vacate STACK=lab`" in said


def test_the_command_reads_what_its_cli_wrote(
    calls: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In this process. A Ctrl-C that reaches it meanwhile ends nothing here, and a later one does again."""
    monkeypatch.setenv("PATH", str(calls.parent))
    before = signal.getsignal(signal.SIGINT)
    assert main(["destroy", "--stack", "lab", "--refresh", "--fail", "--interrupt"]) == 255
    words, unlocked = json.loads(calls.read_text())
    assert (words[:4], words[5:]) == (
        ["destroy", "--stack", "lab", "--event-log"],
        ["--refresh", "--fail", "--interrupt"],
    )
    assert unlocked == "true"
    assert capfd.readouterr().err.splitlines() == [
        "what to do:",
        "  Network: aws:ec2:Subnet network-nodes-1",
        f"    {REMEDIES[IN_USE]}. `make vacate STACK=lab` removes what controllers and dead nodes left",
    ]
    assert signal.getsignal(signal.SIGINT) is before
    (calls.parent / "pulumi").unlink()
    assert main(["up", "--stack", "lab"]) == 2
    assert capfd.readouterr() == ("", "error: pulumi is not on PATH: install the Pulumi CLI\n")


@pytest.mark.parametrize("words", [[], ["up"], ["refresh", "--stack", "lab"], ["up", "--stac", "lab"]])
def test_what_is_asked_for_is_typed_in_full(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "python -m deploy: error: " in capsys.readouterr().err


def test_an_interrupt_is_the_engines(calls: Path) -> None:
    """It ends what is under way and keeps no lock; an engine that is killed leaves one."""
    done = started(calls, "up", "--stack", "lab", "--hang")
    deadline = time.monotonic() + 30
    while not (calls.exists() and calls.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(done.pid, signal.SIGINT)
    done.communicate(timeout=30)
    assert done.returncode == 7


def test_a_machine_without_the_cli_is_told(tmp_path: Path) -> None:
    done = started(tmp_path / "calls", "up", "--stack", "lab")
    _, said = done.communicate(timeout=30)
    assert (done.returncode, said) == (2, "error: pulumi is not on PATH: install the Pulumi CLI\n")


def test_make_and_the_workflow_say_the_same() -> None:
    steps = yaml.safe_load((ROOT / ".github/workflows/deploy.yml").read_text())["jobs"]["up"]["steps"]
    (words,) = handed(steps[-1]["run"].replace("make ", "make STACK=prod "))
    assert words == ["-m", "deploy", "up", "--stack", "prod", "--yes", "--diff", "--policy-pack", "policy/pack"]
    (words,) = handed("make undeploy STACK=lab ARGS=--refresh")
    assert words == ["-m", "deploy", "destroy", "--stack", "lab", "--refresh"]
