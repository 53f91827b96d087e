"""The `pulumi.com/waitFor` annotation: conditions that a program names itself.

Its value is one condition or a JSON list of them; a condition is `condition=Type[=Status]` or
`jsonpath={.path.to.field}[=value]` in the strict syntax of `kubectl get` (provider/pkg/jsonpath/jsonpath.go). Of
JSONPath (RFC 9535) played are names, numbers, `[*]`, and `[?@.name=="text"]`; the first value found counts.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rehearsal.plugins.kubernetes.objects import condition, dig

_CONDITION = re.compile(r"condition=([^=]+)(?:=(.+))?")
_JSONPATH = re.compile(r"jsonpath=\{\s*\$?\.?([^}]+?)\s*\}(?:=([^=]+))?")
_STEP = re.compile(
    r"""\.?(?P<name>[^.\[\]]+)
    | \[(?P<index>\d+)\]
    | \[(?P<every>\*)\]
    | \[(?P<quote>['"])(?P<quoted>[^'"]+)(?P=quote)\]
    | \[\?\(?@\.(?P<key>\w+)\s*==\s*(?P<mark>['"])(?P<text>[^'"]*)(?P=mark)\)?\]""",
    re.VERBOSE,
)
_OLDER = "its controller has not seen this generation yet"


def parse(text: str) -> list[str]:
    """The conditions in the annotation's value. Raises ValueError naming one that cannot be read."""
    parsed = json.loads(text) if text.lstrip().startswith("[") else [text]
    for item in parsed:
        if not isinstance(item, str) or not (_CONDITION.fullmatch(item) or _readable(item)):
            raise ValueError(
                f"pulumi.com/waitFor: {item!r} is neither condition=Type[=Status] nor jsonpath={{.path}}[=value]"
            )
    return list(parsed)


def unmet(obj: Mapping[str, Any], conditions: list[str]) -> list[str]:
    """What the object does not satisfy yet, in words; nothing that its controller said of an older generation counts
    (await/condition/jsonpath.go, kubectl.go)."""
    return [text for text in (_unmet(obj, item) for item in conditions) if text]


def _unmet(obj: Mapping[str, Any], item: str) -> str | None:
    observed = dig(obj, "status", "observedGeneration")
    if match := _CONDITION.fullmatch(item):
        wanted, found = match[2] or "True", condition(obj, match[1])
        if _older(obj, found.get("observedGeneration", observed)):
            return _OLDER
        if str(found.get("status")).lower() == wanted.lower():
            return None
        return f"condition {match[1]} is {found.get('status') or 'not set'}, waiting for {wanted}"
    if match := _JSONPATH.fullmatch(item):
        if _older(obj, observed):
            return _OLDER
        value = next(_selected(obj, match[1]), None)
        if value is None:
            return f"field {match[1]} is not set"
        if match[2] is not None and _text(value) != match[2]:
            return f"field {match[1]} is {_text(value)}, waiting for {match[2]}"
    return None


def _older(obj: Mapping[str, Any], observed: int | None) -> bool:
    return observed is not None and observed < dig(obj, "metadata", "generation", default=0)


def _readable(item: str) -> bool:
    """Whether an expression is one of those that are played, all of it."""
    found = _JSONPATH.fullmatch(item)
    return found is not None and _STEP.sub("", found[1]) == ""


def _selected(obj: Mapping[str, Any], path: str) -> Iterator[Any]:
    """The values at a path, in their order."""
    found: list[Any] = [obj]
    for step in _STEP.finditer(path):
        found = [value for each in found for value in _below(each, step) if value is not None]
    yield from found


def _below(value: Any, step: re.Match[str]) -> list[Any]:
    if step["every"] or step["key"]:
        members = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
        return [each for each in members if step["every"] or dig(each, step["key"]) == step["text"]]
    return [dig(value, int(step["index"]) if step["index"] else (step["name"] or step["quoted"]))]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
