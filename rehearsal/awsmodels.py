"""The descriptions of AWS's services that botocore brings: megabytes of JSON, of which EC2's are the most."""

import functools
import re
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.model import ServiceModel

_LOCK = threading.Lock()
_MODELS: dict[str, tuple[ServiceModel, dict[str, str]]] = {}
_CLASSES = {r"\p{L}": r"\w", r"\p{Z}": r"\s", r"\p{N}": r"\d", r"\p{M}": ""}
"""What the classes of Java's patterns that AWS uses mean in Python's."""


def read_once() -> None:
    """All botocore sessions that this process makes from now on share what one of them has read."""
    create = botocore.session.create_loader
    if not hasattr(create, "cache_info"):
        botocore.session.create_loader = functools.cache(create)


def input_shape(service: str, operation: str) -> Any:
    """The shape of a call's parameters (``create_vpc``): no network, no credentials, and no client, which takes longer
    to make."""
    with _LOCK:
        if service not in _MODELS:
            read_once()
            loader = botocore.session.Session().get_component("data_loader")
            model = ServiceModel(loader.load_service_model(service, "service-2"), service)
            _MODELS[service] = model, {xform_name(name): name for name in model.operation_names}
        model, names = _MODELS[service]
        return model.operation_model(names[operation]).input_shape


def made_up(shape: Any) -> dict[str, str]:
    """Members that botocore fills in for each call that leaves them out (handlers.py, generate_idempotent_uuid)."""
    return {
        name: str(uuid.UUID(int=0)) for name, each in shape.members.items() if each.metadata.get("idempotencyToken")
    }


def faults(shape: Any, value: Any, path: str = "") -> Iterator[str]:
    """What AWS would refuse in ``value`` before looking at its meaning: required members, enums, patterns, bounds."""
    if shape is None:
        return
    if shape.type_name == "structure":
        for name in shape.required_members:
            if name not in value:
                yield f"Value null at '{path + name}' failed to satisfy constraint: Member must not be null"
        for name, member in shape.members.items():
            if value.get(name) is not None:
                yield from faults(member, value[name], f"{path}{name}.")
    elif shape.type_name == "list":
        yield from _bounds(shape, len(value), path, "length")
        for index, item in enumerate(value):
            yield from faults(shape.member, item, f"{path}{index + 1}.")
    elif shape.type_name == "map":
        for key, item in value.items():
            yield from faults(shape.value, item, f"{path}{key}.")
    elif shape.type_name == "string":
        yield from _string_faults(shape, value, path.rstrip("."))
    elif shape.type_name in ("integer", "long"):
        yield from _bounds(shape, value, path, "value")


def _string_faults(shape: Any, value: str, path: str) -> Iterator[str]:
    if shape.enum and value not in shape.enum:
        wanted = f"Member must satisfy enum value set: {shape.enum}"
        yield f"Value '{value}' at '{path}' failed to satisfy constraint: {wanted}"
    yield from _bounds(shape, len(value), path, "length")
    pattern = shape.metadata.get("pattern")
    if pattern and not _matches(pattern, value):
        yield f"Value '{value}' at '{path}' failed to satisfy constraint: Member must satisfy pattern: {pattern}"


def _bounds(shape: Any, size: int, path: str, noun: str) -> Iterator[str]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    where = path.rstrip(".")
    if low is not None and size < low:
        yield f"Value at '{where}' failed to satisfy constraint: Member must have {noun} greater than or equal to {low}"
    if high is not None and size > high:
        yield f"Value at '{where}' failed to satisfy constraint: Member must have {noun} less than or equal to {high}"


def _matches(pattern: str, value: str) -> bool:
    """Whether the API model's pattern (Java syntax) fits; patterns Python cannot read are passed over."""
    for theirs, ours in _CLASSES.items():
        pattern = pattern.replace(theirs, ours)
    try:
        return re.fullmatch(pattern, value, re.DOTALL) is not None or re.match(pattern + r"\Z", value) is not None
    except re.error:
        return True
