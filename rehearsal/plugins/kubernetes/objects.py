"""Kubernetes objects as plain dicts: reading fields, the annotations Pulumi's provider knows, secrets in outputs."""

import copy
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from rehearsal.plugins.wire import Path

Object = dict[str, Any]

AUTONAMED = "pulumi.com/autonamed"
PATCH_FORCE = "pulumi.com/patchForce"
PATCH_MANAGER = "pulumi.com/patchFieldManager"
PROPAGATION = "pulumi.com/deletionPropagationPolicy"
REPLACE_UNREADY = "pulumi.com/replaceUnready"
SKIP_AWAIT = "pulumi.com/skipAwait"
TIMEOUT_SECONDS = "pulumi.com/timeoutSeconds"
WAIT_FOR = "pulumi.com/waitFor"

SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "generation")
"""Metadata that only the server writes."""


def dig(value: Any, *keys: str | int, default: Any = None) -> Any:
    """The value below the keys, or the default where one of them is missing, null or of another shape."""
    for key in keys:
        if isinstance(value, Mapping) and isinstance(key, str):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return default
        if value is None:
            return default
    return value


def annotation(obj: Mapping[str, Any], name: str) -> str | None:
    """The annotation's value; None if it has none."""
    found = dig(obj, "metadata", "annotations", name)
    return None if found is None else str(found)


def flagged(obj: Mapping[str, Any], name: str) -> bool:
    """Whether the annotation is set to true."""
    return annotation(obj, name) == "true"


def condition(obj: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """The status condition of that type; empty if there is none."""
    found: Iterable[Mapping[str, Any]] = dig(obj, "status", "conditions", default=[])
    return next((item for item in found if item.get("type") == kind), {})


def holds(obj: Mapping[str, Any], kind: str) -> bool:
    """Whether the status condition of that type is True."""
    return condition(obj, kind).get("status") == "True"


def identifier(obj: Mapping[str, Any]) -> str:
    """Pulumi's id of the object: `namespace/name`, or `name` if it lives in no namespace."""
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def title(obj: Mapping[str, Any]) -> str:
    """How messages call an object: `Deployment training/operator`."""
    return f"{obj.get('kind')} {identifier(obj)}"


def split_identifier(text: str) -> tuple[str | None, str]:
    """(namespace, name) of Pulumi's id."""
    namespace, _, name = text.rpartition("/")
    return namespace or None, name


def kind_of_token(token: str) -> tuple[str, str]:
    """(apiVersion, kind) of a resource token such as `kubernetes:apps/v1:Deployment` or `kubernetes:core/v1:Pod`."""
    _, version, kind = token.split(":")
    return version.removeprefix("core/"), kind


def without_nulls(value: Any) -> Any:
    """The value without the map entries that are null: the same request to Kubernetes."""
    if isinstance(value, Mapping):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


_DASHED = {
    f"x_kubernetes_{name.replace('-', '_')}": f"x-kubernetes-{name}"
    for name in (
        "embedded-resource",
        "int-or-string",
        "list-map-keys",
        "list-type",
        "map-type",
        "preserve-unknown-fields",
        "validations",
    )
}
"""Fields of a definition's schema that SDKs have no word for (provider/pkg/provider, mapReplUnderscoreToDash)."""


def dashed(value: Any) -> Any:
    """The value with those fields as the cluster calls them."""
    if isinstance(value, Mapping):
        return {_DASHED.get(key, key): dashed(item) for key, item in value.items()}
    return [dashed(item) for item in value] if isinstance(value, list) else value


def is_secret(obj: Mapping[str, Any]) -> bool:
    """Whether it is a Secret of Kubernetes."""
    return obj.get("kind") == "Secret" and obj.get("apiVersion") == "v1"


def outputs(live: Mapping[str, Any]) -> Object:
    """What the resource's outputs show of the live object: everything but the bookkeeping of field managers."""
    shown = copy.deepcopy(dict(live))
    shown.get("metadata", {}).pop("managedFields", None)
    return shown


def output_secrets(live: Mapping[str, Any], input_secrets: Iterable[Path]) -> set[Path]:
    """The output paths to keep secret: those of the inputs, whole lists where one lies inside (the server may reorder
    or extend them), and all data of a Secret."""
    paths: set[Path] = {tuple(takewhile(lambda part: isinstance(part, str), path)) for path in input_secrets}
    if is_secret(live):
        paths |= {("data",), ("stringData",)}
    return {path for path in paths if path}
