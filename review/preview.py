"""What the engine would do, read from its event log (`--event-log`, one JSON object a line).

The log's format is Pulumi's own: sdk/go/common/apitype/events.go, types EngineEvent, StepEventMetadata and PolicyEvent.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

QUIET = frozenset({"same", "refresh", "read", "read-discard", "discard", "read-replacement"})
"""Operations that change nothing of what a person has."""
HALVES = frozenset({"create-replacement", "delete-replaced"})
"""The two steps of a replacement, which the engine tells as a `replace` as well."""
GONE = frozenset({"replace", "delete"})
"""Operations after which the thing that was there is not there."""


class PreviewError(Exception):
    """A log that is none of the engine's."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One operation on one resource; `keys` are the inputs that make it a replacement, `diffs` what differs."""

    op: str
    urn: str
    type: str
    old: Mapping[str, Any] = field(default_factory=dict)
    new: Mapping[str, Any] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    diffs: tuple[str, ...] = ()
    custom: bool = True
    protected: bool = False

    @property
    def name(self) -> str:
        return self.urn.split("::", 3)[3]

    @property
    def label(self) -> str:
        """Short for a line: `aws:ec2:Vpc main`, `apps/v1:Deployment web`."""
        return f"{short(self.type)} {self.name}"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a policy says, with the resource that it names; it stops an update if it is `mandatory`."""

    policy: str
    mandatory: bool
    message: str


@dataclass(frozen=True, kw_only=True)
class Preview:
    """One preview: its steps, what policies say, the engine's errors, and the policies that it keeps."""

    steps: tuple[Step, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    errors: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()

    @property
    def changes(self) -> tuple[Step, ...]:
        """What is made, changed or taken away, components apart: nothing is made for them."""
        return tuple(step for step in self.steps if step.op not in QUIET | HALVES and step.custom)

    @property
    def gone(self) -> tuple[Step, ...]:
        """What is replaced or destroyed."""
        return tuple(step for step in self.changes if step.op in GONE)

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each operation, `same` included."""
        return Counter(step.op for step in self.steps if step.custom and step.op not in HALVES)


def short(token: str) -> str:
    """A type as people say it: `aws:ec2/vpc:Vpc` is `aws:ec2:Vpc`, `kubernetes:apps/v1:X` is `apps/v1:X`."""
    package, _, rest = token.partition(":")
    module, _, kind = rest.rpartition(":")
    if package == "kubernetes":
        return f"{module}:{kind}"
    return ":".join(part for part in (package, module.split("/")[0], kind) if part not in {"", "index"})


def read(lines: Iterable[str]) -> Preview:
    """The preview whose event log the lines are. Raises PreviewError for what no engine writes.

    A torn last line is what a killed engine leaves; it says so itself by having no summary, and is an error here.
    """
    steps: dict[tuple[str, str], Step] = {}
    verdicts: list[Verdict] = []
    errors: list[str] = []
    kept: set[str] = set()
    ended = False
    for number, line in enumerate(lines, 1):
        try:
            event: Mapping[str, Any] = json.loads(line)
            if not isinstance(event, Mapping):
                raise TypeError("an event is a JSON object")
            if "resourcePreEvent" in event:
                step = _step(event["resourcePreEvent"]["metadata"])
                steps[step.urn, step.op] = step
            elif "policyEvent" in event:
                verdicts.append(_verdict(event["policyEvent"]))
            elif "policyAnalyzeStackSummaryEvent" in event:
                kept |= {*(event["policyAnalyzeStackSummaryEvent"].get("passed") or ())}
            elif "diagnosticEvent" in event and event["diagnosticEvent"].get("severity") == "error":
                errors.append(event["diagnosticEvent"]["message"].strip())
            ended = ended or "summaryEvent" in event
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise PreviewError(f"line {number} of the event log is not the engine's ({error})") from None
    if not ended and not errors:
        errors.append("the preview ended before its summary: it was killed, or has not ended yet")
    return Preview(steps=tuple(steps.values()), verdicts=tuple(verdicts), errors=tuple(errors), kept=frozenset(kept))


def _step(metadata: Mapping[str, Any]) -> Step:
    old, new = metadata.get("old") or {}, metadata.get("new") or {}
    either = new or old
    return Step(
        op=metadata["op"],
        urn=metadata["urn"],
        type=metadata["urn"].split("::")[2].rpartition("$")[2],
        old=old.get("inputs") or {},
        new=new.get("inputs") or {},
        keys=tuple(metadata.get("keys") or ()),
        diffs=tuple(sorted(metadata.get("detailedDiff") or metadata.get("diffs") or ())),
        custom=bool(either.get("custom")),
        protected=bool(old.get("protect")),
    )


def _verdict(event: Mapping[str, Any]) -> Verdict:
    return Verdict(
        policy=event["policyName"],
        mandatory=event.get("enforcementLevel") == "mandatory",
        message=event["message"].strip(),
    )
