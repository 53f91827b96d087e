"""What the values of a played chart change: one switch per value, made of a few effects.

A switch acts only if its value is given: the data file holds what the chart renders by default.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import yaml

from rehearsal.charts.chart import ChartError, Object, Order
from rehearsal.charts.played.values import laid
from rehearsal.charts.values import given

Effect = Callable[[list[Object], Any, Order], list[Object]]
_POD = ("spec", "template", "spec")


@dataclass(frozen=True)
class Switch:
    """A value by its dotted path, and what it does to the objects: `effect(objects, value, order)` gives them back."""

    path: str
    effect: Effect


@dataclass(frozen=True)
class Rules:
    """What is known of a chart besides its inventory: `always` adds what it renders anyway, switches the rest.

    `definitions` is the value that leaves the definitions of a sub-chart out, None where none does. `parts` are
    sub-charts that are off by default: the value that turns one on, and the name of its data file.
    """

    switches: tuple[Switch, ...] = ()
    always: Callable[[list[Object], Order], None] | None = None
    definitions: str | None = None
    parts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class On:
    """Objects by kinds, separated by blanks, and a shell pattern of their names; or a place in each of them.

    Names are those of the data file, with marks where the release has its own.
    """

    kinds: str
    name: str = "*"
    at: tuple[str | int, ...] = ()

    @property
    def pod(self) -> On:
        """The specs of their pods."""
        return replace(self, at=_POD)

    @property
    def container(self) -> On:
        """The only, or first, containers of their pods."""
        return replace(self, at=(*_POD, "containers", 0))

    def takes(self, obj: Object) -> bool:
        """Whether an object is one of these."""
        return obj["kind"] in self.kinds.split() and fnmatchcase(obj["metadata"]["name"], self.name)

    def places(self, objects: Iterable[Object]) -> Iterator[Object]:
        """The places in those objects that are meant."""
        for each in filter(self.takes, objects):
            found: Any = each
            for part in self.at:
                found = found[part]
            yield found


def apply(rules: Rules, objects: list[Object], order: Order) -> list[Object]:
    """The objects with everything that the chart's values change. Raises ChartError."""
    if rules.always:
        rules.always(objects, order)
    for switch in rules.switches:
        is_given, value = given(order.values, switch.path)
        if is_given:
            objects = switch.effect(objects, copy.deepcopy(value), order)
    return objects


def put(on: On, *to: str) -> Effect:
    """The value becomes a field, laid over the default's. What is empty leaves the field out, as `with` does."""

    def change(place: Object, value: Any) -> None:
        for part in to[:-1]:
            place = place.setdefault(part, {})
        found = laid(place.get(to[-1]), value)
        if found in (None, "", [], {}):
            place.pop(to[-1], None)
        else:
            place[to[-1]] = found

    return _each(on, change)


def extend(on: On, name: str) -> Effect:
    """The value, a list, comes after what a field has."""

    def change(place: Object, value: Any) -> None:
        place[name] = [*(place.get(name) or []), *(value or [])]

    return _each(on, change)


def flag(on: On, name: str) -> Effect:
    """The value becomes that of a flag among a container's arguments; without a value the flag is left out. Templates
    are texts: further lines of the value that begin as items do are arguments too.
    """

    def change(place: Object, value: Any) -> None:
        first, *more = (str(value).lower() if isinstance(value, bool) else str(value)).split("\n")
        words = [f"{name}={first}", *(each.strip().removeprefix("- ") for each in more)]
        names = [each.partition("=")[0] for each in place["args"]]
        at = names.index(name) if name in names else 1
        rest = [each for each, its in zip(place["args"], names, strict=True) if its != name]
        place["args"] = rest if value in (None, "") else [*rest[:at], *words, *rest[at:]]

    return _each(on, change)


def image(on: On, part: str) -> Effect:
    """The value becomes a part of a container's image: registry, path, repository, its last part `name`, or tag."""

    def change(place: Object, value: Any) -> None:
        repository, _, tag = place["image"].rpartition(":")
        registry, _, path = repository.partition("/")
        made = {
            "registry": f"{value}/{path}:{tag}",
            "path": f"{registry}/{value}:{tag}",
            "parent": f"{value}/{path.rpartition('/')[2]}:{tag}",
            "name": f"{repository.rpartition('/')[0]}/{value}:{tag}",
            "repository": f"{value}:{tag}",
            "tag": f"{repository}:{value}",
        }
        if value:
            place["image"] = made[part]

    return _each(on, change)


def only_if(*ons: On) -> Effect:
    """The objects are there only if the value is true."""

    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        return objects if value else [each for each in objects if not any(on.takes(each) for on in ons)]

    return effect


def text(on: On, key: str, path: str) -> Effect:
    """The value becomes a file of ConfigMaps; null leaves the default. ChartError if it is no text: templates fail."""

    def change(place: Object, value: Any) -> None:
        if value is not None and not isinstance(value, str):
            raise ChartError("values", f"{path} is YAML text, not a {type(value).__name__}: dump it to a string")
        place["data"][key] = place["data"][key] if value is None else value

    return _each(on, change)


def document(on: On, key: str) -> Effect:
    """The value, a map, becomes a YAML file of ConfigMaps."""

    def change(place: Object, value: Any) -> None:
        place["data"][key] = yaml.safe_dump(laid(yaml.safe_load(place["data"][key]), value), sort_keys=False)

    return _each(on, change)


def budget(of: On) -> Effect:
    """The value is the disruption budget of a workload's pods, where it is enabled.

    Source: charts of metrics-server and prometheus-adapter, templates/pdb.yaml, for Kubernetes 1.27 or later.
    """

    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        if not (value or {}).get("enabled"):
            return objects
        workload = next(filter(of.takes, objects))
        limits = ("minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy")
        made = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": workload["metadata"],
            "spec": {name: value[name] for name in limits if value.get(name)}
            | {"selector": workload["spec"]["selector"]},
        }
        return [*objects, copy.deepcopy(made)]

    return effect


def both(*effects: Effect) -> Effect:
    """Several effects of one value."""

    def effect(objects: list[Object], value: Any, order: Order) -> list[Object]:
        for each in effects:
            objects = each(objects, value, order)
        return objects

    return effect


def named(path: str, on: On, names: str) -> tuple[Switch, ...]:
    """Values below a path, which become the fields of their names, separated by blanks."""
    return tuple(Switch(_below(path, name), put(on, name)) for name in names.split())


def pulled(path: str, on: On) -> tuple[Switch, ...]:
    """What is pulled for a container: `image.repository` and `image.tag` below a path."""
    return tuple(Switch(_below(path, f"image.{part}"), image(on, part)) for part in ("repository", "tag"))


def scheduling(path: str, pod: On) -> tuple[Switch, ...]:
    """What most charts let everybody set of a pod: tolerations, nodeSelector, affinity, resources of its container."""
    return (*named(path, pod.pod, "tolerations nodeSelector affinity"), *named(path, pod.container, "resources"))


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _each(on: On, change: Callable[[Object, Any], None]) -> Effect:
    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for place in on.places(objects):
            change(place, value)
        return objects

    return effect
