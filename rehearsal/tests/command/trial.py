"""A program in a directory of its own, and the commands run on it as a person does: in that directory."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rehearsal import keys, places
from rehearsal.places import SiteDirectory

PATIENCE = 300.0
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


REHEARSED = """\
from rehearsal.particulars import Content, Particulars, Stored, region
def account(text):
    return Content(region(text), [Stored("models", f"llama/{each}", b"") for each in ("config.json", "weights")])
PROGRAM = Particulars(account=account)
"""


@dataclass(frozen=True)
class Trial:
    """The program, and a state root of its own for the rehearsals started on it."""

    root: Path
    home: Path
    stack: str = "dev"
    started: "list[subprocess.Popen[str]]" = field(default_factory=list)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        command, *rest = arguments
        argv = [sys.executable, "-P", "-m", "rehearsal", command, *rest]
        env = os.environ | {"GPUCLUSTER_HOME": str(self.home), "PYTHONPATH": str(places.CODE)}
        output = subprocess.PIPE
        process = subprocess.Popen(argv, cwd=self.root, env=env, stdout=output, stderr=subprocess.STDOUT, text=True)
        self.started.append(process)
        return process

    def run(self, *arguments: str) -> tuple[int, str]:
        with self.start(*arguments) as process:
            said = process.communicate(timeout=PATIENCE)[0]
        return process.returncode, said

    def site(self, name: str | None = None) -> SiteDirectory:
        """A site of the program; without a name, that of its stack."""
        return SiteDirectory(next(iter((self.home / "gpucluster").glob("*")), self.home) / (name or self.stack))

    def record(self, name: str | None = None) -> Any:
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

    def end(self, *stacks: str) -> None:
        """Stop what still runs."""
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=PATIENCE)
        for stack in stacks:
            if self.site(stack).path.exists():
                self.run("down", "--stack", stack)
        until(lambda: not self.processes(), "every process to end")


def small(tmp_path: Path) -> Trial:
    """A program with a network and a protected bucket, for two stacks, without a cluster."""
    root = tmp_path / "program"
    root.mkdir()
    (root / "Pulumi.yaml").write_text("name: trial\nruntime: python\nconfig:\n  token: {secret: true}\n")
    for stack in ("dev", "other"):
        (root / f"Pulumi.{stack}.yaml").write_text("config:\n  trial:weights: s3://models/llama\n")
    (root / "__main__.py").write_text(PROGRAM)
    (root / "rehearsed").mkdir()
    (root / "rehearsed" / "__init__.py").write_text(REHEARSED)
    return Trial(root, tmp_path / "home")


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE:.0f} s for {what}"
        time.sleep(0.2)


def throttle(trial: Trial, action: str, times: int = 6) -> None:
    """Hold every call of one operation up for a while: the provider retries."""
    fault = {"action": action, "code": "RequestLimitExceeded", "status": 503, "times": times, "seconds": None}
    assert account(trial).ask("POST", "faults", fault).status < 300


def account(trial: Trial) -> keys.Account:
    return keys.Account(trial.record()["cloud"]["url"], keys.read(trial.site().keys))


def creating(trial: Trial, name: str, process: "subprocess.Popen[str]") -> Callable[[], bool]:
    """Whether the engine's log of `up` shows that it works on the resource; fails at once if `up` has ended."""

    def begun() -> bool:
        if process.poll() is not None:
            pytest.fail(process.communicate()[0])
        events = trial.site().logs / "pulumi-up.events"
        lines = events.read_text().splitlines() if events.exists() else []
        return any('"resourcePreEvent"' in line and f'::{name}"' in line for line in lines)

    return begun


def kill_engine(trial: Trial, operation: str = "up") -> int:
    """Kill every engine of the trial's site that does this; how many there were."""
    exe, killed = trial.site().pulumi / "bin" / "pulumi", 0
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            ours = entry.name.isdigit() and (entry / "exe").readlink() == exe
            if ours and f"\0{operation}\0".encode() in (entry / "cmdline").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
                killed += 1
    return killed
