"""Remedies that name a value, carried out as a person would."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from planner.findings import Finding

_SET = re.compile(
    r"(?:^|, |or )(?:set|raise|lower) (?P<key>it|the budget|the target|[a-z]\w*(?:\.\w+)*) to (?:at (?:most|least) )?"
    r"(?P<number>\d[\d,]*(?:\.\d+)?)(?![\d%x/])"
)
_TAKE = re.compile(r"^take (?:at most |one of )?(?P<number>\d+(?:,\d+)*)(?![\w%/.+]|,\d)(?! servers| times)")
_RANGE = re.compile(r"(?:take a|give a private) /(?P<prefix>\d+)")
_NAME = re.compile(r"^did you mean (?P<name>[^?]+)\?")


def followed(finding: Finding, data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The data with each value that the remedy names, at the finding's path or at the key beside it."""
    place = _steps(finding.path.partition(":")[2])
    for each in _SET.finditer(finding.remedy):
        key = each["key"]
        steps = place if key.startswith(("it", "the ")) else _beside(place, _steps(key), data)
        yield _with(data, steps, _number(each["number"]))
    if found := _TAKE.match(finding.remedy):
        yield _with(data, place, _number(found["number"]))
    if found := _RANGE.match(finding.remedy):
        yield _with(data, place, _free_range(int(found["prefix"])))
    if found := _NAME.match(finding.remedy):
        yield _with(data, place, found["name"])


def _steps(path: str) -> list[int | str]:
    return [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", path)]


def _beside(place: list[int | str], key: list[int | str], data: Mapping[str, Any]) -> list[int | str]:
    """Where a key stands that a remedy names: in what the finding is about, or in the nearest section around it."""
    above: list[Any] = [data]
    for step in place:
        here = above[-1]
        listed = isinstance(here, list) and isinstance(step, int)
        above.append(here.get(step) if isinstance(here, Mapping) else here[int(step)] if listed else None)
    for depth in range(len(place), -1, -1):
        if isinstance(above[depth], Mapping) and key[0] in above[depth]:
            return [*place[:depth], *key]
    return [*place[:-1], *key]


def _number(text: str) -> int | float:
    number = float(text.replace(",", ""))
    return round(number) if number == round(number) else number


def _with(data: Mapping[str, Any], steps: list[int | str], value: Any) -> dict[str, Any]:
    changed = deepcopy(dict(data))
    here: Any = changed
    for step in steps[:-1]:
        here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
    here[steps[-1]] = value
    return changed


def _free_range(prefix: int) -> str:
    """A private range of that size that no stack here uses."""
    return f"10.128.0.0/{prefix}" if prefix > 8 else "10.0.0.0/8"
