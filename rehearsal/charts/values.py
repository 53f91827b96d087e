"""Values by a dotted path, and which ones a chart knows: those of its values.yaml, those commented out there, those its
templates use.
"""

import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import yaml

COMMENTED = re.compile(r"^\s*#\s*([A-Za-z][\w-]*):", re.MULTILINE)
_USED = re.compile(r"\.([A-Za-z][\w-]*)")
_NOT_GIVEN = object()


def given(values: Mapping[str, Any], path: str) -> tuple[bool, Any]:
    """Whether there is a value at a dotted path, and which."""
    found: Any = values
    for part in path.split("."):
        found = found.get(part, _NOT_GIVEN) if isinstance(found, Mapping) else _NOT_GIVEN
    return (False, None) if found is _NOT_GIVEN else (True, found)


def unknown(chart: Path, values: Mapping[str, Any]) -> list[str]:
    """The dotted paths among the values that nothing in the chart's directory names."""
    path = chart / "values.yaml"
    text = path.read_text() if path.is_file() else ""
    named = set(COMMENTED.findall(text))
    for template in chart.glob("templates/**/*"):
        if template.is_file():
            named.update(_USED.findall(template.read_text(errors="replace")))
    return list(not_in(yaml.safe_load(text) or {}, values, named, ""))


def not_in(known: Mapping[str, Any], given: Mapping[str, Any], named: Set[str], path: str) -> Iterator[str]:
    """The dotted paths not known. An empty map, a list or nothing takes anything; `named` are known anywhere."""
    for key, value in given.items():
        where = f"{path}.{key}" if path else key
        if key not in known:
            if key not in named:
                yield where
        elif isinstance(value, Mapping) and isinstance(known[key], Mapping) and known[key]:
            yield from not_in(known[key], value, named, where)
