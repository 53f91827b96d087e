"""Row types of what stands in racks: servers, network cards, switches, optics, storage servers. Plain and frozen."""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from catalogue.types import Architecture, Gpu, Nvme


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


@dataclass(frozen=True, kw_only=True, slots=True)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Nic:
    """A network card. Rate of one port in Gb/s, one way."""

    name: str
    link: Link
    generation: Generation
    ports: int
    gbit_per_s: int
    pci_device_id: str
    source: str
    price: PurchasePrice | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NicGroup:
    """Equal cards of a server. `hcas` are the RDMA device names in rail order, empty where unknown."""

    nic: Nic
    count: int
    role: NicRole
    hcas: tuple[str, ...] = ()

    @property
    def ports(self) -> int:
        """Ports of all cards of the group."""
        return self.nic.ports * self.count


@dataclass(frozen=True, kw_only=True, slots=True)
class Cpu:
    """The processors of a server; `cores` counts physical ones of a socket."""

    model: str
    sockets: int
    cores: int
    threads_per_core: int = 2

    @property
    def threads(self) -> int:
        """Logical processors that the operating system sees."""
        return self.sockets * self.cores * self.threads_per_core


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerSupplies:
    """`count` units of `watts` each, of which `redundant` may fail."""

    count: int
    watts: int
    redundant: int


@dataclass(frozen=True, kw_only=True, slots=True)
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

    @property
    def rails(self) -> int:
        """Compute ports, each a rail of the fabric."""
        return sum(group.ports for group in self.nics if group.role is NicRole.COMPUTE)


@dataclass(frozen=True, kw_only=True, slots=True)
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
    price: PurchasePrice | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageServer:
    """A storage server: `drives` of `drive_tb` (decimal TB) behind `nics`. Drive rates in GB/s, one way."""

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
    price: PurchasePrice | None = None
