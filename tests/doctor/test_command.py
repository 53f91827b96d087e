"""The command: exit codes, table, JSON."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from doctor.__main__ import main
from rehearsal.tests.cloud.conftest import Cloud
from tests.doctor.conftest import REGION

ROOT = Path(__file__).parents[2]


ADDRESS = ["--address", "80.81.82.9"]


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The committed stacks as somebody's own: with no placeholder left."""
    (tmp_path / "Pulumi.yaml").write_text("name: gpucluster\n", encoding="utf-8")
    for stack in ("dev", "prod", "metal"):
        text = (ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")
        for placeholder, own in OWN.items():
            text = text.replace(placeholder, own)
        (tmp_path / f"Pulumi.{stack}.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "Pulumi.bare.yaml").write_text(without_machines(ROOT / "Pulumi.metal.yaml"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without_machines(file: Path) -> str:
    """A stack that is planned only."""
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    del content["config"]["gpucluster:inventory"]
    return yaml.safe_dump(content)


OWN = {
    "gpucluster:example: true": "gpucluster:example: false",
    "203.0.113.0/24": "80.81.82.0/24",
    "acme-model-weights": "team-a-models",
    "acme-datasets": "team-a-text",
    "registry.example.com/ml": "registry.team-a.net/ml",
    "ml-platform@example.com": "ml@team-a.net",
    "        keyArn: arn:aws:kms:us-east-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab": "",
}


@pytest.fixture
def too_small(cloud: Cloud) -> Iterator[None]:
    """An account in which no P instance may run."""
    cloud.call("PUT", f"quotas/{REGION}/ec2/L-417A185B", {"value": 0})
    yield
    cloud.call("PUT", f"quotas/{REGION}/ec2/L-417A185B", {})


def test_a_stack_that_can_be_deployed(capsys: pytest.CaptureFixture[str]) -> None:
    """The table, its last line, 0."""
    assert main(["--stack", "dev", *ADDRESS]) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines()) <= 118
    assert "ok instance" in shown
    assert shown.splitlines()[-1].startswith("dev in us-east-2: 0 fail, 1 unknown,")


@pytest.mark.usefixtures("too_small")
def test_a_stack_that_cannot(capsys: pytest.CaptureFixture[str]) -> None:
    """What fails comes first; 1."""
    assert main(["--stack", "prod"]) == 1
    rows = capsys.readouterr().out.splitlines()[2:]
    first = next(index for index, row in enumerate(rows) if row.lstrip().startswith("fail quota"))
    assert not [row for row in rows[:first] if row.lstrip().startswith(("ok ", "unknown "))]
    assert "1,536 vCPU needed" in rows[first] + rows[first + 1]


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
    assert main(["--stack", "dev", *ADDRESS]) == 0
    shown = capsys.readouterr().out
    assert "unknown image" in shown
    assert "grant ssm:GetParameters" in " ".join(shown.split())
    assert "0 fail, 2 unknown" in shown


@pytest.mark.parametrize(
    ("stack", "words"),
    [
        ("nowhere", "Pulumi.nowhere.yaml: No such file or directory"),
        ("bare", "it has no gpucluster:inventory, so there are no machines to check"),
    ],
)
def test_stacks_that_have_no_account(capsys: pytest.CaptureFixture[str], stack: str, words: str) -> None:
    """One sentence; 2."""
    assert main(["--stack", stack]) == 2
    assert words in capsys.readouterr().err


def test_a_stack_file_that_is_wrong(capsys: pytest.CaptureFixture[str], at_home: Path) -> None:
    """The settings' own sentences; 2."""
    text = (ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8").replace("region: us-east-2", "region: ohio")
    (at_home / "Pulumi.dev.yaml").write_text(text, encoding="utf-8")
    assert main(["--stack", "dev"]) == 2
    assert "gpucluster:platform.region" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--format", "xml"], ["--address", "80.81.82.0/24"]])
def test_wrong_usage(words: list[str]) -> None:
    """argparse's own exit; 2."""
    with pytest.raises(SystemExit) as caught:
        main(["--stack", "dev", *words])
    assert caught.value.code == 2


def test_as_make_runs_it(at_home: Path) -> None:
    """In a process of its own, through the endpoint that boto3 honours."""
    command = [sys.executable, "-m", "doctor", "--stack", "dev"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=at_home, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "us-east-2: 0 fail" in done.stdout
    assert done.stderr == ""


def test_an_example_is_not_to_be_deployed_lf03(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The committed file itself: every placeholder fails, and so does the mark."""
    monkeypatch.chdir(ROOT)
    assert main(["--stack", "dev", "--format", "json"]) == 1
    results = json.loads(capsys.readouterr().out)["results"]
    about = [each["subject"] for each in results if each["check"] == "placeholder"]
    assert {"203.0.113.0/24", "acme-datasets", "acme-model-weights", "gpucluster:example"} <= set(about)


@pytest.mark.parametrize("form", ["text", "json"])
def test_machines_that_nobody_can_ask(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line for all, one for their controllers, and 3: an ssh that reaches nobody stands before the real one."""
    monkeypatch.delenv("BMC_PASSWORD", raising=False)
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text("#!/bin/sh\necho 'ssh: connect to host: No route to host' >&2\nexit 255\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", str(ssh.parent), prepend=os.pathsep)
    assert main(["--stack", "metal", "--format", form]) == 3
    shown = capsys.readouterr()
    assert "nothing was checked: no machine" in shown.err
    if form == "json":
        machines, controllers = json.loads(shown.out)["results"]
        assert (machines["status"], machines["sentence"]) == ("unknown", "it does not answer")
        assert (controllers["check"], controllers["remedy"]) == ("bmc", "set BMC_PASSWORD and run again")
    else:
        assert "metal at hall-2: 0 fail, 2 unknown, 0 warn, 0 ok" in shown.out


def test_a_machine_that_is_another_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text('#!/bin/sh\ncat >/dev/null\nprintf "serial STRANGER\\nend\\n"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", str(ssh.parent), prepend=os.pathsep)
    assert main(["--stack", "metal"]) == 1
    assert "another machine answers: STRANGER" in " ".join(capsys.readouterr().out.split())
