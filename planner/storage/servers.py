"""Lustre and Ceph on servers of your own: rate, capacity, targets and hosts.

Sources: Lustre operations manual, "Determining Hardware Configuration Requirements"; Ceph documentation, "Pools",
"Erasure code", "Monitor config reference" (nearfull ratio).
"""

from dataclasses import dataclass

from catalogue.metal_types import StorageServer
from catalogue.network_types import Link, NicRole
from planner.storage.limits import Limits, network_gb_per_s
from planner.storage.types import Redundancy, usable


@dataclass(frozen=True, kw_only=True)
class LustreServers:
    """The OSSs: `count` of a server row, each with `drives` in groups of `redundancy` (one group is one OST)."""

    server: StorageServer
    count: int
    drives: int
    redundancy: Redundancy
    cards: int | None = None

    @property
    def osts_per_server(self) -> int:
        """Whole groups of drives in a server; drives that fill no group are spares."""
        return self.drives // self.redundancy.width

    @property
    def osts(self) -> int:
        """Object storage targets of the file system, which is the largest useful stripe count."""
        return self.osts_per_server * self.count

    @property
    def raw_tb(self) -> float:
        """Decimal TB of all drives."""
        return self.server.drive_tb * self.drives * self.count

    @property
    def usable_tb(self) -> float:
        """Decimal TB left for data: whole groups without their parity."""
        grouped = self.osts * self.redundancy.width * self.server.drive_tb
        return usable(grouped, self.redundancy)


def lnet(link: Link, *, roce: bool = False) -> str:
    """The LNet network type of the ports that carry Lustre: verbs on InfiniBand and RoCE, sockets on Ethernet."""
    return "o2ib" if link is Link.INFINIBAND or roce else "tcp"


def lustre_limits(servers: LustreServers, *, clients_gb_per_s: float, writing: bool) -> Limits:
    """What the parts allow. Parity is written with the data, so drives take `amplification` times what clients send.

    `clients_gb_per_s` is what the storage ports of all clients carry.
    """
    row = servers.server
    grouped = servers.osts * servers.redundancy.width
    drives = grouped * (
        row.drive_write_gb_per_s / servers.redundancy.amplification if writing else row.drive_read_gb_per_s
    )
    return Limits(
        servers_network=servers.count * network_gb_per_s(row.nics, NicRole.STORAGE, servers.cards),
        servers_drives=drives,
        clients_network=clients_gb_per_s,
    )


MIN_HOSTS = 3
"""Monitors keep a quorum and metadata its three copies only over three hosts."""

NEARFULL = 0.85
"""Share of the raw capacity above which Ceph warns; a plan stays below it."""


@dataclass(frozen=True, kw_only=True)
class CephServers:
    """The OSD hosts: `count` of a server row, one OSD per drive, objects spread over hosts (failure domain host)."""

    server: StorageServer
    count: int
    redundancy: Redundancy

    @property
    def hosts_needed(self) -> int:
        """Hosts that the redundancy and the metadata pool need, each part on a host of its own."""
        return max(MIN_HOSTS, self.redundancy.width)

    @property
    def raw_tb(self) -> float:
        """Decimal TB of all drives."""
        return self.server.drive_tb * self.server.drives * self.count

    @property
    def usable_tb(self) -> float:
        """Decimal TB that data may take before Ceph warns of full OSDs."""
        return usable(self.raw_tb, self.redundancy) * NEARFULL


def ceph_limits(servers: CephServers, *, clients_gb_per_s: float, writing: bool) -> Limits:
    """What the parts allow. A written byte enters the primary's host, which sends the other parts to other hosts.

    So hosts receive 1 + (width - 1) / data bytes per byte written: three with three replicas, 2.25 with 4+2.
    """
    row, scheme = servers.server, servers.redundancy
    network = servers.count * network_gb_per_s(row.nics, NicRole.STORAGE)
    drives = servers.count * row.drives
    if writing:
        received = 1 + (scheme.width - 1) / scheme.data
        return Limits(
            servers_network=network / received,
            servers_drives=drives * row.drive_write_gb_per_s / scheme.amplification,
            clients_network=clients_gb_per_s,
        )
    return Limits(
        servers_network=network,
        servers_drives=drives * row.drive_read_gb_per_s,
        clients_network=clients_gb_per_s,
    )
