"""The engine's event log (`--event-log`, one JSON object per line) as typed results.

The log's own time stamps are whole seconds, so whoever reads it while it grows passes the time at which each line came.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WRITES_EVENTS = {"PULUMI_DEBUG_COMMANDS": "true"}
"""Environment in which the CLI takes `--event-log`."""
QUIET = frozenset({"same", "refresh", "read", "read-discard", "discard"})
"""Operations that change nothing."""
HALVES = frozenset({"create-replacement", "delete-replaced"})
"""The two steps of a replacement; the engine tells a `replace` as well."""


@dataclass(frozen=True)
class Urn:
    """The parts of a URN that people use: `urn:pulumi:<stack>::<project>::<parent types>$<type>::<name>`."""

    text: str

    @property
    def type(self) -> str:
        return self.text.split("::")[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        return self.text.split("::", 3)[3]

    @property
    def label(self) -> str:
        """Short for a line: `aws:ec2:Vpc main`, `apps/v1:Deployment web`."""
        return f"{short_type(self.type)} {self.name}"


def short_type(token: str) -> str:
    """A type token as people say it: `aws:ec2/vpc:Vpc` is `aws:ec2:Vpc`, `kubernetes:apps/v1:X` is `apps/v1:X`."""
    package, _, rest = token.partition(":")
    module, _, kind = rest.rpartition(":")
    if package == "kubernetes":
        return f"{module}:{kind}"
    return ":".join(part for part in (package, module.split("/")[0], kind) if part not in {"", "index"})


@dataclass
class Step:
    """One operation on one resource; `seconds` is None while it runs, `paths` are the properties that differ.

    A `component` only groups others: nothing is made for it. `object`: namespace and name, if it is in a cluster.
    """

    urn: Urn
    op: str
    started: float
    seconds: float | None = None
    failed: bool = False
    paths: tuple[str, ...] = ()
    component: bool = False
    object: tuple[str, str] | None = None

    @property
    def type(self) -> str:
        return self.urn.type


@dataclass(frozen=True)
class Diagnostic:
    """What the engine, a plugin or the program says; `severity` is error, warning, info or info#err.

    A `passing` one is a display of progress that the next one overwrites at a terminal.
    """

    severity: str
    message: str
    urn: Urn | None = None
    passing: bool = False

    def __str__(self) -> str:
        return f"{self.urn.label}: {self.message}" if self.urn else self.message


@dataclass
class Record:
    """What one run of the engine did, as far as its log was read."""

    steps: list[Step] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    changes: dict[str, int] = field(default_factory=dict)
    """Operations by kind as the engine's own summary counts them; empty if it never came to a summary."""
    outcome: str = ""
    """`succeeded`, `failed`, or empty as long as there is no summary."""

    def feed(self, line: str, now: float) -> Step | Diagnostic | None:
        """Take one line of the log; returns the step that began or ended, or the diagnostic, if it held one."""
        event = json.loads(line)
        if "resourcePreEvent" in event:
            return self._begin(event["resourcePreEvent"]["metadata"], now)
        if "resOutputsEvent" in event:
            return self._end(event["resOutputsEvent"]["metadata"], now, failed=False)
        if "resOpFailedEvent" in event:
            return self._end(event["resOpFailedEvent"]["metadata"], now, failed=True)
        if "diagnosticEvent" in event:
            return self._diagnostic(event["diagnosticEvent"])
        if "summaryEvent" in event:
            self.changes = dict(event["summaryEvent"]["resourceChanges"])
            self.outcome = event["summaryEvent"].get("result", "")
        return None

    def errors(self) -> list[Diagnostic]:
        return [each for each in self.diagnostics if each.severity == "error"]

    def running(self) -> list[Step]:
        return [step for step in self.steps if step.seconds is None and step.op not in QUIET - {"refresh", "read"}]

    def operations(self) -> list[tuple[str, str, str]]:
        """What changed, sorted: (operation, type, name) of every step that did more than look and did not fail."""
        done = (step for step in self.steps if step.op not in QUIET and not step.failed)
        return sorted((step.op, step.type, step.urn.name) for step in done)

    def by_type(self) -> dict[str, Counter[str]]:
        """How often each operation was done on each type, quiet ones included; a replacement counts once."""
        table: dict[str, Counter[str]] = {}
        for step in self.steps:
            if step.op in HALVES and not step.failed:
                continue
            table.setdefault(step.type, Counter())["failed" if step.failed else step.op] += 1
        return table

    def _begin(self, metadata: dict[str, Any], now: float) -> Step:
        component = not (metadata.get("new") or metadata.get("old") or {}).get("custom")
        step = Step(Urn(metadata["urn"]), metadata["op"], now, paths=_paths(metadata), component=component)
        step.object = _object((metadata.get("new") or metadata.get("old") or {}).get("inputs") or {})
        self.steps.append(step)
        return step

    def _end(self, metadata: dict[str, Any], now: float, *, failed: bool) -> Step | None:
        urn, op = Urn(metadata["urn"]), metadata["op"]
        # A refresh begins as `refresh` and ends as what it found: same, update or delete.
        begun = (step for step in self.steps if step.urn == urn and step.op in {op, "refresh"} and step.seconds is None)
        step = next(begun, None)
        if step is None:
            return None
        step.op, step.seconds, step.failed = op, max(0.0, now - step.started), failed
        step.paths = _paths(metadata) or step.paths
        return step

    def _diagnostic(self, event: dict[str, Any]) -> Diagnostic | None:
        message = event["message"].strip()
        if event["severity"] == "debug" or not message:
            return None
        urn = Urn(event["urn"]) if event.get("urn") else None
        diagnostic = Diagnostic(event["severity"], message, urn, bool(event.get("ephemeral")))
        self.diagnostics.append(diagnostic)
        return diagnostic


def read(log: Path) -> Record:
    """The record of a finished run; times are those of the log, in whole seconds."""
    record = Record()
    for line in complete_lines(log):
        record.feed(line, float(json.loads(line)["timestamp"]))
    return record


def registered(log: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Type and inputs of every resource that the program of a run wants; secrets and what is unknown are hidden."""
    for line in complete_lines(log):
        metadata = json.loads(line).get("resourcePreEvent", {}).get("metadata", {})
        if wanted := metadata.get("new"):
            yield wanted["type"], wanted.get("inputs") or {}


def complete_lines(log: Path) -> Iterable[str]:
    """The lines of a log that were written to their end: a killed engine leaves a torn last one."""
    with log.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield line


def _object(inputs: dict[str, Any]) -> tuple[str, str] | None:
    """Namespace and name of a Kubernetes object, or of a chart's release."""
    named = inputs.get("metadata") if isinstance(inputs.get("metadata"), dict) else inputs
    where, name = (named or {}).get("namespace"), (named or {}).get("name")
    return (where, name) if isinstance(where, str) and isinstance(name, str) else None


def _paths(metadata: dict[str, Any]) -> tuple[str, ...]:
    return tuple(sorted(metadata.get("detailedDiff") or metadata.get("diffs") or ()))
