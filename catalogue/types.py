"""Row types of the catalogue: plain, frozen, without I/O. Components may import these, never the tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import NamedTuple


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


class Interface(NamedTuple):
    """One network interface of a launch template."""

    network_card_index: int
    device_index: int
    interface_type: InterfaceType


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """US dollars per hour, approximate: what was seen, the range it was seen in, when and where."""

    usd_per_hour: float
    low: float
    high: float
    as_of: date
    source: str

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.usd_per_hour <= self.high:
            raise ValueError(f"price {self.usd_per_hour} lies outside its own range {self.low}..{self.high}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Gpu:
    """A GPU model. `product` is the value of the node label `nvidia.com/gpu.product` that GFD sets."""

    name: str
    product: str
    memory_gb: int
    max_sm_clock_mhz: int | None
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkCard:
    """A network card of an instance type: whether it carries EFA, and how many interfaces fit on it."""

    index: int
    efa: bool
    max_interfaces: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Nvme:
    """Local instance store: `count` disks of `size_gb` (decimal GB) each."""

    count: int
    size_gb: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Instance:
    """An EC2 instance type. `efa_max` is EC2's own limit, which is not the number of cards (p6-b300: 17 and 16)."""

    type: str
    vcpu: int
    memory_gib: int
    cards: tuple[NetworkCard, ...]
    addresses_per_interface: int
    usage_classes: frozenset[UsageClass]
    architecture: Architecture = Architecture.X86_64
    gpu: Gpu | None = None
    gpu_count: int = 0
    efa_max: int = 0
    nvme: Nvme | None = None
    on_demand: Price | None = None
    spot: Price | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """Architecture of a language model. Parameters in units, context in tokens, dtype of the published weights."""

    name: str
    parameters: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    context: int
    bytes_per_parameter: int
    source: str

    @property
    def weights_bytes(self) -> int:
        """Size of the published weights in bytes."""
        return self.parameters * self.bytes_per_parameter


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalogue:
    """The tables the planner reads. A site passes its own rows by building another one."""

    instances: Mapping[str, Instance]
    models: Mapping[str, Model]
    services: Mapping[str, Price]
    digests: Mapping[str, str]
