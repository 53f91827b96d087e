"""The machines of Ceph in an inventory: their drives, where they stand, and what Ceph takes the place of."""

from collections.abc import Iterable

from planner.draft import MetalDraft, metal_rule
from planner.findings import Observation
from planner.rules.metal.machines import ranges
from planner.site import CephPlan, HostPlan
from settings.inventory import Hosts

_ROOK = 'Rook documentation, "CephCluster CRD"'


def _placed(draft: MetalDraft) -> tuple[CephPlan, tuple[HostPlan, ...]] | None:
    """Ceph and its machines, where the inventory names machines."""
    if draft.site is None or draft.site.ceph is None:
        return None
    return draft.site.ceph, draft.site.storage_nodes


@metal_rule(
    "G09 G11",
    each=ranges,
    formula="disks of a machine of Ceph = drives of its server",
    source=f'{_ROOK}, "Storage Selection Settings": without a list, every drive of every node is taken',
)
def ceph_drives(draft: MetalDraft, hosts: Hosts) -> Iterable[Observation]:
    """Each machine of Ceph names its drives, as many as its capacity was counted with: Rook is given these and no
    others, so that neither the system's disk nor scratch of GPU nodes is ever one of Ceph's."""
    ceph = draft.settings.storage.ceph
    row = draft.catalogue.storage_servers.get(ceph.server) if ceph else None
    if hosts.storage == "osd" and row is not None and len(hosts.disks) != row.drives:
        yield Observation(
            path="disks",
            sentence=f"{len(hosts.disks)} disks are named, and a {row.name} has {row.drives} drives for Ceph",
            remedy="name each by /dev/disk/by-path, or correct storage.ceph.server",
            inputs={"disks": str(len(hosts.disks)), "drives": str(row.drives)},
        )


@metal_rule(
    "G11 G20",
    formula="racks with machines of Ceph >= max(3, replicas or data + parity) where the failure domain is a rack",
    source='Ceph documentation, "CRUSH Maps": no two parts of an object share a failure domain',
)
def ceph_spread(draft: MetalDraft) -> Iterable[Observation]:
    """With racks as failure domain, there are as many racks as parts of an object, and it is known who stands where."""
    placed = _placed(draft)
    if placed is None or placed[0].failure_domain != "rack":
        return
    ceph, hosts = placed
    racks, needed = {host.rack for host in hosts if host.rack}, max(3, ceph.redundancy.width)
    unknown = [host.name for host in hosts if not host.rack]
    if unknown or len(racks) < needed:
        said = f"{unknown[0]} has no rack" if unknown else f"its machines stand in {len(racks)} racks"
        yield Observation(
            path="storage.ceph.failureDomain",
            sentence=f"{ceph.redundancy} over racks needs {needed} of them, and {said}",
            remedy="say racks and units of the machines, spread them over more racks, or take failureDomain: host",
            inputs={"racks": str(len(racks)), "needed": str(needed)},
        )


@metal_rule(
    "G09", formula="monitors <= machines of Ceph", source=f'{_ROOK}, "Mon Settings": allowMultiplePerNode is for tests'
)
def ceph_monitors(draft: MetalDraft) -> Iterable[Observation]:
    """Each monitor is on a machine of its own: two on one are lost together, and with them the majority."""
    ceph = draft.settings.storage.ceph
    if ceph is not None and ceph.monitors > ceph.count:
        yield Observation(
            path="storage.ceph.monitors",
            sentence=f"{ceph.monitors} monitors need as many machines, and Ceph has {ceph.count}",
            remedy=f"take {ceph.monitors} servers" + ("" if ceph.monitors == 3 else ", or 3 monitors"),
            inputs={"monitors": str(ceph.monitors), "machines": str(ceph.count)},
        )


@metal_rule(
    "G09",
    formula="with Ceph no sharedFiles; with storage.ceph.bucket no objectStore",
    source="the platform's contract: one shared file system, one object store",
)
def ceph_two_stores(draft: MetalDraft) -> Iterable[Observation]:
    """Where Ceph is the shared file system nodes mount no other, and of two object stores one would be unused."""
    inventory, ceph = draft.settings.inventory, draft.settings.storage.ceph
    if inventory is None or ceph is None:
        return
    if inventory.shared_files is not None:
        yield Observation(
            path="inventory.sharedFiles",
            sentence="nodes mount CephFS, and this names another file system for the same purpose",
            remedy="remove it, or storage.ceph",
            inputs={"sharedFiles": inventory.shared_files.kind},
        )
    if inventory.object_store is not None and ceph.bucket is not None:
        yield Observation(
            path="inventory.objectStore",
            sentence=f"Ceph has the bucket {ceph.bucket}, and this names another object store",
            remedy="remove it, or storage.ceph.bucket",
            inputs={"objectStore": inventory.object_store.endpoint},
        )
