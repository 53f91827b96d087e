"""What the planner returns: numbers only, frozen, free of pulumi. Units are in the field names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from catalogue.metal_types import Server
from catalogue.types import Gpu, Instance, Interface, InterfaceType, MigProfile, Nvme, UsageClass
from planner.blocks import BlockPlan
from planner.bom import Bom
from planner.communication.gates import Gate
from planner.cost.lines import Prices
from planner.datasets import DatasetPlan
from planner.findings import Finding, Severity
from planner.forecast import Forecast
from planner.mig import mig_config, plugin_config, product_label
from planner.monitoring.types import MonitoringPlan
from planner.placement import Replicas, Sharing
from planner.procurement import Check
from planner.quotas import QuotaNeed
from planner.reliability.checkpoints import Saving, TierPlan
from planner.replacement import RepairPlan, UpdateStrategy
from planner.serving.adapters import AdapterPlan
from planner.stack import ApiEndpoint, AwsDeployment, FsxPlan, Ownership, QueuePlan, SourcePlan, SpendingPlan
from planner.storage.types import StoragePlan
from planner.training.launch import LaunchPlan
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

    `allocatable_*` is what the kubelet leaves to pods, daemons included. `mig` cuts every GPU into slices, as the value
    `mig_config` of the node's label says, or as many as `time_slices` pods take turns on it, as `plugin_config` says;
    `gpu_product` is what feature discovery then calls a GPU or a slice. `nvme` are the node's own disks.
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
    nvme: Nvme | None = None
    mig: MigProfile | None = None
    time_slices: int = 1

    @property
    def nodes_now(self) -> int:
        """Nodes to ask for on the plan's day."""
        return self.count

    @property
    def gpu_product(self) -> str | None:
        """Value of the node label nvidia.com/gpu.product, None without GPUs."""
        if self.gpu is None:
            return None
        return product_label(self.gpu, self.mig.name if self.mig else None, replicas=self.time_slices)

    @property
    def mig_config(self) -> str | None:
        """Value of the node label nvidia.com/mig.config, None where GPUs stay whole."""
        return mig_config(self.mig.name) if self.mig else None

    @property
    def plugin_config(self) -> str | None:
        """Value of the node label nvidia.com/device-plugin.config, None where a GPU is offered once."""
        return plugin_config(self.time_slices) if self.time_slices > 1 else None

    @property
    def devices_per_node(self) -> int:
        """What pods can ask for on a node: its GPUs, the slices they are cut into, or turns on them."""
        return self.gpus_per_node * (self.mig.count if self.mig else self.time_slices)


@dataclass(frozen=True, kw_only=True)
class AwsPoolPlan(PoolPlan):
    """A node pool on AWS.

    `interfaces` is the launch template's list in order; `efa` counts the EFA ones of a node. The kubelet takes
    `max_pods`, which EKS sets, and the VPC CNI has addresses for `addressed_pods` of them: EFA interfaces on card 0
    take slots that carry addresses. `capacity_type` is EKS' word for how the nodes are bought. An update of the nodes
    by `update_strategy` runs up to `surge` of them beside the pool's own; `repair` None leaves sick ones alone.
    """

    instance: Instance
    usage: UsageClass
    capacity_type: str
    root_volume_gib: int
    interfaces: tuple[Interface, ...]
    efa: int
    max_pods: int
    addressed_pods: int
    addresses_per_node: int
    placement_group: bool
    update_strategy: UpdateStrategy
    surge: int
    repair: RepairPlan | None
    block: BlockPlan | None

    @property
    def nodes_now(self) -> int:
        """Nodes to ask for on the plan's day: none before a capacity block's first."""
        return self.block.nodes if self.block else self.count

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
    """A gang: as many of its `pods` as `launch` says start together or not at all (PodGroup minMember), and all begin
    again `restarts` times.

    `net_plugin` is how NCCL is told to find the plugin of the fabric between its nodes, None where it brings its own.
    `training` and `forecast` where it names a model, `saving` and `tiers`, the places for checkpoints, where it saves.
    `dataset` is the one that it reads, by name, `metrics_port` where its first rank tells Prometheus of itself.
    """

    name: str
    pool: str
    queue: str
    priority: Literal["training", "experiments"]
    image: str
    script: tuple[str, ...]
    restarts: int
    pods: int
    gpus: int
    efa: int
    pod: PodResources
    launch: LaunchPlan
    net_plugin: str | None = None
    training: TrainingPlan | None = None
    forecast: Forecast | None = None
    saving: Saving | None = None
    tiers: tuple[TierPlan, ...] = ()
    dataset: str | None = None
    metrics_port: int | None = None


@dataclass(frozen=True, kw_only=True)
class ScalingPlan:
    """What a service's replicas follow: so many requests waiting, or such a use of the KV cache, for each. There is one
    more when either has asked for it for `up_seconds`, one less when neither has needed it for `down_seconds`.
    """

    waiting_per_replica: int
    kv_cache_percent: int
    up_seconds: int
    down_seconds: int


@dataclass(frozen=True, kw_only=True)
class ServicePlan:
    """A model service; memory is that of one replica, over all its GPUs (or slices of MIG), in decimal GB.

    `load_seconds` is the time to read the weights, `startup_seconds` the budget of the startup probe, twice that,
    `copy_seconds` that of the Job that copies them from `weights`, and `scale_up_seconds` what passes until a further
    replica answers on a node without its image. A single request gets `request_tokens_per_s` at most, the rate at which
    memory gives the active weights. `quantization` and `kv_cache_dtype` are what vLLM makes of weights and cache, None
    for what they are. With `spare_replica` the pool has room for one more than `max_replicas` while all services have
    theirs; `max_replicas` is never more than what finds room beside the fewest replicas of the pool's other services.
    With `spread` no two replicas share a node. `scaling` is None where replicas do not change.

    A batch has up to `max_num_seqs` requests and a step up to `max_num_batched_tokens` tokens, None for vLLM's own
    numbers. `adapters` are offered beside the model; `max_loras` of one batch, of ranks up to `max_lora_rank`, have
    `lora_gb` set aside. A replica that stops has `drain_seconds` for its streams, of which the longest takes
    `longest_stream_seconds` at the least, and is killed after `grace_seconds`.
    """

    name: str
    pool: str
    image: str
    model: str
    weights: str
    min_replicas: int
    max_replicas: int
    scaling: ScalingPlan | None
    spread: bool
    spare_replica: bool
    max_model_len: int
    gpu_memory_utilization: float
    quantization: str | None
    kv_cache_dtype: str | None
    max_num_seqs: int | None
    max_num_batched_tokens: int | None
    prefix_caching: bool
    chunked_prefill: bool
    adapters: tuple[AdapterPlan, ...]
    max_loras: int
    max_lora_rank: int
    gpus: int
    gpu_product: str
    weights_gb: float
    overhead_gb: float
    lora_gb: float
    kv_cache_gb: float
    kv_bytes_per_token: int
    kv_cache_tokens: int
    full_sequences: int
    load_seconds: float
    startup_seconds: int
    copy_seconds: int
    scale_up_seconds: int
    request_tokens_per_s: int
    longest_stream_seconds: int
    drain_seconds: int
    grace_seconds: int
    pod: PodResources

    @property
    def fewest(self) -> Replicas:
        """The replicas that always run."""
        return Replicas(gpus=self.pod.gpus, count=self.min_replicas, spread=self.spread)

    @property
    def most(self) -> Replicas:
        """The replicas at the autoscaler's upper end."""
        return Replicas(gpus=self.pod.gpus, count=self.max_replicas, spread=self.spread)


@dataclass(frozen=True, kw_only=True)
class TritonPlan:
    """A Triton server: `replicas` pods that serve the model repository of `models_gb` decimal GB below `models`.

    `copy_seconds` is the budget of the Job that copies it, `startup_seconds` that of the startup probe.
    """

    name: str
    pool: str
    image: str
    models: str
    models_gb: float
    replicas: int
    spare_replica: bool
    gpus: int
    gpu_product: str
    startup_seconds: int
    copy_seconds: int
    pod: PodResources

    @property
    def always(self) -> Replicas:
        """The replicas that always run."""
        return Replicas(gpus=self.pod.gpus, count=self.replicas)


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
    Without the section of that name there is no `monitoring`.
    """

    kubernetes_version: str
    ownership: Ownership
    totals: Totals
    pools: Mapping[str, PoolPlan]
    queues: tuple[QueuePlan, ...]
    gates: Mapping[str, tuple[Gate, ...]]
    datasets: Mapping[str, DatasetPlan]
    runs: Mapping[str, RunPlan]
    services: Mapping[str, ServicePlan]
    triton: Mapping[str, TritonPlan]
    sharing: Mapping[str, Sharing]
    monitoring: MonitoringPlan | None
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
    """The plan of a stack on AWS. The stack's bucket keeps checkpoints for `checkpoint_days`; `sources` are the buckets
    that weights and datasets come from, by name. Where nobody is told of what it costs, there is no `spending`.
    """

    deployment: AwsDeployment
    sources: Mapping[str, SourcePlan]
    endpoint: ApiEndpoint
    file_system: FsxPlan
    checkpoint_days: int
    totals: AwsTotals
    pools: Mapping[str, AwsPoolPlan]
    subnets: tuple[Subnet, ...]
    nat_zones: tuple[str, ...]
    storage: StoragePlan
    prices: Prices
    spending: SpendingPlan | None
    quotas: tuple[QuotaNeed, ...]
    bom: Bom
    checklist: tuple[Check, ...]
