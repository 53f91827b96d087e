"""What a program declared of a cluster: the Kubernetes objects of its state, and those that its Releases brought."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal.engine import state
from rehearsal.engine import stored as state_files
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.plugins.kubernetes.objects import dig, kind_of_token, split_identifier

PACKAGE = "kubernetes:"
RELEASE = ("helm.sh/v3", "Release")
IN_PART = ("List", "Patch")
"""Ends of the names of resources that are no objects of their own."""


@dataclass(frozen=True)
class Declared:
    """One object that should be there. `wanted` is what the program registered, `last` what the engine last read of it.

    `provider` is the engine's reference to the cluster's provider; `chart` names the Release that brought it.
    """

    api_version: str
    kind: str
    namespace: str | None
    name: str
    wanted: Mapping[str, Any] = field(default_factory=dict)
    last: Mapping[str, Any] = field(default_factory=dict)
    provider: str = ""
    chart: str = ""

    @property
    def label(self) -> str:
        """How sentences call it: `job training/copy`."""
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind.lower()} {where}"


def stored(backend: Path) -> list[Declared]:
    """The Kubernetes objects in every stack of a file backend. Raises StateError for one that is damaged."""
    found = (state_files.read(path) for path in state_files.files(backend))
    latest = (dig(document, "checkpoint", "latest", default={}) for document in found)
    return [each for deployment in latest for each in declared({"deployment": deployment})]


def declared(document: state.Document) -> list[Declared]:
    """The Kubernetes objects that a stack made and keeps; not those that it only reads or is about to delete."""
    return [
        _declared(each)
        for each in state.resources(document)
        if each["type"].startswith(PACKAGE)
        and each.get("id")
        and not (each.get("external") or each.get("delete"))
        and not each["type"].endswith(IN_PART)
    ]


def _declared(entry: Mapping[str, Any]) -> Declared:
    namespace, name = split_identifier(entry["id"])
    version, kind = kind_of_token(entry["type"])
    wanted, last = (state.plain(entry.get(key) or {}) for key in ("inputs", "outputs"))
    if (version, kind) != RELEASE:
        version, kind = last.get("apiVersion") or version, last.get("kind") or kind
    return Declared(version, kind, namespace, name, wanted, last, entry.get("provider", ""))


def by_cluster(objects: Iterable[Declared], clusters: Mapping[str, Kube]) -> Mapping[str, Sequence[Declared]]:
    """The objects of each cluster; those of one provider belong where most of its objects are found as they were made.

    A kubeconfig in the state may be sealed, so it is not asked.
    """
    groups: dict[str, list[Declared]] = {}
    for each in objects:
        groups.setdefault(each.provider, []).append(each)
    if len(clusters) == 1:
        return {label: [each for group in groups.values() for each in group] for label in clusters}
    shares: dict[str, list[Declared]] = {label: [] for label in clusters}
    for group in groups.values():
        found = Counter({label: sum(_is_there(each, kube) for each in group) for label, kube in clusters.items()})
        if found:
            shares[found.most_common(1)[0][0]] += group
    return shares


def _is_there(each: Declared, kube: Kube) -> bool:
    uid = dig(each.last, "metadata", "uid")
    try:
        live = uid and kube.get(each.api_version, each.kind, each.name, each.namespace)
    except (ApiError, Unreachable):
        return False
    return bool(live) and dig(live, "metadata", "uid") == uid
