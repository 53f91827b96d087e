"""What the planner returns: numbers only, frozen, free of pulumi. Units are in the field names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from catalogue.metal_types import Server
from catalogue.types import Gpu, Instance, Interface, InterfaceType, MigProfile, UsageClass
from planner.blocks import BlockTimes
from planner.bom import Bom
from planner.communication.gates import Gate
from planner.cost.lines import Prices
from planner.findings import Finding, Severity
from planner.forecast import Forecast
from planner.placement import Sharing
from planner.procurement import Check
from planner.quotas import QuotaNeed
from planner.reliability.checkpoints import TierPlan
from planner.storage.types import StoragePlan
from planner.training.plan import TrainingPlan

Role = Literal["system", "training", "inference"]
SubnetRole = Literal["public", "control-plane", "system", "gpu"]


@dataclass(frozen=True, kw_only=True)
class Subnet:
    """A subnet. `needed` addresses is the worst case of what the plan puts there; AWS keeps 5 of each subnet."""

    name: str
    role: SubnetRole
    zone_id: str
    cidr: str
    usable: int
    needed: int


@dataclass(frozen=True, kw_only=True)
class PoolPlan:
    """A node pool with what one node offers. `hardware` is the row of its instance type or server.

    `allocatable_*` is what the kubelet leaves to pods, daemons included. `mig` cuts every GPU into slices.
    """

    name: str
    role: Role
    hardware: str
    gpu: Gpu | None
    count: int
    gpus_per_node: int
    gpus: int
    allocatable_cpu_millicores: int
    allocatable_memory_mib: int
    mig: MigProfile | None = None

    @property
    def devices_per_node(self) -> int:
        """What pods can ask for on a node: its GPUs, or the slices they are cut into."""
        return self.gpus_per_node * (self.mig.count if self.mig else 1)


@dataclass(frozen=True, kw_only=True)
class BlockPlan:
    """A pool's capacity block: its reservation, its zone, its moments, and the nodes to ask for on the plan's day."""

    reservation: str
    zone_id: str
    times: BlockTimes
    nodes: int


@dataclass(frozen=True, kw_only=True)
class AwsPoolPlan(PoolPlan):
    """A node pool on AWS.

    `interfaces` is the launch template's list in order; `efa` counts the EFA ones of a node. `max_pods` follows from
    the addresses the VPC CNI can hand out and belongs in the kubelet's configuration, because EFA interfaces on card 0
    take address-carrying slots away.
    """

    instance: Instance
    usage: UsageClass
    interfaces: tuple[Interface, ...]
    efa: int
    max_pods: int
    addresses_per_node: int
    placement_group: bool
    block: BlockPlan | None

    @property
    def interfaces_per_node(self) -> int:
        """Most network interfaces of a node: those without addresses, and those that hold its pods' addresses."""
        bare = sum(each.interface_type is InterfaceType.EFA_ONLY for each in self.interfaces)
        return bare + self.addresses_per_node // self.instance.addresses_per_interface


@dataclass(frozen=True, kw_only=True)
class MetalPoolPlan(PoolPlan):
    """A node pool of servers. `rails` are the compute ports of a node, `most` the nodes after the declared growth."""

    server: Server
    rails: int
    most: int


@dataclass(frozen=True, kw_only=True)
class PodResources:
    """Requests of one pod, which are its limits too: the memory limit holds `shm_mib` as well."""

    gpus: int
    efa: int
    cpu_millicores: int
    memory_mib: int
    shm_mib: int


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """A gang: `pods` start together or not at all (PodGroup minMember = `pods`).

    `training` and `forecast` where it names a model, `tiers`, the places for checkpoints, where it saves some.
    """

    name: str
    pool: str
    queue: str
    pods: int
    gpus: int
    efa: int
    pod: PodResources
    training: TrainingPlan | None = None
    forecast: Forecast | None = None
    tiers: tuple[TierPlan, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ServicePlan:
    """A model service; memory is that of one replica, over all its GPUs (or slices of MIG), in decimal GB.

    `load_seconds` is the time to read the weights, `startup_seconds` the budget of the startup probe, twice that, and
    `scale_up_seconds` what passes until a further replica answers on a node without its image. A single request gets
    `request_tokens_per_s` at most, the rate at which memory gives the active weights.
    """

    name: str
    pool: str
    min_replicas: int
    max_replicas: int
    gpus: int
    gpu_product: str
    weights_gb: float
    overhead_gb: float
    kv_cache_gb: float
    kv_bytes_per_token: int
    kv_cache_tokens: int
    full_sequences: int
    load_seconds: float
    startup_seconds: int
    scale_up_seconds: int
    request_tokens_per_s: int
    pod: PodResources


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Sums over the pools."""

    nodes: int
    gpus: int


@dataclass(frozen=True, kw_only=True)
class AwsTotals(Totals):
    """Sums over the pools of a stack on AWS."""

    efa_interfaces: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Numbers and findings of one stack. What cannot be planned is missing from the maps, and there is a finding.

    `gates` are the tests that a pool's nodes have to pass, `sharing` is what services leave of it, by the pool's name.
    """

    totals: Totals
    pools: Mapping[str, PoolPlan]
    gates: Mapping[str, tuple[Gate, ...]]
    runs: Mapping[str, RunPlan]
    services: Mapping[str, ServicePlan]
    sharing: Mapping[str, Sharing]
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that stop a deployment: errors that no valid waiver covers."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR and f.waiver is None)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings to show and go on: warnings, and errors that a waiver covers."""
        return tuple(f for f in self.findings if f.severity is Severity.WARNING or f.waiver is not None)


@dataclass(frozen=True, kw_only=True)
class AwsPlan(Plan):
    """The plan of a stack on AWS."""

    totals: AwsTotals
    pools: Mapping[str, AwsPoolPlan]
    subnets: tuple[Subnet, ...]
    nat_zones: tuple[str, ...]
    storage: StoragePlan
    prices: Prices
    quotas: tuple[QuotaNeed, ...]
    bom: Bom
    checklist: tuple[Check, ...]
