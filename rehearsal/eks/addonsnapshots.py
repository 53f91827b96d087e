"""What EKS installs for its add-on snapshot-controller. Pure."""

from collections.abc import Mapping
from typing import Any

from rehearsal.eks import addonshapes as shapes
from rehearsal.eks.addonshapes import Object

CRITICAL: Object = {"key": "CriticalAddonsOnly", "operator": "Exists"}
KINDS = {"VolumeSnapshot": "Namespaced", "VolumeSnapshotContent": "Cluster", "VolumeSnapshotClass": "Cluster"}
"""Kinds that come with the snapshot controller, and their scope (EKS user guide, "Enable snapshot functionality for CSI
volumes": its add-on includes the definitions; kubernetes-csi/external-snapshotter, client/config/crd)."""


def _snapshot_kind(kind: str, scope: str) -> Object:
    group, singular = "snapshot.storage.k8s.io", kind.lower()
    plural = singular + ("es" if singular.endswith("s") else "s")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version: Object = {"name": "v1", "served": True, "storage": True, "schema": schema}
    if kind != "VolumeSnapshotClass":
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": plural, "singular": singular, "kind": kind},
            "scope": scope,
            "versions": [version],
        },
    }


def objects(version: str, values: Mapping[str, Any]) -> list[Object]:
    """The kinds and the controller, whose pods need no node of a kind."""
    name = "snapshot-controller"
    pod = shapes.pod(values, [CRITICAL], [shapes.container(name, name, version)], name, "system-cluster-critical")
    labels = {"app.kubernetes.io/name": name}
    return [
        *(_snapshot_kind(kind, scope) for kind, scope in KINDS.items()),
        shapes.account(name),
        shapes.deployment(name, pod, labels, int(values.get("replicaCount") or 2)),
    ]
