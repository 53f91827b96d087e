"""The machines of Lustre in an inventory: their drives, the numbers of their targets, partners, and the network."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network

from catalogue.network_types import NicRole
from planner.draft import MetalDraft, metal_rule
from planner.findings import Observation
from planner.rules.metal.machines import machines, ranges
from planner.site import HostPlan
from planner.storage.limits import in_use
from planner.storage.lustre_targets import MOST_PARITY, LustrePlan, LustreServer
from planner.storage.plan import lustre_servers
from settings.inventory import Hosts
from settings.metal_storage import MetalLustre

_MANUAL = "Lustre operations manual"
_ROLES = ("oss", "mds")


def _served(draft: MetalDraft) -> Iterator[tuple[MetalLustre, LustrePlan]]:
    """Lustre that the inventory's machines serve."""
    lustre = draft.settings.storage.lustre
    if lustre is not None and draft.site is not None and draft.site.lustre is not None:
        yield lustre, draft.site.lustre


def _servers(draft: MetalDraft) -> Iterator[tuple[str, Hosts]]:
    yield from ((path, hosts) for path, hosts in ranges(draft) if hosts.storage in _ROLES)


def _host(draft: MetalDraft, name: str) -> HostPlan | None:
    return next((host for host in draft.site.hosts if host.name == name), None) if draft.site else None


def _entry(draft: MetalDraft, name: str) -> str:
    """The settings path of the entry that a machine is of."""
    return next((path for path, member, _ in machines(draft) if member.name == name), "inventory.hosts[0]")


@metal_rule(
    "G01 G02 G19",
    formula="disks of an object server = its drives in use; of a metadata server: even, at most its bays; parity <= 3",
    source=f'{_MANUAL}, "Choosing Storage for the MGS and MDTs"; zpoolconcepts(7), "Virtual Devices"',
)
def lustre_drives(draft: MetalDraft) -> Iterable[Observation]:
    """Each server of Lustre names the drives of its targets, as many as its capacity was counted with: these and no
    others are formatted. A metadata server with a partner may have none, and stands by."""
    for lustre, _ in _served(draft):
        rows = draft.catalogue.storage_servers
        oss, mds = rows.get(lustre.server), rows.get(lustre.mds_server)
        if oss is None or mds is None:
            continue
        servers = lustre_servers(lustre, oss)
        if servers.redundancy.data > 1 and servers.redundancy.parity > MOST_PARITY:
            yield Observation(
                path="storage.lustre.parity",
                sentence=f"{servers.redundancy} asks for more parity drives than the {MOST_PARITY} that ZFS supports",
                remedy=f"take {servers.redundancy.data}+{MOST_PARITY}, or 8+2",
                inputs={"parity": str(servers.redundancy.parity), "most": str(MOST_PARITY)},
            )
        for path, hosts in _servers(draft):
            there = len(hosts.disks)
            if hosts.storage == "mds":
                wrong = there % 2 != 0 or there > mds.drives or (there == 0 and hosts.partner is None)
                wanted = f"it mirrors an even number of the {mds.drives} of a {mds.name} by twos"
            else:
                wrong, wanted = there != servers.drives, f"{servers.drives} of a {oss.name} are planned for its targets"
            if wrong:
                yield Observation(
                    path=f"{path}.disks",
                    sentence=f"{there} disks are named for {hosts.name}, and {wanted}",
                    remedy="name each by /dev/disk/by-path, or under inventory.sharedFiles what somebody else serves",
                    subject=hosts.name,
                    inputs={"disks": str(there)},
                )


@metal_rule(
    "G02 ST06",
    formula="targets of a kind have numbers of their own, said for each machine with disks; one metadata target is 0",
    source="mkfs.lustre(8), --index: unique within the file system, and not to be used again",
)
def lustre_targets(draft: MetalDraft) -> Iterable[Observation]:
    """Each machine says the number of its first target, so that none moves when a machine comes or goes, and no two
    targets have the same."""
    for _, lustre in _served(draft):
        taken: dict[tuple[str, int], str] = {}
        targets = [target for server in lustre.servers for target in server.targets]
        after = {kind: 1 + max((t.index for t in targets if t.kind == kind), default=-1) for kind in ("mdt", "ost")}
        for path, hosts in _servers(draft):
            if hosts.disks and not hosts.targets:
                free = after["mdt" if hosts.storage == "mds" else "ost"]
                yield Observation(
                    path=f"{path}.targets",
                    sentence=f"is missing, and {hosts.name} has drives: numbers counted from the order of this "
                    "list would change when a machine is inserted",
                    remedy=f"write the number of each machine's first target, from {free} on, and never change it",
                    subject=hosts.name,
                    inputs={"free": str(free)},
                )
        for server in lustre.servers:
            for target in server.targets:
                other = taken.setdefault((target.kind, target.index), server.name)
                if other != server.name:
                    yield Observation(
                        path=f"{_entry(draft, server.name)}.targets",
                        sentence=f"{other} and {server.name} both have {target.kind.upper()} {target.index}",
                        remedy=f"give the newer machine numbers from {after[target.kind]} on; a target keeps its own",
                        subject=server.name,
                        inputs={"index": str(target.index), "machines": f"{other}, {server.name}"},
                    )
        if not lustre.mgs and ("mdt", 0) not in taken and any(hosts.targets for _, hosts in _servers(draft)):
            yield Observation(
                path="inventory.hosts",
                sentence="no metadata server has target 0, and the root of the file system is there",
                remedy="write 0 under targets of the first metadata server",
                inputs={"metadata targets": str(after["mdt"])},
            )


@metal_rule(
    "G01 G18",
    formula="partners name each other, serve the same, and have disks of their own, each named by-id",
    source=f'{_MANUAL}, "Failover Capabilities" and "Configuring Failover in a Lustre File System"',
)
def lustre_partners(draft: MetalDraft) -> Iterable[Observation]:
    """Two machines that stand in for each other reach the same drives by the same names. A machine has one partner, so
    that of an odd number one has none."""
    for _, lustre in _served(draft):
        owners: Mapping[str, list[str]] = defaultdict(list)
        for server in lustre.servers:
            host = _host(draft, server.name)
            for disk in host.disks if host and server.partner else ():
                owners[disk].append(server.name)
        for server in lustre.servers:
            for key, said, remedy in _strange(draft, lustre, server, owners) if server.partner else ():
                yield Observation(
                    path=f"{_entry(draft, server.name)}.{key}",
                    sentence=said,
                    remedy=remedy,
                    subject=server.name,
                    inputs={"partner": str(server.partner)},
                )


def _strange(
    draft: MetalDraft, lustre: LustrePlan, server: LustreServer, owners: Mapping[str, list[str]]
) -> Iterator[tuple[str, str, str]]:
    """What is wrong with a pair: the key, a sentence, what to do."""
    other, host = lustre.of(server.partner or ""), _host(draft, server.name)
    if other is None or other.kind != server.kind or other.name == server.name:
        kind = "metadata" if server.kind == "mdt" else "object"
        yield "partner", f"{server.partner} is no other {kind} server", "name the machine at the same enclosure"
        return
    if other.partner != server.name:
        whom = f"{other.partner} is that one's" if other.partner else "it names none"
        yield "partner", f"{server.name} names {other.name}, and {whom}", "let two machines name each other"
    by_path = [disk for disk in host.disks if not disk.startswith("/dev/disk/by-id/")] if host else []
    if by_path:
        said = f"{by_path[0]} is a name that {other.name} does not have for the drive: a path is one machine's"
        yield "disks", said, "name drives of pairs by /dev/disk/by-id (wwn-…, or dm-uuid-mpath-… behind multipath)"
    for disk in host.disks if host else ():
        if len(owners[disk]) > 1 and owners[disk][0] != server.name:
            said = f"{disk} is a disk of {owners[disk][0]}'s targets already"
            yield "disks", said, "name a drive once, on the machine whose targets it holds as a rule"


@metal_rule(
    "KJ19 G02 G05",
    formula="with o2ib: storageAddresses of servers = their storage ports, of GPU nodes >= 1; each one machine's, and "
    "outside managementCidr",
    source=f'{_MANUAL}, "Configuring Lustre Networking (LNet)": o2ib takes interfaces with IP over InfiniBand',
)
def lustre_lnet(draft: MetalDraft) -> Iterable[Observation]:
    """Over InfiniBand servers and GPU nodes have addresses on the storage network, one for each port: LNet finds its
    interfaces by them, and would otherwise go over the management network."""
    for lustre, plan in _served(draft):
        row = draft.catalogue.storage_servers.get(lustre.server)
        roles = {"oss": row, "mds": draft.catalogue.storage_servers.get(lustre.mds_server)}
        for path, hosts in ranges(draft) if plan.network == "o2ib" else ():
            server, pool = roles.get(hosts.storage or ""), draft.pools.get(hosts.pool or "")
            cards = lustre.nics_per_server if hosts.storage == "oss" else None
            ports = sum(group.ports for group in in_use(server.nics, NicRole.STORAGE, cards)) if server else 0
            there = len(hosts.storage_addresses)
            missing = (server is not None and there != ports) or bool(pool and pool.gpus_per_node and not there)
            if missing:
                wanted = f"{ports} ports of a {server.name} carry Lustre" if server else "its Lustre goes over o2ib"
                yield Observation(
                    path=f"{path}.storageAddresses",
                    sentence=f"{hosts.name} has {there} addresses on the storage network, and {wanted}",
                    remedy="write a pattern for each port, such as 10.22.0.[31-34], or correct nicsPerServer",
                    subject=hosts.name,
                    inputs={"addresses": str(there), "network": plan.network},
                )
        yield from _addresses(draft, plan.network)


def _addresses(draft: MetalDraft, network: str) -> Iterator[Observation]:
    """Addresses that are of two machines, or of the network that machines are managed by."""
    management, owner = IPv4Network(draft.settings.platform.management_cidr), dict[str, str]()
    for host in draft.site.hosts if draft.site else ():
        for address in host.storage_addresses:
            other = owner.setdefault(address, host.name)
            said = f"{other} and {host.name} both have {address}" if other != host.name else ""
            if network == "o2ib" and IPv4Address(address) in management:
                said = f"{address} is in platform.managementCidr {management}, where no InfiniBand is"
            if said:
                yield Observation(
                    path=f"{_entry(draft, host.name)}.storageAddresses",
                    sentence=said,
                    remedy="give each port an address of the storage network",
                    subject=host.name,
                    inputs={"address": address},
                )


@metal_rule(
    "G02", formula="with sharedFiles no machine has targets", source="the platform's contract: one shared file system"
)
def lustre_two_served(draft: MetalDraft) -> Iterable[Observation]:
    """Where nodes mount what somebody else serves, no machine of the inventory is made a server beside it."""
    inventory = draft.settings.inventory
    for path, hosts in _servers(draft):
        if inventory and inventory.shared_files is not None and hosts.targets:
            yield Observation(
                path=f"{path}.targets",
                sentence=f"{hosts.name} would serve targets, and nodes mount {inventory.shared_files.source}",
                remedy="remove inventory.sharedFiles to have them served, or targets",
                subject=hosts.name,
                inputs={"sharedFiles": inventory.shared_files.kind},
            )
