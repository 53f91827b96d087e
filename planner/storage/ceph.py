"""Ceph on servers of your own: hosts, rate and capacity. Source: Ceph documentation, "Pools", "Erasure code",
"Monitor config reference" (nearfull ratio)."""

from dataclasses import dataclass

from catalogue.metal_types import StorageServer
from catalogue.network_types import NicRole
from planner.storage.limits import Limits, network_gb_per_s
from planner.storage.redundancy import Redundancy, usable

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
