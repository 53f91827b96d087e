"""`make smoke` with a CLI that writes down how it was called: stages, budget, teardown in any case."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.plan import plan
from settings.load import from_file
from settings.model import AwsSettings

ROOT = Path(__file__).parents[2]
PULUMI = """
import json, os, sys, time, yaml
words = sys.argv[1:]
if words[0] == "stack":
    held = [{"type": "aws:ec2/vpc:Vpc"}] * int(os.environ.get("HOLDS", "0"))
    print(json.dumps({"deployment": {"resources": [{"type": "pulumi:pulumi:Stack"}, *held]}}))
    sys.exit(os.environ.get("FAILS") == "stack")
config = yaml.safe_load(open(words[words.index("--config-file") + 1])) if "--config-file" in words else {}
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps({"words": words, "file": config}) + "\\n")
stage = os.path.basename(words[words.index("--config-file") + 1]) if "--config-file" in words else words[0]
if stage == os.environ.get("HANGS"):
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        sys.exit(255)
if stage == os.environ.get("FAILS"):
    assert os.environ["PULUMI_DEBUG_COMMANDS"] == "true", "without it the CLI has no --event-log"
    event = {"severity": "error", "message": "VcpuLimitExceeded - You have requested more vCPU capacity"}
    with open(words[words.index("--event-log") + 1], "w") as log:
        log.write(json.dumps({"timestamp": 1, "diagnosticEvent": event}) + "\\n")
    sys.exit(1)
"""
DOCTOR = "import os, sys; sys.exit(int(os.environ.get('DOCTOR', '0')))"


@dataclass
class Tried:
    """What a smoke run did: its exit code and words, and each call of the CLI."""

    status: int
    text: str
    calls: list[dict[str, Any]]

    @property
    def stages(self) -> list[str]:
        """The stage of each `up`, and every other command."""
        files = [each["words"] for each in self.calls]
        return [
            Path(words[words.index("--config-file") + 1]).stem if "--config-file" in words else words[0]
            for words in files
        ]


@pytest.fixture
def prepared(tmp_path: Path) -> Callable[[Mapping[str, str]], dict[str, str]]:
    """The environment of a run in a directory of its own, in which the CLI and the doctor are played."""
    (tmp_path / "bin").mkdir()
    cli = tmp_path / "bin" / "pulumi"
    cli.write_text(f"#!{sys.executable}\n{PULUMI}")
    cli.chmod(0o755)
    (tmp_path / "doctor.py").write_text(DOCTOR)
    for stack in ("dev", "prod"):
        (tmp_path / f"Pulumi.{stack}.yaml").write_text((ROOT / f"Pulumi.{stack}.yaml").read_text())

    def environment(extra: Mapping[str, str]) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
            "CALLS": str(tmp_path / "calls"),
            **extra,
        }

    return environment


@pytest.fixture
def smoke(tmp_path: Path, prepared: Callable[..., dict[str, str]]) -> Callable[..., Tried]:
    def run(*words: str, interrupt: bool = False, **extra: str) -> Tried:
        process = subprocess.Popen(
            [sys.executable, "-m", "smoke", *words],
            cwd=tmp_path,
            env=prepared(extra),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        calls = tmp_path / "calls"
        if interrupt:
            deadline = time.monotonic() + 30
            while not (calls.exists() and calls.read_text().count("\n") >= 1) and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
        text, _ = process.communicate(timeout=60)
        lines = calls.read_text().splitlines() if calls.exists() else []
        return Tried(process.returncode, text, [json.loads(line) for line in lines])

    return run


def test_the_cheapest_comes_first_and_everything_is_destroyed(smoke: Callable[..., Tried]) -> None:
    tried = smoke("--stack", "dev", "--budget", "100")
    assert (tried.status, tried.stages) == (0, ["system", "gpu", "whole", "destroy"]), tried.text
    pools = [
        {pool["name"]: pool["count"] for pool in each["file"]["config"]["gpucluster:pools"]}
        for each in tried.calls
        if each["file"]
    ]
    assert pools == [
        {"system": 2},
        {"system": 2, "inference": 1},
        {"system": 2, "training": 2, "inference": 2},
    ]
    written = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    assert tried.calls[2]["file"] == written
    gpu = tried.calls[1]["file"]["config"]
    assert (gpu["gpucluster:training"]["runs"], gpu["gpucluster:serving"]["services"]) == ([], [])
    assert gpu["gpucluster:platform"] == written["config"]["gpucluster:platform"]


def test_hours_that_cost_more_than_the_budget_make_nothing(smoke: Callable[..., Tried]) -> None:
    """Paid are two hours, and three quarters of an hour to tear down, of the dearest stage."""
    settings = from_file(ROOT / "Pulumi.dev.yaml")
    assert isinstance(settings, AwsSettings)
    worst = plan(settings).prices.hourly * 2.75
    tried = smoke("--stack", "dev", "--budget", f"{worst - 1:.2f}")
    assert (tried.status, tried.calls) == (2, [])
    assert f"may cost {worst:.2f} USD" in tried.text
    assert smoke("--stack", "dev", "--budget", f"{worst + 1:.2f}", "--hours", "2").status == 0


def test_a_stack_that_holds_something_is_left_alone(smoke: Callable[..., Tried]) -> None:
    tried = smoke("--stack", "dev", "--budget", "100", HOLDS="2")
    assert (tried.status, tried.calls) == (2, [])
    assert "holds 2 resources, which the tear-down would delete" in tried.text


def test_a_stack_that_the_cli_does_not_know_is_to_be_made(smoke: Callable[..., Tried]) -> None:
    tried = smoke("--stack", "dev", "--budget", "100", FAILS="stack")
    assert (tried.status, tried.calls) == (2, [])
    assert "pulumi stack init dev" in tried.text


def test_a_protected_stack_is_refused(smoke: Callable[..., Tried]) -> None:
    tried = smoke("--stack", "prod", "--budget", "100000")
    assert (tried.status, tried.calls) == (2, [])
    assert "lifecycle.protect is set" in tried.text


def test_nothing_is_made_where_the_doctor_says_no(smoke: Callable[..., Tried]) -> None:
    tried = smoke("--stack", "dev", "--budget", "100", DOCTOR="1")
    assert (tried.status, tried.calls) == (1, [])


@pytest.mark.parametrize("fault", [{"FAILS": "gpu.yaml"}, {"HANGS": "gpu.yaml"}])
def test_a_stage_that_fails_or_outlasts_the_hours_ends_in_the_teardown(
    smoke: Callable[..., Tried], fault: dict[str, str]
) -> None:
    tried = smoke("--stack", "dev", "--budget", "100", "--hours", "0.0003", **fault)
    assert (tried.status, tried.stages) == (1, ["system", "gpu", "destroy"]), tried.text
    assert "1 of 3 stages stood; nothing is left" in tried.text


def test_what_a_stage_was_refused_for_comes_with_the_next_step(smoke: Callable[..., Tried]) -> None:
    tried = smoke("--stack", "dev", "--budget", "100", FAILS="gpu.yaml")
    assert "`make doctor STACK=dev` names the quota" in tried.text
    assert "what to do:" not in smoke("--stack", "dev", "--budget", "100").text


def test_an_interrupt_ends_in_the_teardown(smoke: Callable[..., Tried]) -> None:
    tried = smoke("--stack", "dev", "--budget", "100", HANGS="system.yaml", interrupt=True)
    assert (tried.status, tried.stages) == (1, ["system", "destroy"]), tried.text
    assert "system: interrupted" in tried.text


def test_what_cannot_be_destroyed_is_tried_again_and_said(smoke: Callable[..., Tried]) -> None:
    tried = smoke("--stack", "dev", "--budget", "100", FAILS="destroy")
    assert (tried.status, tried.stages) == (1, ["system", "gpu", "whole", "destroy", "destroy"])
    assert "make undeploy STACK=dev" in tried.text
