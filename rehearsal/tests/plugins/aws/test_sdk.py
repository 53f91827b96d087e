"""The SDK's schemas, read from its source, are those that the SDK itself uses."""

import importlib
import importlib.util
import typing
from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from rehearsal.plugins.aws import sdk
from rehearsal.plugins.aws.table import ROWS


@pytest.mark.parametrize("token", ROWS)
def test_read_schema_equals_the_imported_one(token: str) -> None:
    schema = sdk.schema(token)
    assert schema
    module, name = sdk._places()[token]
    resource = getattr(importlib.import_module(module), name)
    getters = [member.fget for member in vars(resource).values() if isinstance(member, property) and member.fget]
    imported = {
        getter._pulumi_name: _kind(typing.get_type_hints(getter, _names(resource))["return"])
        for getter in getters
        if hasattr(getter, "_pulumi_name")
    }
    assert {key: type_.kind for key, type_ in schema.outputs.items()} == {
        key: kind for key, kind in imported.items() if key not in ("id", "urn")
    }
    assert schema.inputs.keys() - {"timeouts"} <= schema.outputs.keys() | {"region"}


def test_a_type_the_sdk_does_not_have_has_no_schema() -> None:
    assert sdk.schema("aws:ec2/nothing:Nothing") is None


def _names(resource: Any) -> dict[str, Any]:
    """What the module of a resource can see."""
    names = dict(vars(importlib.import_module(resource.__module__)))
    outputs = resource.__module__.rpartition(".")[0] + ".outputs"
    if importlib.util.find_spec(outputs):  # a service without nested types has none
        names["outputs"] = importlib.import_module(outputs)
    return names


def _kind(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is pulumi.Output or origin is typing.Union:
        return _kind(next(each for each in arguments if each is not type(None)))
    if origin is not None:
        return "map" if issubclass(origin, Mapping) else "list"
    return "any" if hint is pulumi.Archive else sdk.SCALARS.get(hint.__name__, "object")
