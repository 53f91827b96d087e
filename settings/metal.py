"""What a stack file says about on-premises racks: the site, the servers, the fabric."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.pools import MOST_NODES, Pool
from settings.sandbox import wrong_place
from settings.sections import Section, SectionError
from settings.types import KubernetesMinor, Name, PrivateCidr


class Metal(Section):
    """The site, and the cluster's address ranges."""

    kind: Literal["metal"]
    site: Name
    kubernetes_version: KubernetesMinor
    management_cidr: Annotated[PrivateCidr, Field(description="the hosts' own addresses")]
    bmc_cidr: Annotated[
        PrivateCidr, Field(description="network of the management controllers, separate from all others")
    ]
    pod_cidr: PrivateCidr = "10.244.0.0/16"
    service_cidr: PrivateCidr = "10.96.0.0/12"
    control_plane_nodes: Annotated[Literal[1, 3, 5], Field(description="of the system pool; etcd needs a majority")] = 3


class MetalPool(Pool):
    """A node pool. GPUs, cards, disks, power and price follow from the server (catalogue).

    `max_count` is the growth that the fabric must carry without new leaves in between; None is no growth.
    """

    server: Annotated[str, Field(description="row of the server catalogue")]
    count: Annotated[int, Field(ge=1, le=MOST_NODES)]
    max_count: Annotated[int | None, Field(ge=1, le=16_384)] = None
    gpu_clock_mhz: Annotated[
        int | None, Field(ge=100, le=10_000, description="fixed clock of every GPU in MHz; left out = the default")
    ] = None
    gpu_power_w: Annotated[
        int | None, Field(ge=50, le=5_000, description="power limit of every GPU in W; left out = the default")
    ] = None
    sandbox: Annotated[
        bool,
        Field(description="its machines have gVisor (which you install), for CPU pods of the RuntimeClass gvisor"),
    ] = False

    @model_validator(mode="after")
    def _sandboxed_have_no_gpus(self) -> Self:
        if self.sandbox and (problems := list(wrong_place(self.role))):
            raise SectionError(problems)
        return self

    @model_validator(mode="after")
    def _growth_is_growth(self) -> Self:
        if self.max_count is not None and self.max_count < self.count:
            raise SectionError([(("maxCount",), f"is {self.max_count}, below count {self.count}; raise or remove it")])
        return self

    @property
    def most(self) -> int:
        """Nodes after the declared growth."""
        return self.max_count if self.max_count is not None else self.count


Metres = Annotated[float, Field(gt=0, le=10_000)]


class CableLengths(Section):
    """Measured cable lengths in metres."""

    node_to_leaf: Metres | None = None
    leaf_to_spine: Metres | None = None


class FabricSection(Section):
    """The compute fabric. `kind` has no default: the network technology is a decision."""

    kind: Literal["infiniband", "roce", "ethernet"]
    switch: Annotated[str, Field(description="row of the switch catalogue")]
    topology: Literal["auto", "single", "leaf-spine", "rail-optimised"] = "auto"
    oversubscription: Annotated[
        float, Field(ge=1, le=64, description="oversubscription: leaf downlinks per uplink")
    ] = 1
    spare_leaf_ports: Annotated[int, Field(ge=0, le=1024, description="spare ports on every leaf")] = 0
    storage_ports: Annotated[
        int, Field(ge=0, le=4096, description="ports used by storage on this fabric; 0 = storage has its own")
    ] = 0
    sharp: Annotated[bool, Field(description="SHARP: reductions in the switches")] = False
    redundant: Annotated[bool, Field(description="a second plane of switches, for dual-port NICs")] = False
    subnet_manager: Annotated[
        Literal["opensm", "ufm", "switch", "none"],
        Field(description="which subnet manager of yours runs; the program starts none (ADR 0042)"),
    ] = "none"
    rail_cidr: Annotated[
        PrivateCidr | None, Field(description="addresses of the compute ports, and of the ports given to pods")
    ] = None
    pod_devices: Annotated[
        Literal["sharedDevice", "sriov", "hostDevice"],
        Field(description="what pods get: all compute ports, shared; virtual functions; or whole ports"),
    ] = "sharedDevice"
    vfs_per_port: Annotated[
        int, Field(ge=1, le=127, description="virtual functions of each compute port, with podDevices: sriov")
    ] = 1
    pfc: Annotated[bool, Field(description="RoCE: priority flow control")] = False
    ecn: Annotated[bool, Field(description="RoCE: explicit congestion notification")] = False
    mtu: Annotated[
        int | None,
        Field(
            ge=1500,
            le=9216,
            description="RoCE and Ethernet: MTU in bytes of the compute ports' interfaces, which the switches have to "
            "let through; None = as machines have it",
        ),
    ] = None
    cable_lengths_m: CableLengths = Field(default_factory=CableLengths)


class MetalBudget(Section):
    """Limits that the planner enforces: the purchase, and the hourly cost (power, and the purchase over its life)."""

    max_purchase_usd: Annotated[float | None, Field(gt=0, le=100_000_000_000)] = None
    max_hourly_usd: Annotated[float | None, Field(gt=0, le=1_000_000)] = None

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if self.max_purchase_usd is None and self.max_hourly_usd is None:
            raise SectionError([((), "sets no limit; add maxPurchaseUsd, maxHourlyUsd or both")])
        return self
