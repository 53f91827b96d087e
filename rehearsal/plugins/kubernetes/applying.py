"""Writes one object: never over somebody else's, and patient with what the cluster is about to serve."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from rehearsal.kube.client import ApiError, Kube
from rehearsal.plugins.kubernetes.objects import Object, dig, title

KIND_SECONDS = 60.0
"""How long a creation waits for its kind or namespace. pulumi-kubernetes 4.34 retries exactly these two, five times
with doubling pauses (provider/pkg/await/await.go); it does not repeat a creation that an admission webhook failed."""


def placed(inputs: Object, kube: Kube) -> Object:
    """The inputs without a namespace where the kind lives in none. Raises ApiError NoMatch.

    Check gives a kind that is not served yet the default namespace, as pulumi-kubernetes does.
    """
    if "namespace" not in inputs["metadata"] or kube.namespaced(inputs["apiVersion"], inputs["kind"]):
        return inputs
    return {**inputs, "metadata": {key: value for key, value in inputs["metadata"].items() if key != "namespace"}}


def create_object(inputs: Object, kube: Kube, manager: str, stop: threading.Event) -> Object:
    """Makes a new object by server-side apply. Raises ApiError AlreadyExists if there is one of that name."""
    deadline, pause = time.monotonic() + KIND_SECONDS, 0.3
    while True:
        try:
            return _create(inputs, kube, manager)
        except ApiError as error:
            if error.code != 404 or time.monotonic() + pause > deadline or stop.wait(pause):
                raise
        pause = min(3.0, pause * 1.5)


def _create(inputs: Object, kube: Kube, manager: str) -> Object:
    meta = inputs["metadata"]
    if kube.get(inputs["apiVersion"], inputs["kind"], meta["name"], meta.get("namespace")) is not None:
        raise _exists(inputs)
    return kube.apply(placed(inputs, kube), manager)


def _exists(inputs: Mapping[str, Any]) -> ApiError:
    return ApiError(409, "AlreadyExists", f"{title(inputs)} already exists and was not made by this stack")


def update_object(inputs: Object, kube: Kube, manager: str, force: bool, dry_run: bool) -> Object:
    """Applies changed inputs to the existing object. Raises ApiError NotFound if it is gone, Conflict unless `force`.

    A CustomResourceDefinition is replaced as a whole, as `kubectl replace` does and pulumi-kubernetes too.
    """
    meta = inputs["metadata"]
    live = kube.get(inputs["apiVersion"], inputs["kind"], meta["name"], meta.get("namespace"))
    if live is None:
        raise ApiError(404, "NotFound", f"{title(inputs)} is gone; it was deleted by others: run `pulumi refresh`")
    if inputs["kind"] != "CustomResourceDefinition":
        return kube.apply(placed(inputs, kube), manager, force, dry_run)
    whole = {**inputs, "metadata": {**meta, "resourceVersion": live["metadata"]["resourceVersion"]}}
    path = kube.path(inputs["apiVersion"], inputs["kind"], None, meta["name"])
    return kube.call("PUT", path, whole, fieldManager=manager, dryRun="All" if dry_run else None)


def with_live_values(inputs: Object, ignored: Iterable[str], kube: Kube) -> Object:
    """The inputs with the live value at every ignored path, so that applying them leaves those as they are."""
    paths = [path.split(".") for path in ignored if "[" not in path]
    if not paths:
        return inputs
    meta = inputs["metadata"]
    live = kube.get(inputs["apiVersion"], inputs["kind"], meta["name"], meta.get("namespace"))
    kept = copy.deepcopy(inputs)
    for *parents, last in paths:
        target, value = dig(kept, *parents), dig(live, *parents, last)
        if isinstance(target, dict) and last in target and value is not None:
            target[last] = value
    return kept
