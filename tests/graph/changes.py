"""Recorded resources and graphs with one thing made wrong."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from policy.graph import Graph, Resource
from tests.graph.stackfiles import graph_of

MISSING = object()
"""As a value: the input is left out."""


def changed(name: str, path: str, value: Any, stack: str = "prod") -> Resource:
    """The recorded resource `name` with the input at `path`, like spec.0.name, set to `value`."""
    return _changed(graph_of(stack), name, path, value)


def _changed(graph: Graph, name: str, path: str, value: Any) -> Resource:
    resource = graph.one(name)
    return replace(resource, inputs=_put(resource.inputs, path.split("."), value))


Change = Callable[[Graph], Graph]
"""What a mistake does to a graph."""


def put(name: str, path: str, value: Any) -> Change:
    """The input at `path` of the resource `name` is `value`. A dot within a key is written ~."""
    return lambda graph: _with(graph, _changed(graph, name, path, value))


def unordered(name: str, *without: str) -> Change:
    """The resource `name` depends on none of these any more."""

    def change(graph: Graph) -> Graph:
        one = graph.one(name)
        kept = tuple(urn for urn in one.depends_on if urn.rsplit("::", 1)[-1] not in without)
        return _with(graph, replace(one, depends_on=kept))

    return change


def ordered(name: str, after: str) -> Change:
    """The resource `name` depends on `after` too."""

    def change(graph: Graph) -> Graph:
        one = graph.one(name)
        return _with(graph, replace(one, depends_on=(*one.depends_on, graph.one(after).urn)))

    return change


def gone(*names: str) -> Change:
    """Nobody registers these."""
    return lambda graph: replace(graph, resources={k: v for k, v in graph.resources.items() if v.name not in names})


def more(name: str, like: str, **inputs: Any) -> Change:
    """A second resource of the kind of `like`, with other inputs."""

    def change(graph: Graph) -> Graph:
        one = graph.one(like)
        urn = one.urn.replace(f"::{like}", f"::{name}")
        return _with(graph, replace(one, name=name, urn=urn, inputs={**one.inputs, **inputs}))

    return change


def registered(name: str, token: str, **inputs: Any) -> Change:
    """A resource of any type, made of literals."""
    return lambda graph: _with(graph, Resource(urn=f"urn:{name}", token=token, name=name, custom=True, inputs=inputs))


def both(*changes: Change) -> Change:
    """One change after the other."""
    return lambda graph: reduce(lambda so_far, change: change(so_far), changes, graph)


def _with(graph: Graph, resource: Resource) -> Graph:
    return replace(graph, resources={**graph.resources, resource.urn: resource})


def _put(node: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    step, rest = path[0].replace("~", "."), path[1:]
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
