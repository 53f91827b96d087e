"""Service quotas that a stack on AWS needs, beside what a new account has."""

from collections.abc import Iterable
from dataclasses import dataclass

from catalogue import quotas
from catalogue.quotas import Quota
from catalogue.types import Instance, UsageClass
from catalogue.units import GIB_PER_TIB
from planner.scaled import ScaledPlan, SpotPlan

_PLATFORM_INTERFACES_PER_ZONE = 2
"""Those of the EKS control plane in each of its zones; NAT and FSx are counted apart."""


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Equal instances: so many, bought in this way, with `interfaces` network interfaces each at most.

    An update of their node group runs `surge` more of them for a while; `held` more are reserved on demand, which count
    for the quota of their vCPU as if they ran. Those that are `scaled` have no node group, and may all be of any type
    and way to buy that it names; so may those of `spot`, which has a second node group where it falls back.
    """

    instance: Instance
    count: int
    usage: UsageClass
    interfaces: int
    root_volume_gib: int
    surge: int = 0
    held: int = 0
    scaled: ScaledPlan | None = None
    spot: SpotPlan | None = None

    @property
    def groups(self) -> int:
        """Node groups that keep them."""
        return 0 if self.scaled else 2 if self.spot and self.spot.falls_back else 1

    @property
    def bought(self) -> tuple[tuple[Instance, UsageClass], ...]:
        """What takes most of a quota, in each way to buy it."""
        offers = self.scaled or self.spot
        if offers is None:
            return ((self.instance, self.usage),)
        return tuple((offers.quota_instance, usage) for usage in offers.usages)

    @property
    def most(self) -> int:
        """Instances that may run at once."""
        return self.count + self.surge


@dataclass(frozen=True, kw_only=True)
class QuotaNeed:
    """A quota and how much of it the stack takes, what else runs in the account and region apart."""

    quota: Quota
    need: float
    basis: str

    @property
    def beyond_default(self) -> bool:
        """Whether a new account has too little of it."""
        return self.need > self.quota.default


def instance_quota(instance: Instance, usage: UsageClass) -> Quota:
    """The quota that counts the vCPU of instances of this type when they are bought in this way."""
    by_prefix = quotas.INSTANCE_QUOTAS[usage]
    return by_prefix[max((prefix for prefix in by_prefix if instance.type.startswith(prefix)), key=len)]


def quota_needs(
    fleets: Iterable[Fleet],
    *,
    zones: int,
    nat_gateways: int,
    fsx_type: str,
    fsx_gib: int,
    fsx_interfaces: int,
    endpoints: int = 0,
    endpoint_interfaces: int = 0,
    home_interfaces: int = 0,
    own_vpc: bool = True,
) -> tuple[QuotaNeed, ...]:
    """Every quota that the stack takes from, the instances' first.

    vCPU are summed per quota. What an update runs beside the pools' own nodes counts too. Instances of a capacity block
    do not count against On-Demand quotas (EC2 user guide, "Capacity Blocks for ML", considerations) but against those
    of the blocks.
    """
    named = list(fleets)
    placed = [fleet for fleet in named if fleet.count]
    grouped = [fleet for fleet in placed if fleet.scaled is None]
    nodes = sum(fleet.most for fleet in placed)
    interfaces = sum(fleet.most * fleet.interfaces for fleet in placed)
    around = nat_gateways + fsx_interfaces + endpoint_interfaces + home_interfaces
    around += zones * _PLATFORM_INTERFACES_PER_ZONE
    inside = (", EFS" if home_interfaces else "") + (", endpoints" if endpoints else "")
    volumes_tib = sum(fleet.most * fleet.root_volume_gib for fleet in placed) / GIB_PER_TIB
    storage = quotas.FSX_STORAGE[fsx_type]
    return (
        *_vcpu(fleet for fleet in named if fleet.count or fleet.held),
        *(_of_own_vpc(nat_gateways) if own_vpc else ()),
        QuotaNeed(
            quota=quotas.INTERFACES,
            need=interfaces + around,
            basis=f"{interfaces} of {nodes} nodes, {around} of NAT, FSx{inside} and the control plane",
        ),
        *(
            [QuotaNeed(quota=quotas.INTERFACE_ENDPOINTS, need=endpoints, basis="one per service of AWS")]
            if endpoints
            else []
        ),
        QuotaNeed(quota=quotas.CLUSTERS, need=1, basis="the stack's own cluster"),
        QuotaNeed(quota=quotas.NODE_GROUPS, need=sum(fleet.groups for fleet in grouped), basis="one per pool"),
        QuotaNeed(
            quota=quotas.NODES_PER_GROUP,
            need=max((fleet.count for fleet in grouped), default=0),
            basis="the largest pool",
        ),
        QuotaNeed(quota=quotas.GP3_STORAGE, need=volumes_tib, basis="root volumes"),
        QuotaNeed(quota=storage, need=fsx_gib, basis="the shared file system"),
    )


def _of_own_vpc(nat_gateways: int) -> Iterable[QuotaNeed]:
    yield QuotaNeed(quota=quotas.VPCS, need=1, basis="the stack's own VPC")
    yield QuotaNeed(quota=quotas.ELASTIC_IPS, need=nat_gateways, basis="one per NAT gateway")
    yield QuotaNeed(quota=quotas.NAT_GATEWAYS, need=min(nat_gateways, 1), basis="one in a zone at most")


def _vcpu(fleets: Iterable[Fleet]) -> Iterable[QuotaNeed]:
    summed: dict[str, tuple[Quota, int, list[str]]] = {}
    for fleet in fleets:
        for instance, usage in fleet.bought:
            quota = instance_quota(instance, usage)
            _, vcpu, parts = summed.get(quota.name, (quota, 0, []))
            update = f" and {fleet.surge} more in an update" if fleet.surge else ""
            held = f" and {fleet.held} more held" if fleet.held else ""
            part = f"{fleet.count} x {instance.vcpu} of {instance.type}{update}{held}"
            summed[quota.name] = (quota, vcpu + (fleet.most + fleet.held) * instance.vcpu, [*parts, part])
    for quota, vcpu, parts in summed.values():
        yield QuotaNeed(quota=quota, need=vcpu, basis=", ".join(parts))


def requests(needs: Iterable[QuotaNeed]) -> dict[str, float]:
    """What to ask Service Quotas for, by the quota's name: the quotas of which a new account has too little."""
    return {need.quota.name: need.need for need in needs if need.beyond_default}
