"""Ceph on premises."""

from collections.abc import Iterable, Iterator

from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.findings import Observation
from planner.storage.local import NODE_READ_WARNING_GB_PER_S
from planner.storage.plan import ceph_servers
from planner.storage.servers import CephServers

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
            remedy=f"take {servers.hosts_needed} servers, or less redundancy",
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
