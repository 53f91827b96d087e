"""AWS inputs against the service's own model in botocore: enums, ranges, patterns and members of the request.

A provider sends what it is given; a wrong enum is found by AWS half an hour into an `up`. An input that fits
nowhere into the request is a problem as well.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session

from policy.graph import Resource
from tests.graph.aws_requests import REQUESTS, Request
from tests.graph.harness import UNKNOWN


@cache
def _model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


def problems(resource: Resource) -> list[str]:
    """Everything in the resource's inputs that the service would refuse, or that its request has no member for."""
    if not resource.token.startswith("aws:"):
        return []
    if resource.token not in REQUESTS:
        return [f"{resource.name}: {resource.token} has no request in aws_requests.py; say which request carries it"]
    request = REQUESTS[resource.token]
    shape = _model(request.service).operation_model(request.operation).input_shape
    return list(_inputs(resource, request, shape))


def _inputs(resource: Resource, request: Request, shape: Any) -> Iterator[str]:
    inner = shape.members[request.below] if request.below else shape
    for key, value in resource.inputs.items():
        path = f"{resource.name}.{key}"
        if key in request.elsewhere or value is None:
            continue
        name = request.names.get(key, key)
        member = _follow(shape if name.startswith("/") else inner, name.lstrip("/"))
        if member is None:
            yield f"{path}: {request.operation} has no member for it"
        else:
            below = {at.removeprefix(f"{key}."): to for at, to in request.names.items() if at.startswith(f"{key}.")}
            yield from _value(value, member, path, below)


def _follow(shape: Any, path: str) -> Any:
    """The member at `a.b[].c`, matching names as providers write them."""
    for step in path.split("."):
        shape = _member(shape, step.removesuffix("[]"))
        if shape is not None and step.endswith("[]"):
            shape = shape.member
    return shape


def _member(shape: Any, name: str) -> Any:
    by_name = {key.lower(): member for key, member in shape.members.items()}
    lower = name.lower()
    return next((by_name[each] for each in (lower, f"{lower}s", lower.removesuffix("s")) if each in by_name), None)


def _value(value: Any, shape: Any, path: str, names: Mapping[str, str]) -> Iterator[str]:
    if value is None or value == UNKNOWN:
        return
    if shape.type_name == "structure":
        yield from _structure(value, shape, path, names)
    elif shape.type_name == "list":
        yield from _list(value, shape, path, names)
    elif shape.type_name == "map":
        for key, each in value.items():
            yield from _value(each, shape.value, f"{path}.{key}", names)
    else:
        yield from _scalar(value, shape, path)


def _structure(value: Any, shape: Any, path: str, names: Mapping[str, str]) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path}: {value!r} is not an object"
        return
    for key, each in value.items():
        member = _member(shape, names.get(key, key))
        if member is None:
            yield f"{path}.{key}: {shape.name} has no such member"
        else:
            below = {at.removeprefix(f"{key}."): to for at, to in names.items() if at.startswith(f"{key}.")}
            yield from _value(each, member, f"{path}.{key}", below)


def _list(value: Any, shape: Any, path: str, names: Mapping[str, str]) -> Iterator[str]:
    """Lists; a map of tags is a list of pairs, and providers write a list of one as its element."""
    member = shape.member
    if isinstance(value, Mapping) and {"Key", "Value"} == set(getattr(member, "members", ())):
        for key, each in value.items():
            yield from _value(key, member.members["Key"], f"{path}.{key}", {})
            yield from _value(each, member.members["Value"], f"{path}.{key}", {})
        return
    elements = value if isinstance(value, list) else [value]
    yield from _size(len(elements), shape, path, "elements")
    for index, each in enumerate(elements):
        yield from _value(each, member, f"{path}[{index}]", names)


def _scalar(value: Any, shape: Any, path: str) -> Iterator[str]:
    kind = {"string": str, "integer": int, "long": int, "boolean": bool}.get(shape.type_name, object)
    if kind is bool and value in ("true", "false"):
        return
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        yield f"{path}: {value!r} is not a {shape.type_name}"
        return
    if shape.metadata.get("enum") and value not in shape.metadata["enum"]:
        yield f"{path}: {value!r} is none of {', '.join(shape.metadata['enum'][:12])}"
    if isinstance(value, str):
        yield from _size(len(value), shape, path, "characters")
        pattern = shape.metadata.get("pattern")
        if pattern and not re.search(f"^(?:{_python(pattern)})$", value, re.DOTALL):
            yield f"{path}: {value!r} does not match {pattern}"
    elif isinstance(value, int):
        yield from _size(value, shape, path, "")


def _size(value: int, shape: Any, path: str, unit: str) -> Iterator[str]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if (low is not None and value < low) or (high is not None and value > high):
        yield f"{path}: {value} {unit} is outside {low}..{high}".replace("  ", " ")


def _python(pattern: str) -> str:
    """AWS writes patterns in Java's dialect; the classes it uses have these meanings."""
    return pattern.replace(r"\p{L}", r"\w").replace(r"\p{Z}", r"\s").replace(r"\p{N}", r"\d").replace(r"\p{M}", "")
