"""Volumes on the disks of nodes, each a directory that is mounted by itself.

Source: sig-storage-local-static-provisioner, docs/operations.md, "Sharing a disk filesystem by multiple
filesystem PVs".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

CLASS = "local-volumes"


def provisioner_values(path: str, node_labels: Mapping[str, str]) -> dict[str, Any]:
    """Values of the `local-static-provisioner` chart: mount points below `path` of such nodes are volumes. The class is
    no part of the chart: its name must be there before the pods that offer its volumes.
    """
    offered = {"name": CLASS, "hostDir": path, "volumeMode": "Filesystem", "accessMode": "ReadWriteOnce"}
    return {
        "classes": [offered],
        "nodeSelector": dict(node_labels),
        "useNodeNameOnly": True,
        "mountDevVolume": False,
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
    }


@dataclass(frozen=True, kw_only=True)
class LocalVolumesArgs:
    """`provisioner` offers the volumes and empties those that are released: it must outlive whoever claims one."""

    provisioner: pulumi.Resource


class LocalVolumes(Component):
    """The storage class, the default one. A claim waits for the pod that mounts it, and both stay on that node."""

    storage_class: pulumi.Output[str]

    def __init__(self, name: str, args: LocalVolumesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        made = k8s.storage.v1.StorageClass(
            self.named("class"),
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=CLASS, annotations={"storageclass.kubernetes.io/is-default-class": "true"}
            ),
            provisioner="kubernetes.io/no-provisioner",
            reclaim_policy="Delete",
            volume_binding_mode="WaitForFirstConsumer",
            opts=self.child(depends_on=[args.provisioner]),
        )
        self.storage_class = made.metadata.name.apply(str)
        self.register_outputs({"storageClass": self.storage_class})
