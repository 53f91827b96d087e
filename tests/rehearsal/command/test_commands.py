"""The commands as a person runs them, on a small stack without a cluster (N01-N03, Q02, Q06)."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import urllib3

from rehearsal import places
from rehearsal.places import SiteDirectory

pytestmark = pytest.mark.engine
PATIENCE = 120.0
PROGRAM = """\
import pulumi
import pulumi_aws as aws

tags = {"tags": {"gpucluster:stack": pulumi.get_stack()}}
mine = pulumi.ResourceOptions(provider=aws.Provider("aws", region="eu-west-1", default_tags=tags))
kept = pulumi.ResourceOptions(provider=mine.provider, protect=True)
vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", tags={"Name": "vpc"}, opts=mine)
for zone in "ab":
    block = f"10.0.{ord(zone) - ord('a')}.0/24"
    place = {"vpc_id": vpc.id, "cidr_block": block, "availability_zone": f"eu-west-1{zone}"}
    aws.ec2.Subnet(zone, **place, tags={"Name": zone}, opts=mine)
aws.s3.Bucket("bucket", bucket=f"trial-{pulumi.get_stack()}", tags={"Name": "bucket"}, opts=kept)
pulumi.export("token", pulumi.Config().require_secret("token"))
"""


@dataclass(frozen=True)
class Trial:
    """The program, and a state root of its own for the rehearsals started on it."""

    root: Path
    home: Path
    started: "list[subprocess.Popen[str]]" = field(default_factory=list)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        command, *rest = arguments
        argv = [sys.executable, "-m", "rehearsal", command, "--root", str(self.root), *rest]
        env = os.environ | {"GPUCLUSTER_HOME": str(self.home)}
        output = subprocess.PIPE
        process = subprocess.Popen(
            argv, cwd=places.CHECKOUT, env=env, stdout=output, stderr=subprocess.STDOUT, text=True
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str) -> tuple[int, str]:
        with self.start(*arguments) as process:
            said = process.communicate(timeout=PATIENCE)[0]
        return process.returncode, said

    def site(self, name: str = "dev") -> SiteDirectory:
        return SiteDirectory(next(iter((self.home / "gpucluster").glob("*")), self.home) / name)

    def record(self, name: str = "dev") -> Any:
        return json.loads(self.site(name).record.read_text())

    def processes(self) -> list[str]:
        """Command lines of all living processes of this trial's rehearsals."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    environment, line = (entry / "environ").read_bytes(), (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                if f"GPUCLUSTER_HOME={self.home}".encode() in environment.split(b"\0"):
                    found.append(line.replace(b"\0", b" ").decode())
        return found

    def nothing_left(self) -> bool:
        return not self.processes() and not self.site().path.exists()


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    root = tmp_path / "program"
    root.mkdir()
    (root / "Pulumi.yaml").write_text("name: trial\nruntime: python\nconfig:\n  token: {secret: true}\n")
    for stack in ("dev", "other"):
        (root / f"Pulumi.{stack}.yaml").write_text("config:\n  trial:weights: s3://models/llama\n")
    (root / "__main__.py").write_text(PROGRAM)
    made = Trial(root, tmp_path / "home")
    yield made
    for process in made.started:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
    for name in ("dev", "other"):
        if made.site(name).path.exists():
            made.run("down", "--stack", name)
    until(lambda: not made.processes(), "every process to end")


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE:.0f} s for {what}"
        time.sleep(0.2)


def throttle(trial: Trial, action: str) -> None:
    """Hold every call of one operation up for a while: the provider retries."""
    fault = {"action": action, "code": "RequestLimitExceeded", "status": 503, "times": 6, "seconds": None}
    url = f"{trial.record()['cloud']['url']}/rehearsal/faults"
    assert urllib3.request("POST", url, json=fault).status < 300


def creating(trial: Trial, name: str, process: "subprocess.Popen[str]") -> Callable[[], bool]:
    """Whether the engine's log of `up` shows that it works on the resource; fails at once if `up` has ended."""

    def begun() -> bool:
        if process.poll() is not None:
            pytest.fail(process.communicate()[0])
        events = trial.site().logs / "pulumi-up.events"
        lines = events.read_text().splitlines() if events.exists() else []
        return any('"resourcePreEvent"' in line and f'::{name}"' in line for line in lines)

    return begun


def test_up_shows_a_table_and_down_of_a_protected_stack_shows_the_refusal(trial: Trial) -> None:
    status, said = trial.run("up")
    assert status == 0, said
    for words in ("trial:token", "7 objects in s3://models/llama", "aws:ec2:Subnet", "create", "peak memory"):
        assert words in said
    before = {path: path.read_bytes() for path in trial.root.iterdir() if path.is_file()}
    status, said = trial.run("preview")
    assert (status, "unchanged" in said) == (0, True), said
    assert trial.run("status")[0] == 0
    status, said = trial.run("down")
    assert status == 0, said
    assert "cannot be deleted" in said
    refusal = "refused, as on a real deployment: 1 resources are protected"
    assert refusal in said
    assert "  - aws:" not in said.partition(refusal)[0], "something was deleted before the refusal"
    assert "zero left" in said
    assert trial.nothing_left()
    assert {path: path.read_bytes() for path in trial.root.iterdir() if path.is_file()} == before


def test_an_interrupted_up_leaves_nothing_running(trial: Trial) -> None:
    process = trial.start("up")
    until(creating(trial, "vpc", process), "the update to begin")
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 130, said
    assert "nothing is left running" in said
    assert trial.nothing_left()


def test_a_killed_engine_is_recovered_by_the_next_up(trial: Trial) -> None:
    assert trial.run("up")[0] == 0
    (trial.root / "__main__.py").write_text(PROGRAM.replace('"ab"', '"abc"'))
    throttle(trial, "CreateSubnet")
    process = trial.start("up")
    until(creating(trial, "c", process), "the third subnet")
    until(lambda: kill_engine(trial) > 0, "an engine to kill")
    said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 1
    assert "was killed" in said
    status, said = trial.run("up")
    assert status == 0, said
    assert "recover: the engine was killed" in said
    status, said = trial.run("down")
    assert (status, "zero left" in said) == (0, True), said


def kill_engine(trial: Trial) -> int:
    exe, killed = trial.site().pulumi / "bin" / "pulumi", 0
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            ours = entry.name.isdigit() and (entry / "exe").readlink() == exe
            if ours and b"\0up\0" in (entry / "cmdline").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
                killed += 1
    return killed


def test_an_account_that_died_is_told_and_started_clean(trial: Trial) -> None:
    assert trial.run("up")[0] == 0
    os.kill(trial.record()["cloud"]["pid"], signal.SIGKILL)
    until(lambda: not trial.processes(), "the supervisor to end with its account")
    status, said = trial.run("up")
    assert status == 0, said
    assert "starting clean" in said
    assert "create" in said


def test_two_rehearsals_run_side_by_side(trial: Trial) -> None:
    first, second = trial.start("up", "--stack", "dev"), trial.start("up", "--stack", "other")
    said = [process.communicate(timeout=PATIENCE)[0] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], said
    assert trial.record("dev")["cloud"]["url"] != trial.record("other")["cloud"]["url"]
    assert trial.run("down", "--stack", "dev")[0] == 0
    assert trial.run("status", "--stack", "other")[0] == 0


def test_a_preview_against_a_revision_shows_only_the_difference(trial: Trial) -> None:
    git = ["git", "-C", str(trial.root), "-c", "user.name=n", "-c", "user.email=e@example.com"]
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "one"]):
        subprocess.run([*git, *words], check=True)
    (trial.root / "__main__.py").write_text(PROGRAM.replace('"ab"', '"abc"'))
    status, said = trial.run("preview", "--base", "HEAD")
    assert status == 0, said
    assert "+ aws:ec2/subnet:Subnet: (create)" in said
    assert "create 1, same 6" in said
    assert not trial.processes()


def test_rehearse_says_when_a_second_preview_is_not_quiet(trial: Trial) -> None:
    noisy = PROGRAM.replace('{"Name": "vpc"}', '{"Name": "vpc", "now": str(time.time())}')
    (trial.root / "__main__.py").write_text("import time\n" + noisy)
    status, said = trial.run("rehearse")
    assert status == 1
    assert "a second preview is not quiet: update aws:ec2/vpc:Vpc vpc" in said
    assert "zero left" in said
    assert not trial.processes()
