"""Recorded resources and graphs with one thing made wrong."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from policy.graph import Graph, Resource
from tests.graph.stackfiles import graph_of

MISSING = object()
"""As a value: the input is left out."""


def changed(name: str, path: str, value: Any, stack: str = "prod") -> Resource:
    """The recorded resource `name` with the input at `path`, like spec.0.name, set to `value`."""
    resource = graph_of(stack).one(name)
    return replace(resource, inputs=_put(resource.inputs, path.split("."), value))


def _put(node: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(node, list):
        index = int(step)
        return [*node[:index], _put(node[index], rest, value), *node[index + 1 :]]
    if not rest and value is MISSING:
        return {key: below for key, below in node.items() if key != step}
    return {**node, step: _put(node.get(step, {}), rest, value)}


def graph_with(*resources: Resource, stack: str = "prod", without: tuple[str, ...] = ()) -> Graph:
    """The recorded graph with these resources in the place of their namesakes, and some left out."""
    graph = graph_of(stack)
    kept: Mapping[str, Resource] = {urn: each for urn, each in graph.resources.items() if each.name not in without}
    return replace(graph, resources={**kept, **{each.urn: each for each in resources}})
