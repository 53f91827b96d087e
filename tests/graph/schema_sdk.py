"""Inputs against the SDK's own input types: unknown properties, wrong scalars, missing fields.

The SDK checks the top level of a resource only; a nested dictionary goes to the provider as it is.
"""

import inspect
import typing
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import pulumi_aws  # noqa: F401 - registers its modules with the runtime
import pulumi_command  # noqa: F401
import pulumi_kubernetes  # noqa: F401
from pulumi import _types
from pulumi.runtime import rpc

from policy.graph import Resource
from tests.graph.harness import UNKNOWN

WITHOUT_CLASS = ("pulumi:providers:",)
"""Providers' inputs are JSON texts, which the engine's own checks read."""


@cache
def _resource_class(token: str) -> type | None:
    package, module, _ = token.split(":")
    # The SDK's modules keep their table of classes to themselves; the runtime's interface constructs only.
    info: dict[str, Any] = getattr(rpc.get_resource_module(package, module, ""), "mod_info", {})
    name = info.get("classes", {}).get(token)
    return getattr(import_module(info["fqn"]), name) if name else None


@cache
def args_class(token: str) -> type | None:
    """The input type of a resource; None for custom resources of Kubernetes, which have none."""
    resource = _resource_class(token)
    if resource is None:
        return None
    leaf = import_module(resource.__module__)
    for suffix in ("InitArgs", "Args"):
        if found := getattr(leaf, f"{resource.__name__}{suffix}", None):
            return typing.cast(type, found)
    raise LookupError(f"{token} has no input type in {leaf.__name__}")


@cache
def properties(args: type) -> dict[str, Any]:
    """Properties of an input type by their wire name, with their types."""
    return dict(_types.input_type_types(args))


@cache
def _required(args: type) -> frozenset[str]:
    names = _types.input_type_py_to_pulumi_names(args)
    parameters = list(inspect.signature(args).parameters.values())
    return frozenset(
        names.get(parameter.name, parameter.name)
        for parameter in parameters
        if parameter.default is inspect.Parameter.empty
        and parameter.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    )


def problems(resource: Resource) -> list[str]:
    """Everything about the resource's inputs that its SDK class does not provide for."""
    if not resource.custom or resource.token.startswith(WITHOUT_CLASS):
        return []
    args = args_class(resource.token)
    return [] if args is None else list(_object(resource.inputs, args, resource.name))


def _object(value: Mapping[str, Any], args: type, path: str) -> Iterator[str]:
    known = properties(args)
    for key in sorted(value.keys() - known.keys()):
        yield f"{path}.{key}: unknown property"
    for key in sorted(_required(args) - value.keys()):
        yield f"{path}.{key}: required"
    for key in sorted(value.keys() & known.keys()):
        yield from _value(value[key], known[key], f"{path}.{key}")


def _value(value: Any, wanted: Any, path: str) -> Iterator[str]:
    if value in (UNKNOWN, None) if isinstance(value, str | None) else False:
        return
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin is typing.Union or str(origin) == "<class 'types.UnionType'>":
        yield from _any_of(value, [each for each in inner if not _is_plumbing(each)], path)
    elif origin is typing.Literal:
        if value not in inner:
            yield f"{path}: {value!r} is none of {inner}"
    elif isinstance(origin, type) and issubclass(origin, Sequence):
        yield from _list(value, inner[0], path)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        yield from _map(value, inner[1], path)
    elif isinstance(wanted, type):
        yield from _scalar_or_object(value, wanted, path)


def _is_plumbing(wanted: Any) -> bool:
    """The Awaitable and Output members of an Input."""
    return wanted is type(None) or "Awaitable" in str(wanted) or "Output[" in str(wanted) or "Future" in str(wanted)


def _any_of(value: Any, members: Sequence[Any], path: str) -> Iterator[str]:
    found = [list(_value(value, member, path)) for member in members]
    if found and all(found):
        yield from min(found, key=len)


def _list(value: Any, inner: Any, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: {type(value).__name__} is not a list"
        return
    for index, each in enumerate(value):
        yield from _value(each, inner, f"{path}[{index}]")


def _map(value: Any, inner: Any, path: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path}: {type(value).__name__} is not a map"
        return
    for key, each in value.items():
        yield from _value(each, inner, f"{path}.{key}")


def _scalar_or_object(value: Any, wanted: type, path: str) -> Iterator[str]:
    if _types.is_input_type(wanted):
        if isinstance(value, Mapping):
            yield from _object(value, wanted, path)
        else:
            yield f"{path}: {type(value).__name__} is not an object"
    elif wanted in (str, int, float, bool):
        fits = isinstance(value, (int, float) if wanted is float else wanted)
        if not fits or (isinstance(value, bool) and wanted is not bool):
            yield f"{path}: {value!r} is not {wanted.__name__}"
