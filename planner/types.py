"""What the planner returns: numbers only, frozen, free of pulumi. Units are in the field names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from catalogue.types import Instance, Interface
from planner.findings import Finding, Severity

SubnetRole = Literal["public", "control-plane", "system", "gpu"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Subnet:
    """A subnet. `needed` addresses is the worst case of what the plan puts there; AWS keeps 5 of each subnet."""

    name: str
    role: SubnetRole
    zone_id: str
    cidr: str
    usable: int
    needed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolPlan:
    """A node pool with what one node offers.

    `interfaces` is the launch template's list in order; `efa` counts the EFA ones of a node. `allocatable_*` is what
    the kubelet leaves to pods, daemons included; `max_pods` follows from the addresses the VPC CNI can hand out and
    belongs in the kubelet's configuration, because EFA interfaces on card 0 take address-carrying slots away.
    """

    name: str
    role: Literal["system", "training", "inference"]
    instance: Instance
    count: int
    gpus_per_node: int
    gpus: int
    interfaces: tuple[Interface, ...]
    efa: int
    max_pods: int
    addresses_per_node: int
    allocatable_cpu_millicores: int
    allocatable_memory_mib: int
    placement_group: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PodResources:
    """Requests of one pod, which are its limits too: the memory limit holds `shm_mib` as well."""

    gpus: int
    efa: int
    cpu_millicores: int
    memory_mib: int
    shm_mib: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPlan:
    """A gang: `pods` start together or not at all (PodGroup minMember = `pods`)."""

    name: str
    pool: str
    queue: str
    pods: int
    gpus: int
    efa: int
    pod: PodResources


@dataclass(frozen=True, kw_only=True, slots=True)
class ServicePlan:
    """A model service. `startup_seconds` is the budget of its startup probe, twice the time to read the weights."""

    name: str
    pool: str
    min_replicas: int
    max_replicas: int
    gpus: int
    gpu_product: str
    weights_gb: float
    kv_cache_tokens: int
    startup_seconds: int
    pod: PodResources


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceLine:
    """One line of the hourly price in USD, with the range its price was seen in."""

    name: str
    quantity: float
    usd_per_hour: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """What the stack costs while it stands, in USD; `monthly` at 730 hours. `unpriced` names what has no price."""

    lines: tuple[PriceLine, ...]
    hourly: float
    hourly_low: float
    hourly_high: float
    monthly: float
    unpriced: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """Sums over the pools."""

    nodes: int
    gpus: int
    efa_interfaces: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Numbers and findings of one stack. What cannot be planned is missing from the maps, and there is a finding."""

    totals: Totals
    subnets: tuple[Subnet, ...]
    nat_zones: tuple[str, ...]
    pools: Mapping[str, PoolPlan]
    runs: Mapping[str, RunPlan]
    services: Mapping[str, ServicePlan]
    prices: Prices
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that stop a deployment: errors that no valid waiver covers."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR and f.waiver is None)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings to show and go on: warnings, and errors that a waiver covers."""
        return tuple(f for f in self.findings if f.severity is Severity.WARNING or f.waiver is not None)
