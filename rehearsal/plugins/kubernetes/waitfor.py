"""The `pulumi.com/waitFor` annotation: conditions that a program names itself.

Its value is one condition or a JSON list of them; a condition is `condition=Type[=Status]` or
`jsonpath={.path.to.field}[=value]`, as for `kubectl wait --for`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.kubernetes.objects import condition, dig

_CONDITION = re.compile(r"condition=([^=]+)(?:=(.+))?")
_JSONPATH = re.compile(r"jsonpath=\{?\.?([^}]+?)\}?(?:={1,2}(.+))?")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]|\[['\"]([^'\"]+)['\"]\]")


def parse(text: str) -> list[str]:
    """The conditions in the annotation's value. Raises ValueError naming one that cannot be read."""
    parsed = json.loads(text) if text.lstrip().startswith("[") else [text]
    for item in parsed:
        if not isinstance(item, str) or not (_CONDITION.fullmatch(item) or _JSONPATH.fullmatch(item)):
            raise ValueError(
                f"pulumi.com/waitFor: {item!r} is neither condition=Type[=Status] nor jsonpath={{.path}}[=value]"
            )
    return list(parsed)


def unmet(obj: Mapping[str, Any], conditions: list[str]) -> list[str]:
    """What the object does not satisfy yet, in words; nothing that its controller said of an older generation counts
    (await/condition/jsonpath.go, kubectl.go)."""
    observed = dig(obj, "status", "observedGeneration")
    if observed is not None and observed < dig(obj, "metadata", "generation", default=0):
        return ["its controller has not seen this generation yet"]
    return [text for text in (_unmet(obj, item) for item in conditions) if text]


def _unmet(obj: Mapping[str, Any], item: str) -> str | None:
    if match := _CONDITION.fullmatch(item):
        wanted = match[2] or "True"
        status = condition(obj, match[1]).get("status")
        if str(status).lower() == wanted.lower():
            return None
        return f"condition {match[1]} is {status or 'not set'}, waiting for {wanted}"
    if match := _JSONPATH.fullmatch(item):
        value = dig(obj, *_steps(match[1]))
        if value is None:
            return f"field {match[1]} is not set"
        if match[2] is not None and _text(value) != match[2]:
            return f"field {match[1]} is {_text(value)}, waiting for {match[2]}"
    return None


def _steps(path: str) -> list[str | int]:
    return [int(index) if index else (name or quoted) for name, index, quoted in _STEP.findall(path)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
