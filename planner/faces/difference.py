"""What differs between two plans: numbers before and after, findings that come, change and go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from planner.faces.endings import Ending, Runs, endings
from planner.faces.outputs import flat, numbers
from planner.faces.told import runs
from planner.findings import Finding
from planner.metal_types import MetalPlan
from planner.types import AwsPlan

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
