"""Snapshots of the etcd that a site's machines run: a managed control plane has its vendor for that."""

import pulumi

from catalogue.metal_versions import KUBERNETES_IMAGES
from components.metal.etcd_snapshots import NAMESPACE, EtcdSnapshots, EtcdSnapshotsArgs
from components.metal.object_store import StoreKey, StoreKeyArgs
from planner.metal_types import MetalPlan
from stacks.metal_joining import release
from stacks.metal_storage import SiteObjects

SNAPSHOTS = "etcd"
"""Where they lie in the bucket."""
EVERY_SECONDS = 6 * 3600
"""A cluster changes by what people and runs do: what a run saves is in its checkpoints, not here."""


def etcd_snapshots(plan: MetalPlan, objects: SiteObjects, inside: pulumi.ResourceOptions) -> None:
    """The schedule, and the store's key beside it."""
    key = StoreKeyArgs(namespace=NAMESPACE, key_id=objects.key_id, key=objects.key)
    EtcdSnapshots(
        "etcd-snapshots",
        EtcdSnapshotsArgs(
            image=plan.supply.image(f"{KUBERNETES_IMAGES}/etcd:{release(plan).etcd}"),
            copier=objects.copier,
            granted=StoreKey("object-store-etcd", key, inside).kept,
            uri=f"{objects.scheme}://{objects.store.bucket}/{SNAPSHOTS}",
            every_seconds=EVERY_SECONDS,
        ),
        inside,
    )
