"""What the plan says of node pools. Units are in the field names."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from catalogue.metal_types import Server
from catalogue.types import Gpu, Instance, Interface, InterfaceType, MigProfile, Nvme, UsageClass
from planner.blocks import BlockPlan, BlockShare
from planner.interfaces import PREFIX_ADDRESSES
from planner.nodes import Offers, ScaledPlan, SpotPlan
from planner.replacement import RepairPlan, UpdateStrategy
from settings.sandbox import Sandbox


def profile(gpu: Gpu, name: str) -> MigProfile | None:
    """The GPU's profile of that name, None if it offers none such."""
    return next((each for each in gpu.mig if each.name == name), None)


def mig_config(name: str) -> str:
    """Value of the node label nvidia.com/mig.config that cuts every GPU of a node by one profile (mig-parted)."""
    return f"all-{_plain(name)}"


def plugin_config(time_slices: int) -> str:
    """Name of the device plugin's configuration that offers every GPU to so many pods."""
    return f"time-slices-{time_slices}"


def product_label(gpu: Gpu, mig: str | None = None, replicas: int = 1) -> str:
    """Value of the node label nvidia.com/gpu.product under the MIG strategy `single`, the only one used here.

    GPU Feature Discovery joins the driver's name, MIG and the profile, and SHARED where a GPU is offered several times
    (k8s-device-plugin, internal/lm/resource.go).
    """
    cut = ["MIG", _plain(mig)] if mig is not None else []
    return "-".join([gpu.product, *cut, *(["SHARED"] if replicas > 1 else [])])


def _plain(name: str) -> str:
    """A profile's name as labels and resources may hold it: 1g.10gb+me is 1g.10gb.me there."""
    return name.replace("+", ".")


Role = Literal["system", "training", "inference"]


@dataclass(frozen=True, kw_only=True)
class PoolPlan:
    """A node pool with what one node offers. `hardware` is the row of its instance type or server.

    `allocatable_*` is what the kubelet leaves to pods, daemons included. `mig` cuts every GPU into slices, as the value
    `mig_config` of the node's label says, or as many as `time_slices` pods take turns on it, as `plugin_config` says;
    `gpu_product` is what feature discovery then calls a GPU or a slice. `nvme` are the node's own disks. Nodes that are
    `sandboxed` have gVisor. With `exclusive_cpus` a pod has the whole CPUs that it asks for to itself.
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
    sandboxed: bool = False
    exclusive_cpus: bool = False

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
class HeldPlan:
    """An On-Demand Capacity Reservation that the stack makes: so many instances, until `ends` (UTC), None = with it."""

    count: int
    ends: datetime | None


@dataclass(frozen=True, kw_only=True)
class AwsPoolPlan(PoolPlan):
    """A node pool on AWS.

    `interfaces` is the launch template's list in order; `efa` counts the EFA ones of a node. The kubelet takes
    `max_pods`, which EKS sets, and the VPC CNI has addresses for `addressed_pods` of them: EFA interfaces on card 0
    take slots that carry addresses. `addresses_per_node` are in its own subnet, `pod_addresses_per_node` in that of its
    pods, 0 where they share it. `capacity_type` is EKS' word for how the nodes are bought. An update of the nodes
    by `update_strategy` runs up to `surge` of them beside the pool's own; `repair` None leaves sick ones alone.
    `capacity_reservation` is the id of what is held for them on demand, or `held` what the stack holds itself, and
    `idle` how many of it nobody here runs. The Lustre client takes `lustre_efa` of a node's EFA interfaces, and
    `branch_interfaces` of its pods can have security groups of their own, where the stack has such pods. Where
    `scaled`, Karpenter makes its nodes as pods need them, and `count` is how many there may be. `spot` says what its
    node groups may take beside its own type on spot. With `prefixes` addresses come in blocks of 16. `ami` is the image
    of the user's own that its nodes boot, None for EKS' of the `ami_family`. With `parallel_pulls` they get and unpack
    layers of an image side by side.
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
    pod_addresses_per_node: int
    placement_group: bool
    update_strategy: UpdateStrategy
    surge: int
    repair: RepairPlan | None
    block: BlockPlan | None
    capacity_reservation: str | None = None
    held: HeldPlan | None = None
    idle: int = 0
    lustre_efa: int = 0
    branch_interfaces: int = 0
    scaled: ScaledPlan | None = None
    spot: SpotPlan | None = None
    sandbox: Sandbox | None = None
    prefixes: bool = False
    ami: str | None = None
    ami_family: Literal["al2023", "bottlerocket"] = "al2023"
    parallel_pulls: bool = False

    @property
    def offers(self) -> Offers:
        """Every type and way to buy that its nodes may be of."""
        return self.scaled or self.spot or Offers(types=(self.instance,), usages=(self.usage,))

    @property
    def bottlerocket(self) -> bool:
        """Whether its nodes boot Bottlerocket."""
        return self.ami_family == "bottlerocket"

    @property
    def falls_back(self) -> bool:
        """Whether the keeper asks for its nodes, on spot or on demand."""
        return self.spot is not None and self.spot.falls_back

    @property
    def shares(self) -> tuple[BlockShare, ...]:
        """Its capacity blocks, none where it is bought otherwise."""
        return self.block.shares if self.block else ()

    @property
    def nodes_now(self) -> int:
        """Nodes to ask for on the plan's day: none before a capacity block's first, none that pods or keepers get."""
        if self.scaled or self.falls_back:
            return 0
        return self.block.nodes if self.block else self.count

    @property
    def interfaces_per_node(self) -> int:
        """Most network interfaces of a node: those without addresses, and those that hold its pods' addresses."""
        bare = sum(each.interface_type is InterfaceType.EFA_ONLY for each in self.interfaces)
        each = self.instance.addresses_per_interface * (PREFIX_ADDRESSES if self.prefixes else 1)
        if self.pod_addresses_per_node:
            return bare + self.addresses_per_node + -(-self.pod_addresses_per_node // each)
        return bare + -(-self.addresses_per_node // each)


@dataclass(frozen=True, kw_only=True)
class MetalPoolPlan(PoolPlan):
    """A node pool of servers. `rails` are the compute ports of a node, `most` the nodes after the declared growth.

    GPUs are held at `gpu_clock_mhz` and draw `gpu_power_w` at most; None where that is left to them.
    """

    server: Server
    rails: int
    most: int
    gpu_clock_mhz: int | None = None
    gpu_power_w: int | None = None
