"""A cluster's API made of plain objects, for tests that look at one, and what is complained of in it."""

from collections.abc import Collection, Mapping
from typing import Any

from rehearsal.engine import judged
from rehearsal.engine.declared import Declared
from rehearsal.engine.look import Look
from rehearsal.kube.client import ApiError

Object = dict[str, Any]
UID = "u-1"


class Cluster:
    """A cluster's API with these objects, by kind; it serves no kind of `unserved`."""

    def __init__(self, *, unserved: Collection[str] = (), **objects: list[Object]) -> None:
        self._objects = objects
        self._unserved = unserved

    def list(
        self,
        version: str,
        kind: str,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> list[Object]:
        if kind in self._unserved:
            raise ApiError(404, "NoMatch", f"no {kind}")
        found = [each for each in self._objects.get(kind, []) if each.get("apiVersion", version) == version]
        if namespace:
            found = [each for each in found if each["metadata"].get("namespace") == namespace]
        if label_selector:
            wanted = dict(pair.split("=") for pair in label_selector.split(","))
            found = [each for each in found if wanted.items() <= each["metadata"].get("labels", {}).items()]
        if field_selector:
            asked = dict(pair.split("=") for pair in field_selector.split(","))
            found = [each for each in found if all(_field(each, key) == value for key, value in asked.items())]
        return found

    def namespaced(self, _version: str, kind: str) -> bool:
        return all("namespace" in each["metadata"] for each in self._objects.get(kind, []))

    def get(self, version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
        found = (each for each in self.list(version, kind, namespace) if each["metadata"]["name"] == name)
        return next(found, None)


def _field(event: Mapping[str, Any], path: str) -> str:
    value: Any = event
    for key in path.split("."):
        value = value[key]
    return str(value)


def said(item: Declared, told: Any = (), **cluster: Any) -> list[str]:
    """The complaints about one declared object in a cluster of these objects, by kind."""
    return judged.complaints([item], Look(Cluster(**cluster)), told)  # type: ignore[arg-type]


def declared(version: str, kind: str, name: str = "web", namespace: str | None = "inference", **more: Any) -> Declared:
    return Declared(version, kind, namespace, name, **more)


def live(name: str = "web", namespace: str | None = "inference", **parts: Any) -> Object:
    where = {"namespace": namespace} if namespace else {}
    return {"metadata": {**where, "name": name, "uid": UID, **parts.pop("metadata", {})}, **parts}


def conditions(**states: tuple[str, str, str]) -> Object:
    """Status conditions: type to status, reason and message."""
    keys = ("status", "reason", "message")
    return {"conditions": [{"type": kind, **dict(zip(keys, state, strict=True))} for kind, state in states.items()]}
