"""Refresh: the program's inputs, with the cluster's values where the object no longer is what they ask for."""

import copy
from collections.abc import Mapping
from typing import Any

from rehearsal.kube.client import ApiError, Kube
from rehearsal.plugins.kubernetes.applying import placed
from rehearsal.plugins.kubernetes.objects import SERVER_FIELDS, Object, dig

_SERVER_ANNOTATIONS = ("deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration")
_MISSING = object()


def seen_inputs(inputs: Object, live: Object, kube: Kube, manager: str) -> Object:
    """The inputs as the cluster now has them.

    The server writes values its own way (`cpu: "0.5"` becomes `500m`), so it is asked what the object would be if the
    inputs were applied now (a dry run): where that equals the live object nothing has drifted and the input stays.
    """
    wanted: Any = _MISSING
    try:
        wanted = kube.apply(placed(inputs, kube), manager, force=True, dry_run=True)
    except ApiError as error:
        # The object has changed in a field that cannot be changed back, or is refused now: compare as written.
        if error.code >= 500 or error.code in (401, 403, 429):
            raise
    seen = copy.deepcopy(inputs)
    result = _merge(seen, wanted, live)
    return result if isinstance(result, dict) else inputs


def _merge(given: Any, wanted: Any, live: Any) -> Any:
    """`given` where the live value is what it would be, else the live value; in maps only the keys given."""
    if live in (wanted, given):
        return given
    if isinstance(given, Mapping) and isinstance(live, Mapping):
        merged = {}
        for key, value in given.items():
            want = wanted.get(key, _MISSING) if isinstance(wanted, Mapping) else _MISSING
            if key in live:
                merged[key] = _merge(value, want, live[key])
            elif want is _MISSING and wanted is not _MISSING:
                merged[key] = value  # the server does not keep this field at all
        return merged
    if isinstance(given, list) and isinstance(live, list) and len(given) == len(live):
        wants = wanted if isinstance(wanted, list) and len(wanted) == len(live) else [_MISSING] * len(live)
        return [_merge(*triple) for triple in zip(given, wants, live, strict=True)]
    return live


def imported_inputs(live: Mapping[str, Any]) -> Object:
    """Inputs for an object that Pulumi has not known: everything but what only the server writes."""
    inputs = copy.deepcopy({key: value for key, value in live.items() if key != "status"})
    metadata = inputs["metadata"]
    for field in (*SERVER_FIELDS, "managedFields", "selfLink"):
        metadata.pop(field, None)
    annotations = dig(metadata, "annotations", default={})
    for name in _SERVER_ANNOTATIONS:
        annotations.pop(name, None)
    if not annotations:
        metadata.pop("annotations", None)
    return inputs
