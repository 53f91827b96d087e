"""Manifests as text: what `kubernetes.yaml.ConfigFile` and `ConfigGroup` have the provider decode.

Source: pulumi-kubernetes, provider/pkg/provider/invoke_decode_yaml.go: a document without kind or apiVersion is left
out; a default namespace goes to objects that have none and are not known to belong to the whole cluster. It asks no
cluster otherwise, so it works in a preview whose cluster is not there yet.
"""

from collections.abc import Callable

import yaml

from rehearsal.plugins.kubernetes.objects import Object

Namespaced = Callable[[str, str], bool]
"""Whether a kind, by apiVersion and kind, lives in namespaces."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as Kubernetes reads it, on its way to JSON: dates and a lone `=` are text."""


_TEXT = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _TEXT]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


def decoded(text: str, namespace: str, namespaced: Namespaced | None) -> list[Object]:
    """The objects of a text of YAML documents; `namespaced` is asked only for a default `namespace`.

    Raises ValueError for what is no YAML of objects.
    """
    try:
        documents = list(yaml.load_all(text, _Loader))
    except yaml.YAMLError as error:
        raise ValueError(f"the manifest is not valid YAML: {error}") from error
    found = []
    for document in documents:
        match document:
            case None:
                continue
            case {"kind": str(kind), "apiVersion": str(version)} if kind and version:
                found.append(_placed(document, namespace, namespaced) if namespace else document)
            case dict():
                continue
            case _:
                raise ValueError(f"the manifest holds {type(document).__name__} where an object is expected")
    return found


def _placed(document: Object, namespace: str, namespaced: Namespaced | None) -> Object:
    metadata = document.get("metadata") or {}
    clusters = namespaced is not None and not namespaced(document["apiVersion"], document["kind"])
    if clusters or metadata.get("namespace"):
        return document
    return {**document, "metadata": {**metadata, "namespace": namespace}}
