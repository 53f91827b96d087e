"""EBS volumes for claims: the default class, those of the stack file, and snapshots."""

import pulumi

from components.aws.block import BlockStorage, BlockStorageArgs, SnapshotsSpec, VolumeClassSpec
from planner.types import AwsPlan
from stacks.providers import lasting_tags


def block_storage(
    plan: AwsPlan, driver: pulumi.Resource, snapshots: pulumi.Resource | None, opts: pulumi.ResourceOptions
) -> BlockStorage:
    """Register the classes. `driver` makes volumes, and `snapshots` is the controller of snapshots, None without."""
    classes = [
        VolumeClassSpec(
            name=each.name,
            type=each.type,
            iops=each.iops,
            throughput_mib=each.throughput_mbps,
            retained=each.reclaim == "retain",
        )
        for each in plan.block.classes
    ]
    args = BlockStorageArgs(
        driver=driver,
        tags=lasting_tags(plan.ownership),
        classes=classes,
        snapshots=SnapshotsSpec(controller=snapshots, retained=plan.block.snapshots == "retain") if snapshots else None,
    )
    return BlockStorage("block-storage", args, opts)
