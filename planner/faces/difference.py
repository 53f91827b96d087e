"""What differs between two plans: numbers, findings that come, change and go, training runs that a change ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from planner.faces.outputs import flat, numbers
from planner.faces.told import runs
from planner.findings import Finding
from planner.metal_types import MetalPlan
from planner.types import AwsPlan

_MINUTE = 60
_WORDS = {"pods": "nodes", "pool": "pool", "image": "image", "script": "script", "saves": "checkpoints"}
"""What of a run is compared, and how it is called."""

Runs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Ending:
    """A run that a change ends: `why`, and what it goes on from."""

    run: str
    why: str
    whence: str

    def __str__(self) -> str:
        return f"run {self.run} stops: {self.why}; {self.whence}"


def endings(before: Runs, after: Runs) -> tuple[Ending, ...]:
    """The runs that are there before and are deleted or replaced after. What is not compared may end more of them."""
    return tuple(_endings(before, after))


def _endings(before: Runs, after: Runs) -> Iterator[Ending]:
    for name, was in before.items():
        if name not in after:
            yield Ending(
                run=name, why="the change deletes it", whence="what it computed since its last checkpoint is lost"
            )
            continue
        now = after[name]
        changed = [key for key in _WORDS if key in was and key in now and _plain(was[key]) != _plain(now[key])]
        if changed:
            why = f"its job is deleted and created again ({', '.join(_said(key, was, now) for key in changed)})"
            yield Ending(run=name, why=why, whence=f"it starts again from {whence(was)}")


def whence(run: Mapping[str, Any]) -> str:
    """The newest checkpoint that outlives a run's pods, and how old it may be."""
    saves = run["saves"]
    if not saves:
        return "its first step: it has no checkpoint"
    seconds = saves["file_system_s"] if saves["local"] else saves["every_s"]
    return f"its newest checkpoint on the shared file system, at most {round(seconds / _MINUTE):,} min old"


def _said(key: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    shown = f" {was[key]} to {now[key]}" if key in ("pods", "pool") else ""
    return f"{_WORDS[key]}{shown}"


def _plain(value: Any) -> Any:
    """As JSON has it: what another revision tells comes as JSON."""
    return json.loads(json.dumps(value))


Value = str | int | float | bool | None | tuple[str | int | float | bool | None, ...]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A number that is not what it was. None where it was not there, or is there no more."""

    path: str
    before: Value
    after: Value


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How two plans, named by `between`, differ. `changed` findings are in both, and say something else.

    `assignments` are what makes the difference, where it is between a stack and what is changed in it. `endings` are
    the runs that it stops, where both plans are of one stack.
    """

    between: tuple[str, str]
    assignments: tuple[str, ...]
    numbers: tuple[Change, ...]
    new: tuple[Finding, ...]
    changed: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    endings: tuple[Ending, ...] = ()

    @property
    def findings(self) -> Mapping[str, tuple[Finding, ...]]:
        """The findings by what became of them."""
        return {"new": self.new, "changed": self.changed, "gone": self.gone}


@dataclass(frozen=True, kw_only=True)
class Side:
    """As much of a plan as is compared: its numbers by path, its findings, and its runs by name."""

    numbers: Mapping[str, Any]
    findings: tuple[Finding, ...]
    runs: Runs = field(default_factory=dict)

    @classmethod
    def of(cls, plan: AwsPlan | MetalPlan) -> Side:
        """What a plan says."""
        return cls(numbers=dict(flat(numbers(plan))), findings=plan.findings, runs=runs(plan))


def difference(
    before: AwsPlan | MetalPlan,
    after: AwsPlan | MetalPlan,
    between: tuple[str, str] = ("stack file", "changed"),
    assignments: Iterable[str] = (),
    *,
    same_stack: bool = True,
) -> Difference:
    """How the plan `after` differs from `before`: of one stack with assignments made, or of two stacks."""
    side = Side.of(after)
    known = Side.of(before)
    return differing(known if same_stack else replace(known, runs={}), side, between, assignments)


def differing(
    before: Side,
    after: Side,
    between: tuple[str, str] = ("stack file", "changed"),
    assignments: Iterable[str] = (),
) -> Difference:
    """How what a plan says differs from what another says, which may be another revision's."""
    old, new = before.numbers, after.numbers
    was, now = _by_place(before.findings), _by_place(after.findings)
    return Difference(
        between=between,
        assignments=tuple(assignments),
        numbers=tuple(
            Change(path=path, before=_value(old.get(path)), after=_value(new.get(path)))
            for path in {**old, **new}
            if old.get(path) != new.get(path)
        ),
        new=tuple(finding for place, finding in now.items() if place not in was),
        changed=tuple(finding for place, finding in now.items() if place in was and was[place] != finding),
        gone=tuple(finding for place, finding in was.items() if place not in now),
        endings=endings(before.runs, after.runs),
    )


def _by_place(findings: Iterable[Finding]) -> dict[tuple[str, str, str | None, int], Finding]:
    """Findings by rule, path and subject; where a rule says several things of one place, by their order."""
    found: dict[tuple[str, str, str | None, int], Finding] = {}
    for finding in findings:
        order = 0
        while (place := (finding.rule, finding.path, finding.subject, order)) in found:
            order += 1
        found[place] = finding
    return found


def _value(value: Value | list[Value]) -> Value:
    return tuple(value) if isinstance(value, list) else value  # type: ignore[arg-type]
