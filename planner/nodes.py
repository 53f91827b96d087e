"""What a node leaves to pods, and what a pod that takes the node, or a share of it, may ask for."""

from collections.abc import Mapping

from catalogue.types import Instance
from catalogue.units import MIB_PER_GIB

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
"""CPU that is reserved besides where a pod may have all others to itself: daemons, containers of the system and the
kernel's own threads run on what is reserved and what no pod has."""


def allocatable_cpu_millicores(vcpu: int, *, exclusive: bool = False) -> int:
    """CPU that the kubelet of a node with so many logical processors offers to pods, daemons included."""
    spare = EXCLUSIVE_SPARE_MILLICORES if exclusive else 0
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


def pod_share(allocatable_cpu: int, allocatable_memory: int, part: int, whole: int) -> tuple[int, int]:
    """Whole cores (in millicores) and whole GiB (in MiB) of `part` out of `whole` GPUs, after the node's daemons.

    Half a core and 2 GiB are set aside for the daemons: VPC CNI, kube-proxy, CSI and pod identity agents, GPU Operator
    operands, EFA plugin. The result may be 0 on nodes too small to host anything else.
    """
    cpu = (allocatable_cpu - _DAEMON_CPU_MILLICORES) * part // whole
    memory = (allocatable_memory - _DAEMON_MEMORY_MIB) * part // whole
    return max(0, cpu // 1000 * 1000), max(0, memory // MIB_PER_GIB * MIB_PER_GIB)
