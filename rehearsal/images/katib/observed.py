"""What a log says of metrics, and whether its trial is to be ended.

Source: pkg/metricscollector/v1beta1/file-metricscollector (parseLogsInTextFormat), cmd/metricscollector (stop rules).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

UNAVAILABLE = "unavailable"
"""Told where a log has no value of the objective (pkg/controller.v1beta1/consts/const.go)."""
DEFAULT = r"([\w|-]+)\s*=\s*([+-]?\d*(\.\d+)?([Ee][+-]?\d+)?)"
Value = tuple[str, str]
"""A metric's name and its value, as they stand in the log."""


def values(lines: Iterable[str], metrics: Sequence[str], formats: Sequence[str]) -> list[Value]:
    """The metrics' values in the order of the log; lines that hold no metric's name are not looked at. Pure."""
    patterns = [re.compile(each) for each in formats or (DEFAULT,)]
    found = []
    for line in lines:
        if any(metric in line for metric in metrics):
            groups = [match.groups() for pattern in patterns for match in pattern.finditer(line)]
            pairs = [(str(each[0]).strip(), str(each[1]).strip()) for each in groups]
            found += [pair for pair in pairs if pair[0] in metrics]
    return found


def reported(found: Sequence[Value], objective: str) -> list[Value]:
    """What goes to the database: without a value of the objective that it has none (newObservationLog). Pure."""
    return list(found) if any(name == objective for name, _ in found) else [(objective, UNAVAILABLE)]


def number(text: str) -> float | None:
    """A value as a number, None where it is none."""
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class StopRule:
    """`-stop-rule name;value;comparison;start`: ends a trial whose metric was told `start` times and is so."""

    metric: str
    value: float
    comparison: str
    start: int

    @classmethod
    def parse(cls, text: str) -> StopRule:
        metric, value, comparison, start = text.split(";")
        return cls(metric, float(value), comparison, int(start))


def stops(rule: StopRule, log: Sequence[Value], lowest: bool) -> bool:
    """Whether the trial is to be ended: the best value so far counts (updateStopRules). Pure."""
    told = [value for name, text in log if name == rule.metric and (value := number(text)) is not None]
    if len(told) < max(1, rule.start):
        return False
    best = min(told) if lowest else max(told)
    return {"less": best < rule.value, "greater": best > rule.value}.get(rule.comparison, best == rule.value)
