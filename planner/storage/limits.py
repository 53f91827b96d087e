"""Rates that servers and clients of a shared file system can reach, in GB/s one way."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from catalogue.network_types import Link, NicGroup, NicRole, of_role
from catalogue.units import gbit_per_s, gbyte_per_s


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What each part would allow, for all clients together. The smallest one is what they get."""

    servers_network: float
    servers_drives: float
    clients_network: float

    @property
    def gb_per_s(self) -> float:
        """What clients can have together."""
        return min(self.servers_network, self.servers_drives, self.clients_network)

    @property
    def bound_by(self) -> str:
        """The part that decides, for a sentence."""
        parts = {
            "the servers' network": self.servers_network,
            "the servers' drives": self.servers_drives,
            "the clients' network": self.clients_network,
        }
        return min(parts, key=lambda name: parts[name])


def in_use(groups: Iterable[NicGroup], role: NicRole, cards: int | None = None) -> tuple[NicGroup, ...]:
    """A machine's cards of that role: all, or so many `cards` of its first such group."""
    found = of_role(groups, role)
    return found if cards is None else tuple(replace(group, count=cards, hcas=()) for group in found[:1])


def network_gb_per_s(groups: Iterable[NicGroup], role: NicRole, cards: int | None = None) -> float:
    """GB/s of all ports of the cards that are `in_use`."""
    return sum(gbyte_per_s(group.ports * group.nic.gbit_per_s) for group in in_use(groups, role, cards))


def storage_link(groups: Iterable[NicGroup]) -> Link | None:
    """What a storage server's storage cards speak; None if it has none."""
    return next((group.nic.link for group in of_role(groups, NicRole.STORAGE)), None)


def client_gb_per_s(groups: Sequence[NicGroup], link: Link, *, compute: bool) -> float:
    """GB/s between one client and servers that speak `link`; 0 where no card of the client does.

    Storage goes over the storage cards, or the management cards of a machine without any. With `compute` it goes over
    the compute fabric.
    """
    roles = {group.role for group in groups}
    role = NicRole.STORAGE if NicRole.STORAGE in roles else NicRole.MANAGEMENT
    suited = [group for group in groups if group.nic.link is link]
    return network_gb_per_s(suited, NicRole.COMPUTE if compute else role)


def ports_needed(gb_per_s: float, port_gbit_per_s: float) -> int:
    """Ports of that rate (Gb/s) that carry `gb_per_s` (GB/s)."""
    return ceil(gbit_per_s(gb_per_s) / port_gbit_per_s - 1e-9)
