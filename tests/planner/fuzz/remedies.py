"""Remedies that name a value, carried out as a person would."""

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from planner.findings import Finding

_SET = re.compile(r"set it to (?:at most )?(?P<number>\d[\d,]*(?:\.\d+)?)(?![\d%])")
_RANGE = re.compile(r"take a /(?P<prefix>\d+)")


def followed(finding: Finding, data: Mapping[str, Any]) -> dict[str, Any] | None:
    """The data with the remedy's value at the finding's path; None where the remedy names no value."""
    steps = [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", finding.path.partition(":")[2])]
    value: Any
    if found := _SET.match(finding.remedy):
        number = float(found["number"].replace(",", ""))
        value = round(number) if number == round(number) else number
    elif found := _RANGE.match(finding.remedy):
        value = _free_range(int(found["prefix"]))
    else:
        return None
    changed = deepcopy(dict(data))
    here: Any = changed
    for step in steps[:-1]:
        here = here[step] if isinstance(here, list) else here.setdefault(step, {})
    here[steps[-1]] = value
    return changed


def _free_range(prefix: int) -> str:
    """A private range of that size that no stack here uses."""
    return f"10.128.0.0/{prefix}" if prefix > 8 else "10.0.0.0/8"
