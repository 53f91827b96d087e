"""Lustre on servers of your own: rate, capacity and OSTs. Source: Lustre operations manual, "Determining Hardware
Configuration Requirements"."""

from dataclasses import dataclass

from catalogue.metal_types import StorageServer
from catalogue.network_types import Link, NicRole
from planner.storage.limits import Limits, network_gb_per_s
from planner.storage.redundancy import Redundancy, usable


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
