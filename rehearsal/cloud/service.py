"""Base of the services written here in full: requests parsed and checked by the API's own model, replies serialised.

The model is botocore's, through moto's router, parser and serializer; operations are methods by snake-case name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.responses import BaseResponse
from moto.core.utils import get_service_model


class Refusal(ServiceException):  # type: ignore[misc]
    """An error of the API: ``code`` as the service names it, and the members its error shape has besides message."""

    def __init__(self, code: str, message: str, **members: Any) -> None:
        super().__init__(code, message)
        for name, value in members.items():
            setattr(self, name, value)


class Service(BaseResponse):  # type: ignore[misc]
    """One AWS service. Subclasses set ``NAME`` (botocore's) and ``INVALID``, the code for malformed input."""

    NAME = ""
    INVALID = ""

    def __init__(self) -> None:
        super().__init__(service_name=self.NAME)
        self.automated_parameter_parsing = True

    @property
    def input(self) -> dict[str, Any]:
        """The request by member names of the API, path and query members included; checked against the model."""
        given = {name: value for name, value in dict(self.params).items() if value is not None}
        shape = get_service_model(self.NAME).operation_model(self._get_action()).input_shape
        for fault in _faults(shape, given, ""):
            raise Refusal(self.INVALID, fault)
        return given


def _faults(shape: Any, value: Any, path: str) -> Iterator[str]:
    """What AWS would refuse in ``value`` before looking at its meaning: required members, enums, patterns, bounds."""
    if shape is None:
        return
    if shape.type_name == "structure":
        for name in shape.required_members:
            if name not in value:
                yield f"Value null at '{path + name}' failed to satisfy constraint: Member must not be null"
        for name, member in shape.members.items():
            if value.get(name) is not None:
                yield from _faults(member, value[name], f"{path}{name}.")
    elif shape.type_name == "list":
        yield from _bounds(shape, len(value), path, "length")
        for index, item in enumerate(value):
            yield from _faults(shape.member, item, f"{path}{index + 1}.")
    elif shape.type_name == "map":
        for key, item in value.items():
            yield from _faults(shape.value, item, f"{path}{key}.")
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
    try:
        return re.fullmatch(pattern, value, re.DOTALL) is not None or re.match(pattern + r"\Z", value) is not None
    except re.error:
        return True
