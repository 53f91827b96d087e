"""Row types of the machines that stand in racks: servers and storage servers. Plain and frozen."""

from dataclasses import dataclass
from enum import StrEnum

from catalogue.network_types import NicGroup, NicRole, of_role
from catalogue.types import Architecture, Gpu, Nvme, PurchasePrice


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


_MOST_SUPPLIES = 64


def _some(what: str, **values: float) -> None:
    """Raises ValueError where a value is not above 0."""
    for name, value in values.items():
        if value <= 0:
            raise ValueError(f"{what}: {name.replace('_', ' ')} is {value:g}, and must be above 0")


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


_BRIDGED, _ON_BOARDS = 2, (1, 4, 8)
"""Cards are joined by bridges, two by two, in any number; other GPUs come on baseboards (NVIDIA, HGX and Grace Hopper
data sheets: one on a superchip, four or eight on a board)."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server model, a set of parts that are sold together. `max_w` is the whole box at full load, `inlet_c` the
    warmest air in degrees Celsius that it may be given; None where its maker's was not looked up.
    """

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
    inlet_c: int | None = None

    def __post_init__(self) -> None:
        _some(self.name, memory_gib=self.memory_gib, max_w=self.max_w, rack_units=self.rack_units)
        if (self.gpu is None) is not (self.gpu_count == 0):
            raise ValueError(f"{self.name} has {self.gpu_count} GPUs of {self.gpu.name if self.gpu else 'no model'}")
        if self.gpu and self.gpu.nvlink_gpus > _BRIDGED and self.gpu_count not in _ON_BOARDS:
            raise ValueError(f"{self.name} has {self.gpu_count} GPUs of {self.gpu.name}; boards of it have 1, 4 or 8")

    @property
    def rails(self) -> int:
        """Compute ports, each a rail of the fabric."""
        return sum(group.ports for group in of_role(self.nics, NicRole.COMPUTE))


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
