"""The account's schedules under the test's clock: what they call is the real code, from the archive in the account.

Calls run in a process with the function's environment, kept warm as a Lambda runtime is, until the function's code or
configuration is updated (Lambda developer guide, "Lambda function states": calls go to the new ones then). A call that
fails, or that is throttled, is made again with the same event (Scheduler user guide, "Configuring a retry policy").
"""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rehearsal.keys import Account

RATE = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
RUNTIME = """
import importlib, json, os, sys
sys.path.insert(0, sys.argv[1])
from botocore.client import BaseClient
module, _, name = sys.argv[2].partition(".")
handle = getattr(importlib.import_module(module), name)
made, left = BaseClient._make_api_call, 0
def call(self, *given):
    global left
    left -= 1
    if left == -1:
        os._exit(137)
    return made(self, *given)
BaseClient._make_api_call = call
replies, sys.stdout = sys.stdout, sys.stderr
for line in sys.stdin:
    asked = json.loads(line)
    left = asked["requests"] or -1
    answer = handle(asked["event"], None)
    print(json.dumps(answer), file=replies, flush=True)
"""
"""A runtime that is kept warm: it answers events, one in a line, and ends with the first that fails."""


@dataclass(frozen=True)
class Call:
    """One call of a function: when, and what it answered, None if it failed."""

    at: datetime
    answer: dict[str, Any] | None


@dataclass
class Schedules:
    """The schedules of one region from `now` on. `throttle` calls are not even started; `die_after` ends each call
    after so many requests to AWS, as a crash of its machine does.
    """

    account: Account
    region: str
    now: datetime
    throttle: int = 0
    die_after: int = 0
    calls: list[Call] = field(default_factory=list)
    _warm: dict[str, tuple[dict[str, Any], subprocess.Popen[str]]] = field(default_factory=dict)

    def close(self) -> None:
        """End what is kept warm."""
        for arn in list(self._warm):
            self._end(arn)

    def _end(self, arn: str) -> None:
        _, process = self._warm.pop(arn)
        process.kill()
        process.communicate()

    def run(self, until: datetime, between: Callable[[], object] = lambda: None) -> list[Call]:
        """Let the clock run; `between` is called before each round of the schedules. Returns the calls of this time."""
        first = len(self.calls)
        client = self._client("scheduler")
        while True:
            due = [client.get_schedule(Name=each["Name"]) for each in client.list_schedules()["Schedules"]]
            enabled = [each for each in due if each["State"] == "ENABLED"]
            if not enabled:
                self.now = until
                break
            step = min(period(each["ScheduleExpression"]) for each in enabled)
            if self.now + step > until:
                break
            self.now += step
            self._advance()
            between()
            for each in enabled:
                self._target(each["Target"])
        return self.calls[first:]

    def _advance(self) -> None:
        """What the account's capacity blocks are at this moment."""
        self.account.ask("PUT", f"calendar/{self.region}", {"now": self.now.isoformat()})

    def notice(self, topic: str, subject: str) -> None:
        """A message to a topic, for the functions that are subscribed to it."""
        sent = {"Timestamp": f"{self.now:%Y-%m-%dT%H:%M:%S}.000Z", "Subject": subject, "Message": subject}
        for each in self._client("sns").list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]:
            if each["Protocol"] == "lambda":
                self._call(each["Endpoint"], {"Records": [{"EventSource": "aws:sns", "Sns": sent}]})

    def _target(self, target: dict[str, Any]) -> None:
        told = target["Input"].replace("<aws.scheduler.scheduled-time>", f"{self.now:%Y-%m-%dT%H:%M:%SZ}")
        for _ in range(1 + target.get("RetryPolicy", {}).get("MaximumRetryAttempts", 185)):
            if self.throttle:
                self.throttle -= 1
            elif self._call(target["Arn"], json.loads(told)):
                return

    def _call(self, arn: str, event: dict[str, Any]) -> bool:
        function = self.account.ask("GET", f"functions/{self.region}/{arn.rpartition(':')[2]}").json()
        if arn in self._warm and self._warm[arn][0] != function:
            self._end(arn)
        if arn not in self._warm:
            self._warm[arn] = function, self._start(function)
        process = self._warm[arn][1]
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the function's process has no pipes")
        process.stdin.write(json.dumps({"event": event, "requests": self.die_after}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            self._end(arn)
        self.calls.append(Call(self.now, json.loads(line) if line else None))
        return bool(line)

    def _start(self, function: dict[str, Any]) -> subprocess.Popen[str]:
        archive = Path(tempfile.mkdtemp(prefix="function-"), "function.zip")
        archive.write_bytes(base64.b64decode(function["archive"]))
        return subprocess.Popen(
            [sys.executable, "-c", RUNTIME, str(archive), function["handler"]],
            cwd=archive.parent,
            env=self._environment(function["environment"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _environment(self, own: dict[str, str]) -> dict[str, str]:
        """What Lambda sets, and where this account answers."""
        return {
            "PATH": os.environ["PATH"],
            "AWS_REGION": self.region,
            **self.account.variables,
            **own,
        }

    def _client(self, service: str) -> Any:
        return self.account.client(service, self.region)


def period(expression: str) -> timedelta:
    """How long a rate lasts; raises ValueError for other expressions, which no clock here can follow yet."""
    found = RATE.fullmatch(expression)
    if not found:
        raise ValueError(f"the rehearsal runs schedules of a rate, such as rate(10 minutes), not {expression}")
    return timedelta(**{f"{found[2]}s": int(found[1])})
