"""Row types of the catalogue: plain, frozen, without I/O. Components may import these, never the tables."""

import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from catalogue.echo import echo


class InterfaceType(StrEnum):
    """`InterfaceType` of an EC2 network interface. `efa-only` has no IP address and cannot be the primary one."""

    ENA = "interface"
    EFA = "efa"
    EFA_ONLY = "efa-only"


class UsageClass(StrEnum):
    """How instances of a type can be bought (`SupportedUsageClasses` of DescribeInstanceTypes)."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    CAPACITY_BLOCK = "capacity-block"


class Architecture(StrEnum):
    X86_64 = "x86_64"
    ARM64 = "arm64"


class Accelerator(StrEnum):
    """What a type computes with. Only a GPU runs CUDA and NCCL."""

    NONE = "none"
    GPU = "gpu"
    NEURON = "neuron"


class Per(StrEnum):
    """What a charge that depends on use is counted in. GB are decimal."""

    GB = "GB"
    GB_MONTH = "GB-month"
    THOUSAND = "thousand"


class Interface(NamedTuple):
    """One network interface of a launch template."""

    network_card_index: int
    device_index: int
    interface_type: InterfaceType


def _within(what: str, usd: float, low: float, high: float) -> None:
    """Raises ValueError for dollars outside the range they were seen in."""
    if usd <= 0 or low <= 0:
        raise ValueError(f"a {what} is above 0, and this is {usd:g} USD, seen from {low:g} to {high:g}")
    if not low <= usd <= high:
        raise ValueError(f"the {what} of {usd:g} USD lies outside the range it was seen in, {low:g} to {high:g}")


@dataclass(frozen=True, kw_only=True)
class Price:
    """US dollars per hour, approximate: what was seen, the range it was seen in, when and where."""

    usd_per_hour: float
    low: float
    high: float
    as_of: date
    source: str

    def __post_init__(self) -> None:
        _within("price", self.usd_per_hour, self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class Rate:
    """US dollars per unit of use, approximate: what was seen, the range it was seen in, when and where."""

    usd: float
    per: Per
    low: float
    high: float
    as_of: date
    source: str

    def __post_init__(self) -> None:
        _within("rate", self.usd, self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class PurchasePrice:
    """US dollars to buy one, approximate: the range it was seen in, when and where."""

    usd: float
    low: float
    high: float
    as_of: date
    source: str

    def __post_init__(self) -> None:
        _within("price", self.usd, self.low, self.high)

    @classmethod
    def between(cls, low: float, high: float, as_of: date, source: str) -> "PurchasePrice":
        """The price of which only a range is known: its middle."""
        return cls(usd=(low + high) / 2, low=low, high=high, as_of=as_of, source=source)


@dataclass(frozen=True, kw_only=True)
class MigProfile:
    """A way to cut a GPU into `count` equal slices. `name` is NVIDIA's, such as 1g.10gb; `memory_gb` is a slice's."""

    name: str
    count: int

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[1-9]\d*g\.[1-9]\d*gb([+-][a-z.]+)?", self.name) or self.count < 1:
            raise ValueError(f"{self.count} x {echo(self.name)} is no MIG profile; write it as 7 x 1g.10gb")

    @property
    def memory_gb(self) -> int:
        """Memory of one slice, as the profile's name states it."""
        return int(self.name.partition(".")[2].partition("gb")[0])


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU model. `product` is the value of the node label `nvidia.com/gpu.product` that GFD sets.

    Memory as its maker names it and its bandwidth in TB/s; `driver_mib` is what the driver reports of it in MiB. Peak
    rates in dense TFLOP/s with 32-bit accumulation, None where the tensor cores lack the type; board power in W.
    NVLink counts what goes one way, over all `nvlink_links`;
    `nvlink_gpus` are joined by it (1: none, 2: a bridge, 8: the baseboard's switches).
    """

    name: str
    product: str
    memory_gb: int
    memory_tb_per_s: float
    compute_capability: float
    fp16_tflops: float
    bf16_tflops: float | None
    fp8_tflops: float | None = None
    tdp_w: int
    nvlink_one_way_gb_per_s: float = 0
    nvlink_links: int = 0
    nvlink_gpus: int = 1
    pcie_generation: int = 5
    max_sm_clock_mhz: int | None = None
    mig: tuple[MigProfile, ...] = ()
    driver_mib: int | None = None
    source: str

    def __post_init__(self) -> None:
        if min(self.memory_gb, self.memory_tb_per_s, self.fp16_tflops, self.tdp_w, self.nvlink_gpus) <= 0:
            raise ValueError(f"GPU {self.name} has a memory, rate, power or NVLink group of 0")
        if not 3 <= self.pcie_generation <= 8:
            raise ValueError(f"GPU {self.name} has PCIe {self.pcie_generation}; the generations are 3 to 8")

    @property
    def driver_gb(self) -> float:
        """Decimal GB that the driver reports: a maker's GB of HBM is a GiB, less 1 % that firmware and ECC keep.

        Memory without HBM (below 1 TB/s) stores ECC in itself and loses a sixteenth. Source: nvidia-smi in public logs.
        """
        if self.driver_mib is not None:
            return self.driver_mib * 2**20 / 1e9
        kept = 0.99 if self.memory_tb_per_s >= 1 else 15 / 16
        return self.memory_gb * kept * 2**30 / 1e9

    @property
    def pcie_one_way_gb_per_s(self) -> int:
        """What 16 PCIe lanes carry one way, before encoding: 16 GB/s in generation 3, twice as much in each further."""
        return 16 << (self.pcie_generation - 3)


@dataclass(frozen=True, kw_only=True)
class NetworkCard:
    """A network card of an instance type: whether an EFA interface belongs on it, and how many interfaces fit."""

    index: int
    efa: bool
    max_interfaces: int


@dataclass(frozen=True, kw_only=True)
class Nvme:
    """Local instance store: `count` disks of `size_gb` (decimal GB) each."""

    count: int
    size_gb: int


@dataclass(frozen=True, kw_only=True)
class Instance:
    """An EC2 instance type. `efa_max` is EC2's own limit, which is not the number of cards (p6-b300: 17 and 16).

    `network_gbit_per_s` is what all cards carry together, one way; types of "up to" so much have it for bursts only.
    """

    type: str
    vcpu: int
    memory_gib: int
    cards: tuple[NetworkCard, ...]
    addresses_per_interface: int
    network_gbit_per_s: float
    usage_classes: frozenset[UsageClass]
    source: str
    architecture: Architecture = Architecture.X86_64
    gpu: Gpu | None = None
    gpu_count: int = 0
    neuron_count: int = 0
    efa_max: int = 0
    nvme: Nvme | None = None
    on_demand: Price | None = None
    spot: Price | None = None
    capacity_block: Price | None = None

    def __post_init__(self) -> None:
        if (self.gpu is None) is not (self.gpu_count == 0):
            raise ValueError(f"{self.type} has {self.gpu_count} GPUs of {self.gpu.name if self.gpu else 'no model'}")
        if not self.cards or self.cards[0].index != 0:
            raise ValueError(f"{self.type} has no network card 0, which carries the node's addresses")
        if self.addresses_per_interface < 2 or self.network_gbit_per_s <= 0 or self.vcpu < 1:
            raise ValueError(f"{self.type} has no processor, no network, or no address for a pod")

    @property
    def accelerator(self) -> Accelerator:
        """The kind of its accelerators. Neuron devices are known so that they can be refused where GPUs belong."""
        if self.gpu is not None:
            return Accelerator.GPU
        return Accelerator.NEURON if self.neuron_count else Accelerator.NONE

    @property
    def family(self) -> str:
        """The family of the type: p5 of p5.48xlarge."""
        return self.type.partition(".")[0]

    @property
    def ultraserver(self) -> bool:
        """Whether it is a part of an UltraServer, whose instances NVLink joins."""
        return self.family == "p6e-gb200"

    def price(self, usage: UsageClass) -> Price | None:
        """Price per hour of the type when it is bought in this way, None where none is recorded."""
        match usage:
            case UsageClass.ON_DEMAND:
                return self.on_demand
            case UsageClass.SPOT:
                return self.spot
            case UsageClass.CAPACITY_BLOCK:
                return self.capacity_block
