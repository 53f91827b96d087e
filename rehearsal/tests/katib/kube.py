"""An API server in memory, as far as Katib's reconcilers ask it, and a trial's job that is played by a function."""

import copy
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.images.katib.objects import Object, marked
from rehearsal.kube.client import ApiError

Key = tuple[str, str, str, str]
Objects = list[Object]
EXPERIMENT = ("kubeflow.org/v1beta1", "Experiment")


class Memory:
    """Objects by kind and name. A Deployment is available at once; `started` sees each job that is made."""

    def __init__(self, started: Callable[[Object], None] = lambda _: None) -> None:
        self._objects: dict[Key, Object] = {}
        self._numbers = itertools.count(1)
        self._started = started

    def get(self, api: str, kind: str, name: str, namespace: str = "") -> Object | None:
        found = self._objects.get((api, kind, namespace, name))
        return copy.deepcopy(found) if found else None

    def list(self, api: str, kind: str, namespace: str = "", label_selector: str = "") -> Objects:
        wanted = dict(each.split("=") for each in label_selector.split(",") if each)
        return [
            copy.deepcopy(each)
            for (its_api, its_kind, where, _), each in self._objects.items()
            if (its_api, its_kind) == (api, kind)
            and namespace in ("", where)
            and wanted.items() <= (each["metadata"].get("labels") or {}).items()
        ]

    def create(self, obj: Mapping[str, Any], manager: str = "") -> Object:  # noqa: ARG002 - the client's
        made = copy.deepcopy(dict(obj))
        key = (made["apiVersion"], made["kind"], made["metadata"]["namespace"], made["metadata"]["name"])
        if key in self._objects:
            raise ApiError(409, "AlreadyExists", "there is one already")
        made["metadata"] |= {"uid": f"uid-{next(self._numbers)}", "resourceVersion": str(next(self._numbers))}
        if made["kind"] == "Deployment":
            made["status"] = marked({}, "Available", "", "")
        self._objects[key] = made
        if made["kind"] == "PyTorchJob":
            self._started(made)
        return copy.deepcopy(made)

    def patch(
        self, api: str, kind: str, name: str, namespace: str | None, patch: Mapping[str, Any], subresource: str = ""
    ) -> Object:
        found = self._objects[api, kind, namespace or "", name]
        version = (patch.get("metadata") or {}).get("resourceVersion")
        if version not in (None, found["metadata"]["resourceVersion"]):
            raise ApiError(409, "Conflict", "the object has been modified")
        change = {"status": patch["status"]} if subresource == "status" else dict(patch)
        _merge(found, copy.deepcopy(change))
        found["metadata"]["resourceVersion"] = str(next(self._numbers))
        return copy.deepcopy(found)

    def delete(self, obj: Mapping[str, Any], propagation: str = "Background") -> None:  # noqa: ARG002 - the client's
        meta = obj["metadata"]
        self._objects.pop((obj["apiVersion"], obj["kind"], meta["namespace"], meta["name"]), None)


def _merge(into: Object, change: Mapping[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value
