"""What a node leaves to pods, what a pod may ask for, and what nodes of Karpenter or spot may be."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from catalogue.types import Instance, Price, UsageClass
from catalogue.units import MIB_PER_GIB
from settings.aws_pools import AwsPool

METAL_MAX_PODS = 110
"""Pods of a node in racks: the kubelet's own default."""

GRACE_S: Mapping[str, int] = {"training": 300, "inference": 120, "system": 60}
"""Seconds that pods have by their pool's role when a machine in racks stops: a run saves, a server ends its answers."""
STOPPING_S = 120
"""Seconds of a machine around its pods: it hears of the power, critical pods have a minute, the system ends."""

_VM_OVERHEAD_PERMILLE = 75
EVICTION_MIB = 100
"""Free memory at which the kubelet begins to evict: its own default."""

_PAGE_BYTES = 4096
_PAGE_RECORD_BYTES = 64
_DAEMON_CPU_MILLICORES = 500
_DAEMON_MEMORY_MIB = 2048
_HUGEPAGES_MIN_MIB = 10256
_HUGEPAGES_PER_EFA_MIB = 5281
_HUGEPAGES_MAX_MIB = 42242
_CPU_RESERVATION = ((1000, 600), (2000, 100), (4000, 50))
_CPU_RESERVATION_ABOVE = 25


def reserved_cpu_millicores(vcpu: int) -> int:
    """CPU that nodeadm reserves for the kubelet: 6 % of the first core, 1 % of the second, 0.5 % of two more, 0.25 %.

    Source: amazon-eks-ami, nodeadm/internal/kubelet/config.go.
    """
    total, below, reserved = vcpu * 1000, 0, 0
    for upper, share in (*_CPU_RESERVATION, (max(total, _CPU_RESERVATION[-1][0]), _CPU_RESERVATION_ABOVE)):
        reserved += max(0, min(total, upper) - below) * share // 10000
        below = upper
    return reserved


EXCLUSIVE_SPARE_MILLICORES = 4000
"""CPU that is reserved at least where a pod may have all others to itself: daemons, containers of the system and the
kernel's own threads run on what is reserved and what no pod has."""

THREADS_OF_A_CORE = 2
"""Logical processors of a core, where there are several: a number of CPUs that it divides is whole cores on any."""


def threads_together(*, exclusive: bool) -> int:
    """What the CPUs of a pod's containers are a multiple of: whole cores where they have them to themselves."""
    return THREADS_OF_A_CORE if exclusive else 1


def exclusive_spare_millicores(vcpu: int) -> int:
    """CPU that is reserved beside the kubelet's own where pods have CPUs to themselves, so that both are whole cores.

    The CPU manager reserves whole CPUs, and with the last one's core half reserved no pod gets the other half
    (Kubernetes 1.36, pkg/kubelet/cm/cpumanager: cpu_manager.go, NewManager; policy_static.go, reservedPhysicalCPUs).
    Of what is filled up the daemons' requests are left out: they are counted for pods.
    """
    kubelet, core = reserved_cpu_millicores(vcpu), THREADS_OF_A_CORE * 1000
    least = kubelet + EXCLUSIVE_SPARE_MILLICORES
    return max(least, -(-least // core) * core - _DAEMON_CPU_MILLICORES) - kubelet


def allocatable_cpu_millicores(vcpu: int, *, exclusive: bool = False) -> int:
    """CPU that the kubelet of a node with so many logical processors offers to pods, daemons included."""
    spare = exclusive_spare_millicores(vcpu) if exclusive else 0
    return max(0, vcpu * 1000 - reserved_cpu_millicores(vcpu) - spare)


def allocatable_memory_mib(instance: Instance, eni_pods: int, efa: int) -> int:
    """Memory that the kubelet offers to pods, daemons included.

    Of the nominal memory go 7.5 % for firmware and kernel (Karpenter's vmMemoryOverheadPercent), the huge pages of the
    EFA driver, 255 MiB + 11 MiB per pod for the kubelet, and the eviction threshold. nodeadm counts `eni_pods` here, by
    the type's interfaces, also where the kubelet then takes fewer (amazon-eks-ami, nodeadm/internal/kubelet/config.go).
    """
    visible = instance.memory_gib * MIB_PER_GIB * (1000 - _VM_OVERHEAD_PERMILLE) // 1000
    return max(0, visible - hugepages_mib(efa) - _kubelet_memory_mib(eni_pods))


def metal_allocatable_memory_mib(memory_gib: int, max_pods: int) -> int:
    """Memory of a server that the kubelet offers to pods, daemons included.

    The kernel describes every page of 4 KiB in 64 bytes (Linux, struct page); the kubelet's share is that of EKS nodes.
    """
    memory_mib = memory_gib * MIB_PER_GIB
    return max(0, memory_mib - memory_mib * _PAGE_RECORD_BYTES // _PAGE_BYTES - _kubelet_memory_mib(max_pods))


def kubelet_memory_mib(max_pods: int) -> int:
    """Memory that is reserved for the kubelet of a node with so many pods (amazon-eks-ami, nodeadm)."""
    return 255 + 11 * max_pods


def _kubelet_memory_mib(max_pods: int) -> int:
    """What is kept from pods for the kubelet, and so that it can evict in time."""
    return kubelet_memory_mib(max_pods) + EVICTION_MIB


def hugepages_mib(efa: int) -> int:
    """Memory that the EFA installer sets aside as 2 MiB pages on a node with `efa` interfaces.

    The EKS user guide names 5128 pages; 21122 MiB were seen on p4de (4 interfaces), 42242 MiB on p5 (32).
    """
    return 0 if efa == 0 else min(max(_HUGEPAGES_MIN_MIB, _HUGEPAGES_PER_EFA_MIB * efa), _HUGEPAGES_MAX_MIB)


def pod_share(
    allocatable_cpu: int, allocatable_memory: int, part: int, whole: int, *, threads: int = 1
) -> tuple[int, int]:
    """Whole CPUs (in millicores) and whole GiB (in MiB) of `part` out of `whole` GPUs, after the node's daemons; with
    `threads` of a core a multiple of them.

    Half a core and 2 GiB are set aside for the daemons: VPC CNI, kube-proxy, CSI and pod identity agents, GPU Operator
    operands, EFA plugin. The result may be 0 on nodes too small to host anything else.
    """
    cpu = (allocatable_cpu - _DAEMON_CPU_MILLICORES) * part // whole
    memory = (allocatable_memory - _DAEMON_MEMORY_MIB) * part // whole
    step = threads * 1000
    return max(0, cpu // step * step), max(0, memory // MIB_PER_GIB * MIB_PER_GIB)


CONTROLLER_REQUEST = (500, 1024)
"""Millicores, and MiB, of a pod of its controller. Karpenter's own guide gives one a whole core (karpenter.sh, "Getting
Started"); half of it leaves two small system nodes the room for a copy of weights, and is no limit."""


@dataclass(frozen=True, kw_only=True)
class Offers:
    """What a pool's nodes may be: instances of `types`, the pool's own first, bought as `usages` say, the pool's own
    capacity first.

    `quota_instance` is the type that takes most of a quota: all nodes may be of it.
    """

    types: tuple[Instance, ...]
    usages: tuple[UsageClass, ...]

    @property
    def quota_instance(self) -> Instance:
        return max(self.types, key=lambda each: each.vcpu)

    @property
    def dearest(self) -> Price | None:
        """The dearest price of what it may take, in the range of all of them; None where a type has none.

        A spot instance whose price nobody recorded costs what it costs on demand at most: that is the most a request
        pays that names no price of its own (EC2 user guide, "How Spot Instances work").
        """
        known = self._prices()
        if known is None:
            return None
        most = max(known, key=lambda each: each.usd_per_hour)
        return replace(most, low=min(each.low for each in known), high=max(each.high for each in known))

    @property
    def cheapest(self) -> Price | None:
        """The price of what is started first, as Karpenter takes the cheapest that EC2 has; None as of `dearest`."""
        known = self._prices()
        return min(known, key=lambda each: each.usd_per_hour) if known is not None else None

    def _prices(self) -> list[Price] | None:
        found = [each.price(usage) or each.on_demand for each in self.types for usage in self.usages]
        known = [each for each in found if each is not None]
        return known if len(known) == len(found) else None


@dataclass(frozen=True, kw_only=True)
class ScaledPlan(Offers):
    """What Karpenter may do for a pool: start any of the offers, up to `most` nodes and `gpus` GPUs. A node without
    pods goes after `empty_seconds`, each one after `max_days`.
    """

    most: int
    gpus: int
    empty_seconds: int
    max_days: int


@dataclass(frozen=True, kw_only=True)
class SpotPlan(Offers):
    """What the node groups of a pool on spot may take. Where nodes are missing for `wait_minutes`, the keeper asks for
    them in `group`, which is on demand, and after `again_hours` in the pool's own again; None = never.
    """

    group: str
    wait_minutes: int | None
    again_hours: int | None

    @property
    def falls_back(self) -> bool:
        """Whether there are two node groups, which the keeper fills."""
        return self.wait_minutes is not None


def plan_scaled(pool: AwsPool, instances: Mapping[str, Instance]) -> ScaledPlan | None:
    """What Karpenter may do for the pool; None where a node group keeps its nodes.

    Types that the catalogue does not have are left out: a rule names them.
    """
    if pool.karpenter is None:
        return None
    names = (pool.instance_type, *pool.karpenter.instance_types)
    own = UsageClass(pool.capacity)
    others = (UsageClass(each) for each in pool.karpenter.capacities)
    return ScaledPlan(
        types=tuple(instances[name] for name in names if name in instances),
        usages=tuple(dict.fromkeys((own, *others))),
        most=pool.most,
        gpus=pool.most * instances[pool.instance_type].gpu_count,
        empty_seconds=pool.karpenter.empty_seconds,
        max_days=pool.karpenter.max_days,
    )


def plan_spot(pool: AwsPool, instances: Mapping[str, Instance]) -> SpotPlan | None:
    """What a pool on spot may take beside its own type; None where nothing is said of that."""
    if pool.spot is None:
        return None
    names = (pool.instance_type, *pool.spot.instance_types)
    fallback = (UsageClass.ON_DEMAND,) if pool.spot.on_demand_minutes is not None else ()
    return SpotPlan(
        types=tuple(instances[name] for name in names if name in instances),
        usages=(UsageClass.SPOT, *fallback),
        group=f"{pool.name}-on-demand",
        wait_minutes=pool.spot.on_demand_minutes,
        again_hours=pool.spot.again_hours,
    )


def is_scaled(pools: Iterable[AwsPool]) -> bool:
    """Whether Karpenter keeps any of the pools."""
    return any(pool.karpenter is not None for pool in pools)
