"""Storage classes of encrypted EBS volumes, made in the zone of the pod that wants one: the default one and others.

Source of the parameters: aws-ebs-csi-driver, docs/parameters.md and docs/tagging.md.
`blockExpress` is left out: a driver from pull request 2564 on ignores it, and asks EC2 for the most IOPS of a type.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.snapshot_controller import SnapshotClass

DRIVER = "ebs.csi.aws.com"
SNAPSHOTS = "ebs"
"""The VolumeSnapshotClass."""
RETAINED = {"gpucluster:retain": "true"}
"""A tag of what stays in EBS when its object goes."""


@dataclass(frozen=True, kw_only=True)
class VolumeClassSpec:
    """A class by `name`: an EBS `type`, its `iops` and MiB/s where EBS' defaults are not wanted. A volume that is
    `retained` stays in EBS when its claim goes.
    """

    name: str
    type: str
    iops: int | None = None
    throughput_mib: int | None = None
    retained: bool = False


@dataclass(frozen=True, kw_only=True)
class SnapshotsSpec:
    """Snapshots by a `controller`; those that are `retained` stay in EBS when their objects go."""

    controller: pulumi.Resource
    retained: bool


@dataclass(frozen=True, kw_only=True)
class BlockStorageArgs:
    """`driver` makes the volumes, and deletes them: it must outlive whoever claims one."""

    driver: pulumi.Resource
    tags: Mapping[str, str] = field(default_factory=dict)
    classes: Sequence[VolumeClassSpec] = ()
    snapshots: SnapshotsSpec | None = None


class BlockStorage(Component):
    """StorageClass `gp3` of the EBS CSI driver, which is the default, and the further `classes`."""

    storage_class: pulumi.Output[str]

    def __init__(self, name: str, args: BlockStorageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        default = {"storageclass.kubernetes.io/is-default-class": "true"}
        storage_class = self._class(VolumeClassSpec(name="gp3", type="gp3"), args, default)
        for each in args.classes:
            self._class(each, args)
        if args.snapshots:
            SnapshotClass(
                self.named("snapshots"),
                SNAPSHOTS,
                DRIVER,
                tag_parameters({**args.tags, **(RETAINED if args.snapshots.retained else {})}),
                self.child(depends_on=[args.driver, args.snapshots.controller]),
                retained=args.snapshots.retained,
            )
        self.storage_class = storage_class.metadata.name.apply(str)
        self.register_outputs({"storageClass": self.storage_class})

    def _class(
        self, spec: VolumeClassSpec, args: BlockStorageArgs, annotations: Mapping[str, str] | None = None
    ) -> k8s.storage.v1.StorageClass:
        numbers = {"iops": spec.iops, "throughput": spec.throughput_mib}
        return k8s.storage.v1.StorageClass(
            self.named(spec.name),
            metadata=k8s.meta.v1.ObjectMetaArgs(name=spec.name, annotations=annotations),
            provisioner=DRIVER,
            parameters={
                "type": spec.type,
                "encrypted": "true",
                **{key: str(number) for key, number in numbers.items() if number is not None},
                **tag_parameters({**args.tags, **(RETAINED if spec.retained else {})}),
            },
            reclaim_policy="Retain" if spec.retained else "Delete",
            volume_binding_mode="WaitForFirstConsumer",
            allow_volume_expansion=True,
            opts=self.child(depends_on=[args.driver]),
        )


def tag_parameters(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags of the volumes as the driver takes them: numbered from 1 (aws-ebs-csi-driver, docs/tagging.md)."""
    return {f"tagSpecification_{number}": f"{key}={tags[key]}" for number, key in enumerate(sorted(tags), 1)}
