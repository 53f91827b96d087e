"""JSON Schema of what `make plan FORMAT=json` prints: a plan, a plan with what a change changes, a rule explained."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter
from pydantic.alias_generators import to_camel

from planner.faces.difference import Difference
from planner.faces.document import CAMEL, KINDS, PLATFORM, derived
from planner.faces.explain import Explanation
from planner.metal_types import MetalPlan
from planner.types import AwsPlan

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
