"""Between the SDK's property names and shapes and those of the AWS API.

The API's own model (botocore) drives the way in, the SDK's types the way back. Names match without regard to case,
underscores and plural; what differs beyond that is in a row's ``names``: dotted property path -> API member.
"""

import functools
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rehearsal.plugins.aws.sdk import Type
from rehearsal.plugins.servicer import PluginError

Names = Mapping[str, str]
Shape = Any
"""``botocore.model.Shape``; botocore carries no types."""

KEY_VALUE = ({"Key", "Value"}, {"TagKey", "TagValue"})


class InputError(PluginError):
    """An input that cannot be sent: its dotted path and what is wrong with it."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


@functools.cache
def fold(name: str) -> str:
    """What two spellings of one name have in common: ``subnetIds`` and ``SubnetId`` fold alike."""
    plain = name.replace("_", "").lower()
    return plain[:-3] + "y" if plain.endswith("ies") else plain.rstrip("s")


def request(shape: Shape, inputs: Mapping[str, Any], names: Names, inside: str = "") -> dict[str, Any]:
    """The parameters of an API call from resource inputs.

    With ``inside``, an input that the structure of that member knows goes there, every other one to the top.
    """
    top: dict[str, Any] = {}
    inner_shape = shape.members[inside] if inside else None
    inner: dict[str, Any] = {}
    for name, value in inputs.items():
        if value is None:
            continue
        wanted = names.get(name, name)
        if inner_shape is not None and (found := member(inner_shape, wanted)):
            inner[found] = to_request(inner_shape.members[found], value, names, name)
        elif found := member(shape, wanted):
            top[found] = to_request(shape.members[found], value, names, name)
        else:
            raise InputError(name, "the rehearsal's aws plugin does not know how to send this input to AWS")
    return {**top, **({inside: inner} if inner else {})}


def member(shape: Shape, name: str) -> str | None:
    """The member of a structure that this name means, or None."""
    return _members(shape).get(fold(name))


@functools.cache
def _members(shape: Shape) -> dict[str, str]:
    return {fold(name): name for name in shape.members}


def to_request(shape: Shape, value: Any, names: Names, path: str) -> Any:
    """One value as the API's model wants it; raises InputError naming the input where it does not fit."""
    match shape.type_name:
        case "structure":
            return _structure(shape, value, names, path)
        case "list":
            return _list(shape, value, names, path)
        case "map":
            if not isinstance(value, Mapping):
                raise InputError(path, f"expected a map, got {_shown(value)}")
            return {key: to_request(shape.value, item, names, path) for key, item in value.items()}
        case "timestamp" | "blob":
            return value
    return _scalar(shape, value, path)


def _structure(shape: Shape, value: Any, names: Names, path: str) -> Any:
    if isinstance(value, list):
        if len(value) != 1:
            raise InputError(path, f"expected one object, got a list of {len(value)}")
        value = value[0]
    if not isinstance(value, Mapping):
        if len(shape.members) == 1:  # EC2 wraps values: {"Value": x}, {"Ipv6Address": x}
            [(only, inner)] = shape.members.items()
            return {only: to_request(inner, value, names, path)}
        raise InputError(path, f"expected an object, got {_shown(value)}")
    made = {}
    for key, item in value.items():
        if item is None:
            continue
        below = f"{path}.{key}"
        found = member(shape, names.get(below, key))
        if found is None:
            raise InputError(below, f"AWS knows no such member; it knows {_some(shape.members)}")
        made[found] = to_request(shape.members[found], item, names, below)
    return made


def _list(shape: Shape, value: Any, names: Names, path: str) -> Any:
    element = shape.member
    if isinstance(value, Mapping) and element.type_name == "structure" and set(element.members) in KEY_VALUE:
        key, content = sorted(element.members)
        return [{key: name, content: str(item)} for name, item in sorted(value.items())]
    items = value if isinstance(value, list) else [value]
    return [to_request(element, item, names, path) for item in items]


def _scalar(shape: Shape, value: Any, path: str) -> Any:
    try:
        match shape.type_name:
            case "boolean":
                return _boolean(value)
            case "integer" | "long":
                return _integer(value)
            case "float" | "double":
                return float(value)
    except (TypeError, ValueError):
        raise InputError(path, f"expected {shape.type_name}, got {_shown(value)}") from None
    if isinstance(value, (Mapping, list)):
        raise InputError(path, f"expected a string, got {_shown(value)}")
    text = _text(value)
    if shape.enum and text not in shape.enum:
        raise InputError(path, f'"{text}" is not one of {_some(shape.enum)}')
    return text


def from_reply(type_: Type, value: Any, names: Names, path: str = "") -> Any:
    """A value out of a reply in the shape the SDK declares for the property."""
    if value is None:
        return None
    match type_.kind:
        case "list":
            element = type_.element or Type("any")
            items = value if isinstance(value, list) else [value]
            return [from_reply(element, item, names, path) for item in items]
        case "map":
            return {key: _text(item) for key, item in pairs(value).items()}
        case "object":
            return _object(type_, value[0] if isinstance(value, list) and value else value, names, path)
        case "any":
            return value
    return _plain(type_.kind, value)


def read_properties(
    types: Mapping[str, Type], reply: Mapping[str, Any], names: Names, path: str = ""
) -> dict[str, Any]:
    """The properties of these types that a reply holds; those it lacks are left out."""
    known = {fold(key): value for key, value in reply.items()}
    found = {}
    for name, type_ in types.items():
        below = f"{path}.{name}" if path else name
        value = from_reply(type_, known.get(fold(names.get(below, name))), names, below)
        if value is not None:
            found[name] = value
    return found


def pairs(value: Any) -> dict[str, Any]:
    """Tags and the like as a map, from whichever of the three forms a service uses."""
    if isinstance(value, Mapping):
        return dict(value)
    made = {}
    for item in value:
        key, content = sorted(item)
        made[item[key]] = item[content]
    return made


def _object(type_: Type, value: Any, names: Names, path: str) -> Any:
    return read_properties(type_.fields, value, names, path) if isinstance(value, Mapping) else None


def _plain(kind: str, value: Any) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping) and len(value) == 1 and kind != "string":
        [value] = value.values()
    match kind:
        case "boolean":
            return _boolean(value)
        case "integer":
            return int(value)
        case "number":
            return float(value)
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, (Mapping, list)):
        return canonical_json(value)
    return str(value)


def canonical_json(document: Any) -> str:
    """A JSON document as pulumi-aws keeps policies: keys sorted, no spaces."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise ValueError(value)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError(value)
    return int(value)


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:8]) + (f" and {len(listed) - 8} more" if len(listed) > 8 else "")
