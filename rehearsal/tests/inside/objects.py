"""Pods and a store of objects for the quick tests of the kubelet."""

from collections.abc import Mapping
from typing import Any


def pod(**spec: Any) -> dict[str, Any]:
    containers = spec.pop("containers", [{"name": "main", "image": "a:1"}])
    return {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"containers": containers, **spec}}


class Store:
    """Objects by (store, namespace or "", name)."""

    def __init__(self, **stores: Mapping[str, Any]) -> None:
        self._stores = stores

    def __call__(self, store: str, name: str, namespace: str | None) -> Any:  # noqa: ARG002
        return self._stores.get(store, {}).get(name)
