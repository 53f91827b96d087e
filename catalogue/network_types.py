"""Row types of the network: ports, the cards and switches that they sit in. Plain and frozen."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from catalogue.types import PurchasePrice

RDMA_DEVICE = re.compile(r"(?!mlx\d+$)[a-z][a-z0-9_]*\d")
"""A whole name of an RDMA device. A driver's name, such as mlx5, would stand for all of its devices."""


class Link(StrEnum):
    """What a port speaks."""

    INFINIBAND = "infiniband"
    ETHERNET = "ethernet"


class Generation(StrEnum):
    """Generation of a port, which decides its rate and its connector."""

    EDR = "edr"
    HDR = "hdr"
    NDR = "ndr"
    XDR = "xdr"
    ETHERNET_1G = "1gbe"
    ETHERNET_10G = "10gbe"
    ETHERNET_25G = "25gbe"
    ETHERNET_100G = "100gbe"
    ETHERNET_200G = "200gbe"
    ETHERNET_400G = "400gbe"
    ETHERNET_800G = "800gbe"

    @property
    def link(self) -> Link:
        """What ports of the generation speak."""
        return Link.ETHERNET if self.value.endswith("gbe") else Link.INFINIBAND

    @property
    def gbit_per_s(self) -> int:
        """Rate of a port, Gb/s one way. There is none of 300 Gb/s."""
        infiniband = {Generation.EDR: 100, Generation.HDR: 200, Generation.NDR: 400, Generation.XDR: 800}
        return infiniband.get(self) or int(self.value.removesuffix("gbe"))


class NicRole(StrEnum):
    """What a server's card is for. Only compute cards are rails of the fabric."""

    COMPUTE = "compute"
    STORAGE = "storage"
    MANAGEMENT = "management"


_MOST_CARD_PORTS = 8
_LEAST_SWITCH_PORTS, _MOST_SWITCH_PORTS = 4, 2048
"""Two lead on from a switch of the management network, so one of two has none left for a machine."""


class _Ported:
    """What follows for a card or a switch from the generation of its ports."""

    generation: Generation

    @property
    def link(self) -> Link:
        """What its ports speak."""
        return self.generation.link

    @property
    def gbit_per_s(self) -> int:
        """Rate of one port, Gb/s one way."""
        return self.generation.gbit_per_s


@dataclass(frozen=True, kw_only=True)
class Nic(_Ported):
    """A network card. `pci_device_id` without the vendor (15b3: NVIDIA). `rdma`: it has RDMA devices."""

    name: str
    generation: Generation
    ports: int
    pci_device_id: str
    source: str
    rdma: bool = True
    price: PurchasePrice | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.ports <= _MOST_CARD_PORTS:
            raise ValueError(f"a card has 1 to {_MOST_CARD_PORTS} ports, not {self.ports}")


@dataclass(frozen=True, kw_only=True)
class NicGroup:
    """Equal cards of a server. `hcas` are the RDMA device names in rail order, empty where unknown.

    `ports_per_cage` is 2 where the server leads two ports to one twin-port cage (DGX H100: 8 ports in 4 cages).
    """

    nic: Nic
    count: int
    role: NicRole
    hcas: tuple[str, ...] = ()
    ports_per_cage: int = 1

    def __post_init__(self) -> None:
        """Raises ValueError where `hcas` are not one whole device name for each port."""
        if self.ports_per_cage < 1:
            raise ValueError(f"a cage holds at least one port, not {self.ports_per_cage}")
        if self.hcas and not (len(set(self.hcas)) == self.ports and all(map(RDMA_DEVICE.fullmatch, self.hcas))):
            names = ", ".join(self.hcas)
            raise ValueError(f"hcas ({names}) must name each of {self.ports} ports' devices, such as mlx5_0")

    @property
    def ports(self) -> int:
        """Ports of all cards of the group."""
        return self.nic.ports * self.count


def of_role(groups: Iterable[NicGroup], role: NicRole) -> tuple[NicGroup, ...]:
    """The groups of cards that are for that."""
    return tuple(group for group in groups if group.role is role)


@dataclass(frozen=True, kw_only=True)
class PortSplit:
    """Each port of a switch as `ways` ports of a slower generation."""

    generation: Generation
    ways: int


@dataclass(frozen=True, kw_only=True)
class Switch(_Ported):
    """A switch: `ports` of a generation, in cages of `ports_per_cage`. `managed`: runs its own SM."""

    name: str
    generation: Generation
    ports: int
    ports_per_cage: int
    max_w: int
    rack_units: int
    managed: bool
    sharp: bool
    source: str
    splits: tuple[PortSplit, ...] = ()
    price: PurchasePrice | None = None

    def __post_init__(self) -> None:
        if not _LEAST_SWITCH_PORTS <= self.ports <= _MOST_SWITCH_PORTS or not 1 <= self.ports_per_cage <= self.ports:
            raise ValueError(
                f"a switch has {_LEAST_SWITCH_PORTS} to {_MOST_SWITCH_PORTS} ports, not {self.ports} in cages of "
                f"{self.ports_per_cage}"
            )
        for split in self.splits:
            if split.generation.gbit_per_s * split.ways != self.gbit_per_s or split.generation.link is not self.link:
                raise ValueError(f"{split.ways} ports of {split.generation} are not one of {self.generation}")
