"""The Pulumi CLI on a real stack, until a deadline: interrupted as by Ctrl-C, so that it keeps its state."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from deploy.advice import WRITES_EVENTS, advice

LEAVE_SECONDS = 1800
"""What an interrupted engine may take to end what is under way; a cluster alone takes a quarter of an hour."""


class Failed(Exception):  # noqa: N818 - a sentence for the person, not a fault
    """A command of the engine did not end well."""


def held_by(stack: str) -> int:
    """How many resources the stack's state has. Raises Failed if the CLI does not know the stack."""
    try:
        done = subprocess.run(
            ["pulumi", "stack", "export", "--stack", stack], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise Failed("pulumi is not on PATH: install the Pulumi CLI") from None
    if done.returncode:
        raise Failed(
            f"pulumi stack export: {done.stderr.strip()}; log in, and create it with pulumi stack init {stack}"
        )
    resources = json.loads(done.stdout).get("deployment", {}).get("resources") or []
    return sum(each["type"] != "pulumi:pulumi:Stack" for each in resources)


@dataclass(frozen=True)
class Pulumi:
    """`pulumi` on one stack; each call gets its own stack file in `directory`, which only the owner reads."""

    stack: str
    directory: Path
    rest: Mapping[str, Any]
    """What stands beside `config:` in the stack file: how its secrets are kept."""

    def up(self, name: str, config: Mapping[str, Any], seconds: float) -> None:
        """Apply. Raises Failed, also when `seconds` are over, with everything that was made in the state."""
        file = self.directory / f"{name}.yaml"
        file.write_text(yaml.safe_dump({**self.rest, "config": dict(config)}, sort_keys=False))
        file.chmod(0o600)
        self._run("up", ["--yes", "--skip-preview", "--config-file", str(file)], seconds)

    def destroy(self) -> None:
        """Delete all of the stack. Raises Failed."""
        self._run("destroy", ["--yes", "--skip-preview"], None)

    def _run(self, command: str, options: Sequence[str], seconds: float | None) -> None:
        log = self.directory / f"{command}.events"
        log.unlink(missing_ok=True)
        words = ["pulumi", command, "--stack", self.stack, "--event-log", str(log), *options]
        environment = {**os.environ, **WRITES_EVENTS}
        # A session of its own: a Ctrl-C at the terminal reaches this process alone, which passes it on once.
        child = subprocess.Popen(words, env=environment, start_new_session=True)
        begun = time.monotonic()
        try:
            status = child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            _interrupted(child)
            raise Failed(f"pulumi {command} was interrupted: the hours are over") from None
        except KeyboardInterrupt:
            _interrupted(child)
            raise
        if status:
            took = (time.monotonic() - begun) / 60
            print(*advice(log, self.stack), sep="\n")
            raise Failed(f"pulumi {command} ended with {status} after {took:.0f} min: its output is above")


def _interrupted(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(signal.SIGINT)
    try:
        child.wait(timeout=LEAVE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
