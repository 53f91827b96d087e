"""Storage on premises: rate, network, drives; and Lustre on them."""

from collections.abc import Iterable, Iterator
from math import ceil, floor

from catalogue.metal_types import Media, StorageServer
from catalogue.network_types import NicRole, of_role
from catalogue.storage_servers import NVME_TB, SSD_TB
from planner.draft import MetalDraft, metal_rule, metal_warning
from planner.findings import Observation
from planner.rules.known import known_pools
from planner.storage.limits import client_gb_per_s, ports_needed, storage_link
from planner.storage.plan import lustre_servers as planned
from planner.storage.servers import LustreServers


def _rows(draft: MetalDraft, *roles: str) -> Iterator[tuple[str, StorageServer]]:
    """The rows in use, with their settings paths; of these roles, or of all."""
    rows = draft.catalogue.storage_servers
    for each in draft.settings.storage.servers:
        if each.row in rows and (not roles or each.role in roles):
            yield f"storage.{each.key}", rows[each.row]


def _lustre(draft: MetalDraft) -> Iterator[tuple[str, LustreServers]]:
    lustre, rows = draft.settings.storage.lustre, draft.catalogue.storage_servers
    if lustre is not None and lustre.server in rows:
        yield "storage.lustre", planned(lustre, rows[lustre.server])


@metal_rule(
    "ST02 ST03 G04 G22 G27",
    formula="min(servers x ports, servers x drives, clients x ports) >= targetGbPerS",
    source='Lustre operations manual, "Determining Hardware Configuration Requirements"',
)
def storage_throughput(draft: MetalDraft) -> Iterable[Observation]:
    """A read target is within what the servers' ports and drives and the clients' ports deliver."""
    storage = draft.storage
    if storage is None or storage.read is None or storage.target_read_gb_per_s is None:
        return
    target, limits = storage.target_read_gb_per_s, storage.read
    if target <= limits.gb_per_s or not limits.clients_network:
        return
    yield Observation(
        path="storage.targetGbPerS",
        sentence=f"{target:g} GB/s are more than the {limits.gb_per_s:.1f} GB/s that {limits.bound_by} delivers "
        f"(servers' ports {limits.servers_network:.1f}, drives {limits.servers_drives:.1f}, ports of "
        f"{storage.clients} clients {limits.clients_network:.1f} GB/s)",
        remedy=_reach(draft, target),
        inputs={
            "target": f"{target:g} GB/s",
            "servers' ports": f"{limits.servers_network:.1f} GB/s",
            "servers' drives": f"{limits.servers_drives:.1f} GB/s",
            "clients' ports": f"{limits.clients_network:.1f} GB/s",
        },
    )


@metal_rule(
    "KJ19 G22",
    formula="a client's ports speak what the storage servers' ports speak",
    source='Lustre operations manual, "Configuring Lustre Networking (LNet)"',
)
def storage_network(draft: MetalDraft) -> Iterable[Observation]:
    """Nodes reach the file system over ports of its kind: o2ib needs InfiniBand at both ends, tcp Ethernet."""
    lustre = draft.settings.storage.lustre
    for path, row in _rows(draft, "oss", "mds", "osd"):
        link = storage_link(row.nics)
        if link is None:
            yield Observation(
                path=path,
                sentence=f"{row.name} has no card with the role storage",
                remedy="add one to its row, or take another server",
                subject=row.name,
            )
            continue
        compute = lustre is not None and lustre.network == "compute"
        for pool_path, pool, plan in known_pools(draft):
            if plan.gpus_per_node and not client_gb_per_s(plan.server.nics, link, compute=compute):
                over = "compute fabric" if compute else "storage network"
                yield Observation(
                    path=f"{pool_path}.server",
                    sentence=f"a {plan.server.name} has no {link} port on the {over}, and {row.name} has no other",
                    remedy="take storage servers with the nodes' kind of ports"
                    + ("" if compute or lustre is None else ", or set storage.lustre.network to compute"),
                    subject=pool.name,
                    inputs={"servers' link": str(link), "network": over},
                )


@metal_rule(
    "G19 ST04",
    each=_lustre,
    formula="drives and cards in use <= those of the row; drives >= width",
    source='Lustre operations manual, "Determining Hardware Configuration Requirements"',
)
def lustre_servers(_: MetalDraft, servers: LustreServers) -> Iterable[Observation]:
    """An object server uses bays and cards that it has, and enough drives for one group of its parity."""
    row, width = servers.server, servers.redundancy.width
    cards = sum(group.count for group in of_role(row.nics, NicRole.STORAGE))
    wrong = (
        ("drivesPerServer", servers.drives, "drives", row.drives, f"take at most {row.drives}"),
        ("nicsPerServer", servers.cards or 0, "storage cards", cards, f"take at most {cards}"),
    )
    for key, used, what, there, remedy in wrong:
        if used > there:
            yield Observation(
                path=key,
                sentence=f"{used} {what} are more than the {there} of a {row.name}",
                remedy=remedy,
                inputs={"used": str(used), "there": str(there)},
            )
    if servers.drives < width:
        yield Observation(
            path="parity",
            sentence=f"a group of {servers.redundancy} takes {width} drives, and a server has {servers.drives}",
            remedy=f"take a narrower parity such as {max(1, servers.drives - 2)}+2, or more drives",
            inputs={"width": str(width), "drives": str(servers.drives)},
        )


@metal_rule(
    "ST07 G07",
    each=_lustre,
    formula="stripeCount <= servers x whole drive groups of a server",
    source='Lustre operations manual, "Managing File Layout (Striping) and Free Space"',
)
def lustre_stripes(draft: MetalDraft, servers: LustreServers) -> Iterable[Observation]:
    """A file is striped over no more targets than there are. A target is a group of drives, not a server."""
    lustre = draft.settings.storage.lustre
    stripes = lustre.stripe_count if lustre else None
    if stripes is not None and stripes > servers.osts:
        yield Observation(
            path="stripeCount",
            sentence=f"files cannot be striped over {stripes} targets, as {servers.count} servers with "
            f"{servers.osts_per_server} groups of {servers.redundancy} have {servers.osts}",
            remedy=f"take at most {servers.osts}, or remove the key (all of them)",
            inputs={"stripe count": str(stripes), "targets": str(servers.osts)},
        )


@metal_warning(
    "G18", formula="mdsCount >= 2", source='Lustre operations manual, "Understanding Failover in a Lustre File System"'
)
def lustre_single_mds(draft: MetalDraft) -> Iterable[Observation]:
    """A second metadata server takes over when the first one stops; without it every client stops."""
    lustre = draft.settings.storage.lustre
    if lustre is not None and lustre.mds_count < 2:
        yield Observation(
            path="storage.lustre.mdsCount",
            sentence="the file system stops with its only metadata server",
            remedy="take 2, which share the metadata targets",
            inputs={"metadata servers": str(lustre.mds_count)},
        )


@metal_rule(
    "ST04 ST05",
    each=_rows,
    formula="driveTb in the sizes that are sold",
    source="Product pages of Micron, Samsung, Solidigm and Kioxia",
)
def drive_size(_: MetalDraft, row: StorageServer) -> Iterable[Observation]:
    """Drives are of a size that is sold: 7.68 and 15.36 TB, not 10 and 16."""
    if row.media is not Media.HDD and row.drive_tb not in SSD_TB:
        near = min(NVME_TB, key=lambda size: abs(size - row.drive_tb))
        yield Observation(
            sentence=f"{row.name} has SSDs of {row.drive_tb:g} TB, a size that nobody sells",
            remedy=f"set the row's driveTb to {near:g}",
            inputs={"drive": f"{row.drive_tb:g} TB"},
        )


@metal_warning(
    "G20",
    each=_lustre,
    formula="parity >= 2",
    source='Lustre operations manual, "Formatting Options for ldiskfs RAID Devices"',
)
def lustre_one_loss(_: MetalDraft, servers: LustreServers) -> Iterable[Observation]:
    """Two drives of a group may fail (RAID-6): a rebuild of large drives takes days."""
    if servers.redundancy.parity < 2:
        yield Observation(
            path="parity",
            sentence=f"with {servers.redundancy} a target is lost with the second drive that fails before the first "
            "is rebuilt",
            remedy=f"take {max(1, servers.redundancy.data - 1)}+2, or 8+2",
            inputs={"may be lost": str(servers.redundancy.parity)},
        )


def _reach(draft: MetalDraft, target: float) -> str:
    """What to type next: more servers or cards, or a target that can be had."""
    storage = draft.storage
    if storage is None or storage.read is None:
        return "lower the target"
    limits = storage.read
    carried = limits.gb_per_s + 1e-9
    reached = floor(carried) if carried >= 1 else floor(carried * 100) / 100
    lower = f"lower the target to {reached:g}" if reached else "remove the target"
    lustre, ceph = draft.settings.storage.lustre, draft.settings.storage.ceph
    servers = lustre or ceph
    if limits.clients_network == limits.gb_per_s or servers is None or not limits.gb_per_s:
        return f"{lower}: the nodes' ports carry no more"
    slower = min(limits.servers_network, limits.servers_drives)
    more = ceil(servers.count * target / slower - 1e-9)
    row = draft.catalogue.storage_servers[servers.server]
    rate = max(group.nic.gbit_per_s for group in of_role(row.nics, NicRole.STORAGE))
    ports = ports_needed(target / servers.count, rate)
    return f"take {more} servers, or {ports} ports of {rate} Gb/s in each where drives allow it, or {lower}"


@metal_rule(
    "X05",
    formula="monitoring.fileSystem only with servers of Lustre in the inventory",
    source="Lustre operations manual, Lustre Parameters",
)
def rates_without_servers(draft: MetalDraft) -> Iterable[Observation]:
    """Lustre's servers tell what they do where the program makes them. Ceph's metrics are read anyway, and who mounts
    somebody else's file system has no way to its servers.
    """
    if draft.settings.watches_files and not (draft.site and draft.site.lustre and draft.site.lustre.servers):
        yield Observation(
            path="monitoring.fileSystem",
            sentence="it reads servers of Lustre, and the inventory has none that the program makes",
            remedy="remove fileSystem, or list them in the inventory without sharedFiles",
        )
