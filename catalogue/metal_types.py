"""Row types of what stands in racks: servers, network cards, switches, optics, storage servers. Plain and frozen."""

import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from catalogue.types import Architecture, Gpu, Nvme

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


class Cooling(StrEnum):
    """How a server gives its heat away: to air, to liquid at the chips (DLC), or to a bath."""

    AIR = "air"
    DLC = "dlc"
    IMMERSION = "immersion"


class Media(StrEnum):
    """What the drives of a storage server are."""

    NVME = "nvme"
    SAS_SSD = "sas-ssd"
    HDD = "hdd"


@dataclass(frozen=True, kw_only=True)
class PurchasePrice:
    """US dollars to buy one, approximate: the range it was seen in, when and where."""

    usd: float
    low: float
    high: float
    as_of: date
    source: str

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.usd <= self.high:
            raise ValueError(f"price {self.usd} lies outside its own range {self.low}..{self.high}")


_MOST_CARD_PORTS = 8
_MOST_SWITCH_PORTS = 2048
_MOST_SUPPLIES = 64


def _some(what: str, **values: float) -> None:
    """Raises ValueError where a value is not above 0."""
    for name, value in values.items():
        if value <= 0:
            raise ValueError(f"{what}: {name.replace('_', ' ')} is {value:g}, and must be above 0")


def _agree(generation: Generation, link: Link, gbit_per_s: int) -> None:
    """Raises ValueError for a row whose port is no port of its generation."""
    if (generation.link, generation.gbit_per_s) != (link, gbit_per_s):
        right = f"{generation.link} at {generation.gbit_per_s} Gb/s"
        raise ValueError(f"a port of {generation} is {right}, not {link} at {gbit_per_s} Gb/s")


@dataclass(frozen=True, kw_only=True)
class Nic:
    """A network card. Rate of one port in Gb/s, one way; `pci_device_id` without the vendor (15b3: NVIDIA)."""

    name: str
    link: Link
    generation: Generation
    ports: int
    gbit_per_s: int
    pci_device_id: str
    source: str
    price: PurchasePrice | None = None

    def __post_init__(self) -> None:
        _agree(self.generation, self.link, self.gbit_per_s)
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


@dataclass(frozen=True, kw_only=True)
class Cpu:
    """The processors of a server; `cores` counts physical ones of a socket."""

    model: str
    sockets: int
    cores: int
    threads_per_core: int = 2

    def __post_init__(self) -> None:
        _some("processors", sockets=self.sockets, cores=self.cores, threads_per_core=self.threads_per_core)

    @property
    def threads(self) -> int:
        """Logical processors that the operating system sees."""
        return self.sockets * self.cores * self.threads_per_core


@dataclass(frozen=True, kw_only=True)
class PowerSupplies:
    """`count` units of `watts` each, of which `redundant` may fail."""

    count: int
    watts: int
    redundant: int

    def __post_init__(self) -> None:
        if not (0 <= self.redundant < self.count <= _MOST_SUPPLIES and self.watts > 0):
            raise ValueError(
                f"{self.count} supplies of {self.watts} W with {self.redundant} redundant leave none to feed anything "
                f"(1 to {_MOST_SUPPLIES}, fewer redundant ones)"
            )


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server model, a set of parts that are sold together. `max_w` is the whole box at full load."""

    name: str
    cpu: Cpu
    memory_gib: int
    gpu: Gpu | None
    gpu_count: int
    nvme: Nvme | None
    nics: tuple[NicGroup, ...]
    power_supplies: PowerSupplies
    max_w: int
    rack_units: int
    cooling: Cooling
    bmc: bool
    source: str
    architecture: Architecture = Architecture.X86_64
    price: PurchasePrice | None = None

    def __post_init__(self) -> None:
        _some(self.name, memory_gib=self.memory_gib, max_w=self.max_w, rack_units=self.rack_units)
        if (self.gpu is None) is not (self.gpu_count == 0):
            raise ValueError(f"{self.name} has {self.gpu_count} GPUs of {self.gpu.name if self.gpu else 'no model'}")

    @property
    def rails(self) -> int:
        """Compute ports, each a rail of the fabric."""
        return sum(group.ports for group in self.nics if group.role is NicRole.COMPUTE)


@dataclass(frozen=True, kw_only=True)
class PortSplit:
    """Each port of a switch as `ways` ports of a slower generation."""

    generation: Generation
    ways: int


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A switch: `ports` of `gbit_per_s` each (one way), in cages of `ports_per_cage`. `managed`: runs its own SM."""

    name: str
    link: Link
    generation: Generation
    ports: int
    gbit_per_s: int
    ports_per_cage: int
    max_w: int
    rack_units: int
    managed: bool
    sharp: bool
    source: str
    splits: tuple[PortSplit, ...] = ()
    price: PurchasePrice | None = None

    def __post_init__(self) -> None:
        _agree(self.generation, self.link, self.gbit_per_s)
        if not 2 <= self.ports <= _MOST_SWITCH_PORTS or not 1 <= self.ports_per_cage <= self.ports:
            raise ValueError(
                f"a switch has 2 to {_MOST_SWITCH_PORTS} ports, not {self.ports} in cages of {self.ports_per_cage}"
            )
        for split in self.splits:
            if split.generation.gbit_per_s * split.ways != self.gbit_per_s or split.generation.link is not self.link:
                raise ValueError(f"{split.ways} ports of {split.generation} are not one of {self.generation}")


@dataclass(frozen=True, kw_only=True)
class StorageServer:
    """A storage server: `drives` of `drive_tb` (decimal TB) behind `nics`. Rates are of one drive, GB/s one way."""

    name: str
    drives: int
    drive_tb: float
    drive_read_gb_per_s: float
    drive_write_gb_per_s: float
    memory_gib: int
    nics: tuple[NicGroup, ...]
    max_w: int
    rack_units: int
    source: str
    media: Media = Media.NVME
    price: PurchasePrice | None = None

    def __post_init__(self) -> None:
        _some(
            self.name,
            drives=self.drives,
            drive_tb=self.drive_tb,
            drive_read_gb_per_s=self.drive_read_gb_per_s,
            drive_write_gb_per_s=self.drive_write_gb_per_s,
            memory_gib=self.memory_gib,
            max_w=self.max_w,
            rack_units=self.rack_units,
        )
