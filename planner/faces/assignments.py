"""Assignments such as `pools[0].count=64`, laid over a stack file's sections to see what they would change."""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from catalogue.echo import bare, echo
from settings.errors import NAMESPACE, SettingsError, meant, written
from settings.load import SECTIONS
from settings.sections import Path
from settings.stackfile import read

_PATH = r"[A-Za-z]\w*(?:\[\d+\]|\.[A-Za-z]\w*)*"
_BETWEEN = re.compile(rf"\s+(?=(?:{NAMESPACE}:)?{_PATH}=)")
_ASSIGNMENT = re.compile(rf"(?:{NAMESPACE}:)?({_PATH})=(.*)", re.DOTALL)
_STEP = re.compile(r"\[(\d+)\]|\.?(\w+)")


class AssignmentError(Exception):
    """An assignment that cannot be made: its text, what is wrong with it, and what to type."""


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """A value for one path of the stack file. `text` is the value as it was typed, `value` what YAML makes of it."""

    path: Path
    text: str
    value: Any

    def __str__(self) -> str:
        return f"{written(self.path)}={self.text}"


def assignments(texts: Iterable[str]) -> tuple[Assignment, ...]:
    """The assignments in the texts, several of which may stand in one, separated by blanks.

    Values are YAML, as in the stack file, and may have blanks themselves. Raises AssignmentError.
    """
    return tuple(_assignment(each) for text in texts for each in _BETWEEN.split(text.strip()) if each)


def _assignment(text: str) -> Assignment:
    match = _ASSIGNMENT.fullmatch(text.strip())
    if match is None:
        raise AssignmentError(f"{echo(text)} is not PATH=VALUE; write it like pools[0].count=64")
    path = tuple(int(index) if index else name for index, name in _STEP.findall(match[1]))
    try:
        value = read(match[2], bare(text))
    except SettingsError as error:
        raise AssignmentError(str(error)) from None
    return Assignment(path=path, text=match[2].strip(), value=value)


def assigned(sections: Mapping[str, Any], changes: Iterable[Assignment]) -> dict[str, Any]:
    """The sections with the assignments made, in their order. Raises AssignmentError where a path leads nowhere.

    Sections that are not there yet begin empty; list entries must be there. Keys are left to the settings' own check.
    """
    result: dict[str, Any] = deepcopy(dict(sections))
    for change in changes:
        if change.path[0] not in SECTIONS:
            section = str(change.path[0])
            raise AssignmentError(f"{written((section,))}: is not a section; {meant(section, SECTIONS)}")
        here: Any = result
        for depth, (step, below) in enumerate(pairwise(change.path)):
            _check(here, change.path, depth)
            if isinstance(step, str) and here.get(step) is None:
                here[step] = [] if isinstance(below, int) else {}
            here = here[step]
        _check(here, change.path, len(change.path) - 1)
        here[change.path[-1]] = change.value
    return result


def _check(here: Any, path: Path, depth: int) -> None:
    """Whether one can go from `here`, where the first `depth` steps have led, to the next one."""
    step, place = path[depth], written(path[:depth])
    a_list = isinstance(here, Sequence) and not isinstance(here, str)
    if isinstance(step, int) and a_list:
        if step >= len(here):
            there = f"the entries {_entries(here)}" if here else "no entries"
            raise AssignmentError(f"{place}: has {there}; add one in the stack file, or assign the whole list")
    elif a_list:
        raise AssignmentError(f"{place}: is a list; take one of its entries {_entries(here)}, or assign it as a whole")
    elif isinstance(step, int) or not isinstance(here, Mapping):
        what = "is a section" if isinstance(here, Mapping) else f"is {echo(here)}"
        remedy = meant("", list(here)) if isinstance(here, Mapping) else "assign to it as a whole"
        raise AssignmentError(f"{place}: {what} and has no {written((step,)).partition(':')[2]}; {remedy}")


def _entries(entries: Sequence[Any]) -> str:
    names = (entry.get("name", "") if isinstance(entry, Mapping) else "" for entry in entries)
    return ", ".join(f"[{index}] {name}".strip() for index, name in enumerate(names))
