"""A plan as a JSON document. Names are those of the fields in camelCase; units stand in them.

Beside the fields of each part stand the plain values that follow from them (spines of a fabric, the total of a memory);
who reads a document back needs the fields only.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from functools import cache
from inspect import getattr_static
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic.alias_generators import to_camel

from planner.faces.difference import Difference
from planner.faces.explain import Explanation
from planner.metal_types import MetalPlan
from planner.types import AwsPlan

PLATFORM = "platform"
"""The key that says which kind of plan a document is."""

KINDS: Mapping[str, type[AwsPlan] | type[MetalPlan]] = {"aws": AwsPlan, "metal": MetalPlan}

CAMEL = ConfigDict(alias_generator=to_camel)

_PLAIN: Mapping[object, type] = {told: kind for kind in (int, float, str, bool) for told in (kind, kind.__name__)}
"""By the type and by its name, which is what an annotation is where annotations are not evaluated."""


def document(plan: AwsPlan | MetalPlan) -> dict[str, Any]:
    """The plan as plain data: the same plan always gives the same document."""
    kind = next(kind for kind, plan_type in KINDS.items() if isinstance(plan, plan_type))
    return {PLATFORM: kind, **plain(plan)}


def text(data: Mapping[str, Any]) -> str:
    """A document as it is printed. Raises ValueError for a number that JSON does not have."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """A value of a plan as JSON has it. Raises TypeError for what has no place in a plan."""
    if is_dataclass(value) and not isinstance(value, type):
        names = (*(field.name for field in fields(value)), *derived(type(value)))
        return {to_camel(name): plain(getattr(value, name)) for name in names}
    if isinstance(value, BaseModel):
        return {to_camel(name): plain(below) for name, below in value}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(below) for key, below in value.items()}
    if isinstance(value, frozenset):
        return sorted(plain(each) for each in value)
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"a {type(value).__name__} has no place in a plan")


@cache
def derived(kind: type) -> Mapping[str, type]:
    """The properties of a dataclass that are plain values, with their types."""
    properties = {
        name: attribute.fget.__annotations__.get("return")
        for name in dir(kind)
        if isinstance(attribute := getattr_static(kind, name), property) and attribute.fget
    }
    return {name: _PLAIN[returned] for name, returned in properties.items() if returned in _PLAIN}


_NAMES = {int: "integer", float: "number", str: "string", bool: "boolean"}


def schema() -> dict[str, Any]:
    """One definition for each part of a plan; what follows from the other values is read-only."""
    described: TypeAdapter[Any] = TypeAdapter(AwsPlan | MetalPlan | Difference | Explanation, config=CAMEL)
    definitions = described.json_schema()["$defs"]
    for kind in parts():
        definition = definitions[kind.__name__]
        definition["properties"] |= {
            to_camel(name): {"type": _NAMES[plain], "readOnly": True} for name, plain in derived(kind).items()
        }
    for platform, kind in KINDS.items():
        definition = definitions[kind.__name__]
        definition["properties"] = {PLATFORM: {"const": platform}, **definition["properties"]}
    for definition in definitions.values():
        if definition.get("type") == "object":
            definition["required"] = list(definition["properties"])
            definition["additionalProperties"] = False
    definitions["Plan"] = {"oneOf": [_reference(kind) for kind in KINDS.values()]}
    changed = {"plan": {"$ref": "#/$defs/Plan"}, "difference": _reference(Difference)}
    definitions["Changed"] = {
        "description": "A plan, and what it differs in: from its own stack file, changed, or from another stack.",
        "type": "object",
        "properties": changed,
        "required": list(changed),
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What make plan FORMAT=json prints",
        "oneOf": [{"$ref": "#/$defs/Plan"}, {"$ref": "#/$defs/Changed"}, _reference(Explanation)],
        "$defs": definitions,
    }


def _reference(kind: type) -> dict[str, str]:
    return {"$ref": f"#/$defs/{kind.__name__}"}


def parts() -> list[type]:
    """Every dataclass that what is printed is made of."""
    found: dict[type, None] = {}
    waiting: list[type] = [*KINDS.values(), Difference, Explanation]
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found[kind] = None
            hints = get_type_hints(kind)
            waiting += [part for field in fields(kind) for part in _within(hints[field.name])]
    return list(found)


def _within(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type) and is_dataclass(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from _within(part)
