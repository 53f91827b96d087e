"""Writes one object: never over somebody else's, and patient with what the cluster is about to serve."""

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.kube.client import ApiError, Kube
from rehearsal.plugins.kubernetes.managers import CREATOR, handed_over, preview_forces, without_ignored
from rehearsal.plugins.kubernetes.objects import PATCH_FORCE, Object, dig, flagged

RETRIES_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Pauses of a creation whose kind or namespace is not there: pulumi-kubernetes tries six times (await/await.go,
Creation; retry/retry.go), for nothing else, and waits after the last one too."""
JSON_PATCH = "application/json-patch+json"


@dataclass(frozen=True)
class Change:
    """One update: what is to be, as which manager, by force or not, for real or as a dry run."""

    inputs: Object
    ignored: Collection[str]
    manager: str
    force: bool
    preview: bool


def placed(inputs: Object, kube: Kube) -> Object:
    """The inputs without a namespace where the kind lives in none. Raises ApiError NoMatch.

    Check gives a kind that is not served yet the default namespace, as pulumi-kubernetes does.
    """
    if "namespace" not in inputs["metadata"] or kube.namespaced(inputs["apiVersion"], inputs["kind"]):
        return inputs
    return {**inputs, "metadata": {key: value for key, value in inputs["metadata"].items() if key != "namespace"}}


def create_object(inputs: Object, kube: Kube, stop: threading.Event) -> Object:
    """Makes a new object by POST. Raises ApiError AlreadyExists if there is one of that name."""
    for pause in RETRIES_SECONDS:
        try:
            return kube.create(placed(inputs, kube), CREATOR)
        except ApiError as error:
            if error.code != 404 or stop.wait(pause):
                raise
            failed = error
    raise failed


def update_object(change: Change, kube: Kube) -> tuple[Object, Object]:
    """Applies changed inputs; (the object before, the object after). Raises ApiError NotFound, Conflict.

    A CustomResourceDefinition is replaced as a whole, as `kubectl replace` does and pulumi-kubernetes too.
    """
    inputs = change.inputs
    meta = inputs["metadata"]
    path = kube.path(inputs["apiVersion"], inputs["kind"], meta.get("namespace"), meta["name"])
    live = kube.call("GET", path)
    if inputs["kind"] == "CustomResourceDefinition":
        whole = {**inputs, "metadata": {**meta, "resourceVersion": live["metadata"]["resourceVersion"]}}
        dry = "All" if change.preview else None
        return live, kube.call("PUT", path, whole, fieldManager=change.manager, dryRun=dry)
    if not change.preview:
        live = _hand_over(live, path, kube, change.manager)
    wanted = placed(without_ignored(inputs, change.ignored, live, change.manager), kube)
    return live, kube.apply(wanted, change.manager, _forced(change, live), change.preview)


def _hand_over(live: Object, path: str, kube: Kube, manager: str) -> Object:
    entries = handed_over(dig(live, "metadata", "managedFields", default=[]), manager)
    if entries is None:
        return live
    return kube.call(
        "PATCH", path, [{"op": "replace", "path": "/metadata/managedFields", "value": entries}], JSON_PATCH
    )


def _forced(change: Change, live: Mapping[str, Any]) -> bool:
    entries = dig(live, "metadata", "managedFields", default=[])
    return (
        change.force
        or flagged(change.inputs, PATCH_FORCE)
        or not entries
        or (change.preview and preview_forces(entries))
    )
