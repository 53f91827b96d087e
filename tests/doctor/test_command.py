"""The command: exit codes, table, JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.__main__ import main
from tests.doctor.conftest import REGION
from tests.rehearsal.cloud.conftest import Cloud

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def too_small(cloud: Cloud) -> Iterator[None]:
    """An account in which no P instance may run."""
    cloud.call("PUT", f"quotas/{REGION}/ec2/L-417A185B", {"value": 0})
    yield
    cloud.call("PUT", f"quotas/{REGION}/ec2/L-417A185B", {})


def test_a_stack_that_can_be_deployed(capsys: pytest.CaptureFixture[str]) -> None:
    """The table, its last line, 0."""
    assert main(["--stack", "dev"]) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines()) <= 118
    assert "ok instance" in shown
    assert shown.splitlines()[-1].startswith("dev in us-east-2: 0 fail, 0 unknown,")


@pytest.mark.usefixtures("too_small")
def test_a_stack_that_cannot(capsys: pytest.CaptureFixture[str]) -> None:
    """What fails comes first; 1."""
    assert main(["--stack", "prod"]) == 1
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows[0].lstrip().startswith("fail quota")
    assert "1,536 vCPU needed" in rows[0] + rows[1]


@pytest.mark.usefixtures("too_small")
def test_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """Every result with its status, and the counts; 1."""
    assert main(["--stack", "dev", "--format", "json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert (shown["stack"], shown["region"]) == ("dev", REGION)
    (wrong,) = [each for each in shown["results"] if each["status"] == "fail"]
    assert (wrong["check"], wrong["subject"]) == ("quota", "Running On-Demand P instances")
    assert "L-417A185B" in wrong["remedy"]
    assert shown["counts"]["fail"] == 1
    assert sum(shown["counts"].values()) == len(shown["results"])


def test_unknown_is_no_failure(capsys: pytest.CaptureFixture[str], cloud: Cloud) -> None:
    """It is counted apart; 0."""
    cloud.call("POST", "faults", {"action": "GetParameters", "code": "AccessDeniedException", "status": 400})
    assert main(["--stack", "dev"]) == 0
    shown = capsys.readouterr().out
    assert "unknown image" in shown
    assert "grant ssm:GetParameters" in " ".join(shown.split())
    assert "0 fail, 1 unknown" in shown


@pytest.mark.parametrize(
    ("stack", "words"),
    [("nowhere", "Pulumi.nowhere.yaml: No such file or directory"), ("metal", "only stacks on aws have an account")],
)
def test_stacks_that_have_no_account(capsys: pytest.CaptureFixture[str], stack: str, words: str) -> None:
    """One sentence; 2."""
    assert main(["--stack", stack]) == 2
    assert words in capsys.readouterr().err


def test_a_stack_file_that_is_wrong(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings' own sentences; 2."""
    text = (ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8").replace("region: us-east-2", "region: ohio")
    (tmp_path / "Pulumi.dev.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "Pulumi.yaml").write_text("name: gpucluster\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["--stack", "dev"]) == 2
    assert "gpucluster:platform.region" in capsys.readouterr().err


def test_wrong_usage() -> None:
    """argparse's own exit; 2."""
    with pytest.raises(SystemExit) as caught:
        main(["--stack", "dev", "--format", "xml"])
    assert caught.value.code == 2


def test_as_make_runs_it() -> None:
    """In a process of its own, through the endpoint that boto3 honours."""
    command = [sys.executable, "-m", "doctor", "--stack", "dev"]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "us-east-2: 0 fail" in done.stdout
    assert done.stderr == ""
