"""The default StorageClass: encrypted gp3 volumes, made in the zone of the pod that wants one."""

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


class BlockStorage(Component):
    """StorageClass `gp3` of the EBS CSI driver."""

    storage_class: pulumi.Output[str]

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        storage_class = k8s.storage.v1.StorageClass(
            self.named("gp3"),
            k8s.storage.v1.StorageClassInitArgs(
                metadata=k8s.meta.v1.ObjectMetaArgs(
                    name="gp3", annotations={"storageclass.kubernetes.io/is-default-class": "true"}
                ),
                provisioner="ebs.csi.aws.com",
                parameters={"type": "gp3", "encrypted": "true"},
                reclaim_policy="Delete",
                volume_binding_mode="WaitForFirstConsumer",
                allow_volume_expansion=True,
            ),
            self.child(),
        )
        self.storage_class = storage_class.metadata.name.apply(str)
        self.register_outputs({"storageClass": self.storage_class})
