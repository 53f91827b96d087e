"""A plan as a JSON document. Names are those of the fields in camelCase; units stand in them.

Beside the fields of each part stand the plain values that follow from them (spines of a fabric, the total of a memory);
who reads a document back needs the fields only.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from functools import cache
from inspect import getattr_static
from typing import Any

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

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
