"""The default StorageClass: encrypted gp3 volumes, made in the zone of the pod that wants one."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class BlockStorageArgs:
    """`driver` makes the volumes, and deletes them: it must outlive whoever claims one."""

    driver: pulumi.Resource
    tags: Mapping[str, str] = field(default_factory=dict)


class BlockStorage(Component):
    """StorageClass `gp3` of the EBS CSI driver."""

    storage_class: pulumi.Output[str]

    def __init__(self, name: str, args: BlockStorageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        storage_class = k8s.storage.v1.StorageClass(
            self.named("gp3"),
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name="gp3", annotations={"storageclass.kubernetes.io/is-default-class": "true"}
            ),
            provisioner="ebs.csi.aws.com",
            parameters={"type": "gp3", "encrypted": "true", **tag_parameters(args.tags)},
            reclaim_policy="Delete",
            volume_binding_mode="WaitForFirstConsumer",
            allow_volume_expansion=True,
            opts=self.child(depends_on=[args.driver]),
        )
        self.storage_class = storage_class.metadata.name.apply(str)
        self.register_outputs({"storageClass": self.storage_class})


def tag_parameters(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags of the volumes as the driver takes them: numbered from 1 (aws-ebs-csi-driver, docs/tagging.md)."""
    return {f"tagSpecification_{number}": f"{key}={tags[key]}" for number, key in enumerate(sorted(tags), 1)}
