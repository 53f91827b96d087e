"""What a resource's inputs refer to: by id, ARN or name where it is known, by what the program wired before."""

from collections.abc import Iterable, Iterator
from typing import Any

from policy.graph import UNKNOWN, Graph, Resource


def behind(graph: Graph, each: Resource, key: str, value: Any, *kinds: str) -> list[Resource]:
    """Resources of these kinds that `value` names, which stands in (or below) the input `key` of a resource.

    A value that is not known yet stands for whatever the input is made of: of several, nobody can tell which. So does
    a value that nothing is known to have: a policy pack is shown no ids.
    """
    if value is None:
        return []
    found = graph.of_type(*kinds)
    wired = [one for one in found if one.urn in each.references.get(key, ())]
    if value == UNKNOWN:
        return wired
    return [one for one in found if value in _names(one)] or [one for one in wired if one.outputs and not one.id]


def target(graph: Graph, each: Resource, key: str, *kinds: str) -> Resource | None:
    """The resource of these kinds that the whole input `key` names; None where the graph has none."""
    return next(iter(behind(graph, each, key, each.inputs.get(key), *kinds)), None)


def _names(resource: Resource) -> set[str]:
    return {resource.id, *_texts(resource.outputs), *_own_names(resource)} - {""}


def _own_names(resource: Resource) -> Iterator[str]:
    for key in ("name", "bucket", "nodeGroupName"):
        if isinstance(name := resource.inputs.get(key), str):
            yield name


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def before(graph: Graph, each: Resource) -> set[str]:
    """URNs of everything that is there before a resource: what it depends on, however far back, and its parents'."""
    seen: set[str] = set()
    waiting = [each.urn]
    while waiting:
        one = graph.resources.get(waiting.pop())
        if one is not None:
            above = [one.parent] if one.parent else []
            further: Iterable[str] = [*one.depends_on, one.provider.rsplit("::", 1)[0], *above]
            new = [urn for urn in further if urn and urn not in seen]
            seen.update(new)
            waiting += new
    return seen
