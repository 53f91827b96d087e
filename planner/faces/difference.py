"""What differs between two plans: numbers before and after, findings that come, change and go."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.faces.outputs import flat, numbers
from planner.findings import Finding
from planner.metal_types import MetalPlan
from planner.types import AwsPlan, Plan

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

    `assignments` are what makes the difference, where it is between a stack and what is changed in it.
    """

    between: tuple[str, str]
    assignments: tuple[str, ...]
    numbers: tuple[Change, ...]
    new: tuple[Finding, ...]
    changed: tuple[Finding, ...]
    gone: tuple[Finding, ...]

    @property
    def findings(self) -> Mapping[str, tuple[Finding, ...]]:
        """The findings by what became of them."""
        return {"new": self.new, "changed": self.changed, "gone": self.gone}


def difference(
    before: AwsPlan | MetalPlan,
    after: AwsPlan | MetalPlan,
    between: tuple[str, str] = ("stack file", "changed"),
    assignments: Iterable[str] = (),
) -> Difference:
    """How the plan `after` differs from `before`: of one stack with assignments made, or of two stacks."""
    old, new = dict(flat(numbers(before))), dict(flat(numbers(after)))
    was, now = _by_place(before), _by_place(after)
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
    )


def _by_place(plan: Plan) -> dict[tuple[str, str, str | None, int], Finding]:
    """Findings by rule, path and subject; where a rule says several things of one place, by their order."""
    found: dict[tuple[str, str, str | None, int], Finding] = {}
    for finding in plan.findings:
        order = 0
        while (place := (finding.rule, finding.path, finding.subject, order)) in found:
            order += 1
        found[place] = finding
    return found


def _value(value: Value | list[Value]) -> Value:
    return tuple(value) if isinstance(value, list) else value  # type: ignore[arg-type]
