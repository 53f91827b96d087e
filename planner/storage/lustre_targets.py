"""Lustre on the machines of an inventory: which drives make which target, under which number, at which addresses.

Source: Lustre operations manual, "Configuring a Lustre File System" (a target's index is its own for good), "Lustre
Networking (LNet)" (NIDs), "Configuring Failover in a Lustre File System" (service nodes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from planner.storage.types import Redundancy, parse

if TYPE_CHECKING:
    from planner.site import HostPlan
    from settings.metal_storage import MetalLustre

MDT_MIRROR = 2
"""Drives of a metadata target are mirrored by twos (Lustre manual, "Choosing Storage for the MGS and MDTs")."""
MOST_PARITY = 3
"""Of RAID-Z (zpoolconcepts(7))."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A target: its number among those of its kind, and its groups of drives, each kept as `layout` says."""

    kind: Literal["mdt", "ost"]
    index: int
    layout: str
    groups: tuple[tuple[str, ...], ...]

    @property
    def vdevs(self) -> tuple[str, ...]:
        """Its drives as `zpool create` takes them."""
        words = [[self.layout] if self.layout else [] for _ in self.groups]
        return tuple(word for before, group in zip(words, self.groups, strict=True) for word in (*before, *group))


@dataclass(frozen=True, kw_only=True)
class LustreServer:
    """A server: its NIDs joined by commas, its targets, and the partner that can take them over."""

    name: str
    kind: Literal["mdt", "ost"]
    nids: str
    targets: tuple[Target, ...]
    partner: str | None


@dataclass(frozen=True, kw_only=True)
class LustrePlan:
    """The file system that the inventory's machines serve. `network` is what its ports speak: o2ib or tcp.

    The management server stands in the pool of the first metadata target, and moves with it.
    """

    fsname: str
    release: str
    network: str
    servers: tuple[LustreServer, ...]

    @property
    def mgs(self) -> tuple[str, ...]:
        """NIDs of the machine with the first metadata target, then of its partner; nothing where no machine has it."""
        there = ((each, target) for each in self.servers for target in each.targets)
        first = next((each for each, target in there if (target.kind, target.index) == ("mdt", 0)), None)
        return self.service(first) if first else ()

    @property
    def source(self) -> str:
        """What clients mount; empty where no machine has the first metadata target."""
        return f"{':'.join(self.mgs)}:/{self.fsname}" if self.mgs else ""

    def service(self, server: LustreServer) -> tuple[str, ...]:
        """NIDs of the machines that may run a server's targets, its own first."""
        partner = self.of(server.partner) if server.partner else None
        return (server.nids, partner.nids) if partner else (server.nids,)

    def of(self, name: str) -> LustreServer | None:
        """The server of that name."""
        return next((each for each in self.servers if each.name == name), None)


def plan_lustre(lustre: MetalLustre, hosts: Sequence[HostPlan], network: str) -> LustrePlan:
    """Targets of the machines that serve Lustre, as far as they name drives and numbers; rules say what is missing."""
    scheme = parse(lustre.parity)
    servers = [
        LustreServer(
            name=host.name,
            kind="mdt" if host.storage == "mds" else "ost",
            nids=",".join(f"{address}@{network}" for network, address in networks(host, network)),
            targets=_targets(host, scheme),
            partner=host.partner,
        )
        for host in hosts
        if host.storage in ("mds", "oss")
    ]
    return LustrePlan(fsname=lustre.fsname, release=lustre.release, network=network, servers=tuple(servers))


def networks(host: HostPlan, network: str) -> tuple[tuple[str, str], ...]:
    """Networks of LNet on a machine, each with an address. Servers of o2ib answer over TCP too, to nodes without it.

    A node without an address in the storage network reaches the file system by the one that it is managed by.
    """
    own = tuple((network, address) for address in host.storage_addresses)
    if not own or (network != "tcp" and host.storage in ("mds", "oss")):
        return (*own, ("tcp", host.address))
    return own


def _targets(host: HostPlan, scheme: Redundancy) -> tuple[Target, ...]:
    if host.first_target is None:
        return ()
    if host.storage == "mds":
        mirrors = tuple(_groups(host.disks, MDT_MIRROR))
        return (Target(kind="mdt", index=host.first_target, layout="mirror", groups=mirrors),) if mirrors else ()
    whole = [group for group in _groups(host.disks, scheme.width) if len(group) == scheme.width]
    return tuple(
        Target(kind="ost", index=index, layout=layout(scheme), groups=(group,))
        for index, group in enumerate(whole, host.first_target)
    )


def mirrors(disks: tuple[str, ...]) -> tuple[str, ...]:
    """Disks mirrored by twos, as `zpool create` takes them."""
    return tuple(word for group in _groups(disks, MDT_MIRROR) for word in ("mirror", *group))


def _groups(disks: tuple[str, ...], width: int) -> list[tuple[str, ...]]:
    return [disks[start : start + width] for start in range(0, len(disks), width)]


def layout(scheme: Redundancy) -> str:
    """How ZFS keeps a group of drives of that parity."""
    if scheme.parity == 0:
        return ""
    return "mirror" if scheme.data == 1 else f"raidz{scheme.parity}"
