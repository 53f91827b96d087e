"""Ceph and NFS on premises, and the machines that serve them."""

from collections.abc import Iterable, Iterator

from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.findings import Observation
from planner.rules.metal.machines import ranges
from planner.site import CephPlan, HostPlan
from planner.storage.plan import ceph_servers
from planner.storage.servers import CephServers
from planner.storage.tiers import NODE_READ_WARNING_GB_PER_S
from settings.inventory import Hosts

_CEPH_DOCS = 'Ceph documentation, "Hardware recommendations" and "Erasure code"'


def _ceph(draft: MetalDraft) -> Iterator[tuple[str, CephServers]]:
    ceph, rows = draft.settings.storage.ceph, draft.catalogue.storage_servers
    if ceph is not None and ceph.server in rows:
        yield "storage.ceph", ceph_servers(ceph, rows[ceph.server])


@metal_rule("G11 G20", each=_ceph, formula="hosts >= max(3, replicas or data + parity)", source=_CEPH_DOCS)
def ceph_hosts(_: MetalDraft, servers: CephServers) -> Iterable[Observation]:
    """Every part of an object lies on a host of its own, and monitors need three for a majority."""
    if servers.count < servers.hosts_needed:
        yield Observation(
            path="count",
            sentence=f"{servers.redundancy} over hosts needs {servers.hosts_needed} of them, and there are "
            f"{servers.count}, so the pools would stay undersized",
            remedy=f"set it to {servers.hosts_needed}, or take less redundancy",
            inputs={"hosts": str(servers.count), "needed": str(servers.hosts_needed)},
        )


@metal_warning("G09", each=_ceph, formula="replicas - 1, or parity, >= 2", source=_CEPH_DOCS)
def ceph_one_loss(_: MetalDraft, servers: CephServers) -> Iterable[Observation]:
    """Two parts of an object may be lost: with one, a second drive that fails during a recovery loses data."""
    if servers.redundancy.parity < 2:
        key = "replicas" if servers.redundancy.data == 1 else "erasure"
        yield Observation(
            path=key,
            sentence=f"{servers.redundancy} loses data with the second drive that fails before the first is rebuilt",
            remedy="take 3 replicas, or parity of 2 such as 4+2",
            inputs={"may be lost": str(servers.redundancy.parity)},
        )


@metal_rule("G11", each=_ceph, formula="memory >= osdMemoryGib x drives", source=_CEPH_DOCS)
def ceph_memory(draft: MetalDraft, servers: CephServers) -> Iterable[Observation]:
    """A host has enough memory for its OSDs, because recovery needs more and the kernel kills them otherwise."""
    each = draft.settings.storage.ceph.osd_memory_gib if draft.settings.storage.ceph else 0
    row, needed = servers.server, servers.server.drives * each
    if row.memory_gib < needed:
        yield Observation(
            path="server",
            sentence=f"{row.drives} OSDs take {needed} GiB at {each} GiB each, and a {row.name} has "
            f"{row.memory_gib} GiB",
            remedy="take a server with more memory or fewer drives, or a lower osdMemoryGib",
            subject=row.name,
            inputs={"drives": str(row.drives), "memory": f"{row.memory_gib} GiB"},
        )


@metal_warning(
    "G16",
    formula="targetGbPerS / GPU nodes <= 25 GB/s",
    source="Approximate: what one CephFS client is reported to sustain",
)
def ceph_node_read(draft: MetalDraft) -> Iterable[Observation]:
    """CephFS clients do not read more than about 25 GB/s on a node; above that, choose Lustre."""
    storage = draft.storage
    if storage is None or storage.kind != "ceph" or not storage.target_read_gb_per_s or not storage.clients:
        return
    each = storage.target_read_gb_per_s / storage.clients
    if each > NODE_READ_WARNING_GB_PER_S:
        yield Observation(
            path="storage.targetGbPerS",
            sentence=f"{storage.target_read_gb_per_s:g} GB/s for {storage.clients} nodes are {each:.1f} GB/s each, "
            f"above the {NODE_READ_WARNING_GB_PER_S:g} GB/s that a CephFS client sustains",
            remedy="take storage.lustre instead, or stage data on the nodes' own disks",
            inputs={"target": f"{storage.target_read_gb_per_s:g} GB/s", "clients": str(storage.clients)},
        )


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
            remedy=f"set count to {ceph.monitors}" + ("" if ceph.monitors == 3 else ", or monitors to 3"),
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


@metal_rule(
    "G12",
    each=ranges,
    formula="disks of the server of homes: even, at least 2, at most its bays",
    source='zpoolconcepts(7), "Virtual Devices": a mirror of two survives one',
)
def home_drives(draft: MetalDraft, hosts: Hosts) -> Iterable[Observation]:
    """The machine of homes names its drives, which are mirrored by twos: these and no others are formatted."""
    home = draft.settings.storage.home
    row = draft.catalogue.storage_servers.get(home.server) if home else None
    there = len(hosts.disks)
    if hosts.storage != "nfs" or row is None or (there and there % 2 == 0 and there <= row.drives):
        return
    yield Observation(
        path="disks",
        sentence=f"{there} disks are named for {hosts.name}, which mirrors those of a {row.name} by twos",
        remedy="name an even number of them by /dev/disk/by-path, or correct storage.home.server",
        inputs={"disks": str(there), "drives": str(row.drives)},
    )


@metal_warning(
    "G12",
    formula="sharedFiles.kind: nfs with no dataset, and no checkpoint of more than one node",
    source="nfs(5): every byte of a mount goes through the server that it names",
)
def nfs_training_data(draft: MetalDraft) -> Iterable[Observation]:
    """Datasets and checkpoints of several nodes are not on NFS, whose one server gives 1 to 10 GB/s to all of them."""
    inventory, training = draft.settings.inventory, draft.settings.training
    if inventory is None or inventory.shared_files is None or inventory.shared_files.kind != "nfs":
        return
    waiting = [run.name for run in training.runs if run.dataset or (run.checkpoint and run.nodes > 1)]
    if waiting:
        yield Observation(
            path="inventory.sharedFiles.kind",
            sentence=f"{', '.join(waiting)} would read datasets or save checkpoints through the one server of NFS",
            remedy="take Lustre or Ceph for the shared file system, and NFS for homes (storage.home)",
            inputs={"runs": str(len(waiting))},
        )
