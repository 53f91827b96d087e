"""Service quotas that a stack on AWS needs, beside what a new account has."""

from collections.abc import Iterable
from dataclasses import dataclass

from catalogue import quotas
from catalogue.quotas import Quota
from catalogue.types import Instance, UsageClass
from catalogue.units import GIB_PER_TIB
from planner.pool_types import AwsPoolPlan

_PLATFORM_INTERFACES_PER_ZONE = 2
"""Those of the EKS control plane in each of its zones; NAT and FSx are counted apart."""


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
    pools: Iterable[AwsPoolPlan],
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
    of the blocks. Nodes that Karpenter makes have no node group; a pool on spot that falls back has two.
    """
    named = list(pools)
    placed = [pool for pool in named if pool.count]
    grouped = [pool for pool in placed if pool.scaled is None]
    nodes = sum(_most(pool) for pool in placed)
    interfaces = sum(_most(pool) * pool.interfaces_per_node for pool in placed)
    around = nat_gateways + fsx_interfaces + endpoint_interfaces + home_interfaces
    around += zones * _PLATFORM_INTERFACES_PER_ZONE
    inside = (", EFS" if home_interfaces else "") + (", endpoints" if endpoints else "")
    volumes_tib = sum(_most(pool) * pool.root_volume_gib for pool in placed) / GIB_PER_TIB
    storage = quotas.FSX_STORAGE[fsx_type]
    return (
        *_vcpu(pool for pool in named if pool.count or _held(pool)),
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
        QuotaNeed(quota=quotas.NODE_GROUPS, need=sum(1 + pool.falls_back for pool in grouped), basis="one per pool"),
        QuotaNeed(
            quota=quotas.NODES_PER_GROUP,
            need=max((pool.count for pool in grouped), default=0),
            basis="the largest pool",
        ),
        QuotaNeed(quota=quotas.GP3_STORAGE, need=volumes_tib, basis="root volumes"),
        QuotaNeed(quota=storage, need=fsx_gib, basis="the shared file system"),
    )


def _of_own_vpc(nat_gateways: int) -> Iterable[QuotaNeed]:
    yield QuotaNeed(quota=quotas.VPCS, need=1, basis="the stack's own VPC")
    yield QuotaNeed(quota=quotas.ELASTIC_IPS, need=nat_gateways, basis="one per NAT gateway")
    yield QuotaNeed(quota=quotas.NAT_GATEWAYS, need=min(nat_gateways, 1), basis="one in a zone at most")


def _most(pool: AwsPoolPlan) -> int:
    """Instances that may run at once."""
    return pool.count + pool.surge


def _held(pool: AwsPoolPlan) -> int:
    """Instances that the stack reserves on demand and does not run: they count as if they ran."""
    return pool.idle if pool.held else 0


def _taken(pool: AwsPoolPlan) -> Iterable[tuple[Instance, UsageClass]]:
    """What takes most of a quota, in each way to buy it: all nodes may be of it."""
    offers = pool.scaled or pool.spot
    return ((offers.quota_instance, usage) for usage in offers.usages) if offers else ((pool.instance, pool.usage),)


def _vcpu(pools: Iterable[AwsPoolPlan]) -> Iterable[QuotaNeed]:
    summed: dict[str, tuple[Quota, int, list[str]]] = {}
    for pool in pools:
        for instance, usage in _taken(pool):
            quota, idle = instance_quota(instance, usage), _held(pool)
            _, vcpu, parts = summed.get(quota.name, (quota, 0, []))
            update = f" and {pool.surge} more in an update" if pool.surge else ""
            held = f" and {idle} more held" if idle else ""
            part = f"{pool.count} x {instance.vcpu} of {instance.type}{update}{held}"
            summed[quota.name] = (quota, vcpu + (_most(pool) + idle) * instance.vcpu, [*parts, part])
    for quota, vcpu, parts in summed.values():
        yield QuotaNeed(quota=quota, need=vcpu, basis=", ".join(parts))


def requests(needs: Iterable[QuotaNeed]) -> dict[str, float]:
    """What to ask Service Quotas for, by the quota's name: the quotas of which a new account has too little."""
    return {need.quota.name: need.need for need in needs if need.beyond_default}
