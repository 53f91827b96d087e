"""Kubelet settings of a pool, as a patch of kubeadm's configuration.

Source: kubelet reference, kubelet.config.k8s.io/v1beta1; kubeadm reference, "Customizing with patches".
"""

from dataclasses import dataclass
from typing import Any

import yaml

from components.platform import node_cpus


@dataclass(frozen=True, kw_only=True)
class KubeletSpec:
    """What a kubelet keeps from pods, and how many it takes. `grace_s` is how long pods have when the machine stops, so
    that a run can save. `gpus` says whether pods are placed by the devices that they ask for, and with
    `exclusive_spare_millicores` they have their CPUs to themselves, so much apart; 0 where CPUs are shared.
    """

    max_pods: int
    reserved_cpu_millicores: int
    reserved_memory_mib: int
    eviction_mib: int
    grace_s: int
    gpus: bool
    exclusive_spare_millicores: int = 0


CRITICAL_GRACE_S = 60


def patch(wanted: KubeletSpec) -> str:
    """The patch. GPU pods get cards of the socket that their GPUs are at where that can be had."""
    configuration: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "maxPods": wanted.max_pods,
        "kubeReserved": {"cpu": f"{wanted.reserved_cpu_millicores}m", "memory": f"{wanted.reserved_memory_mib}Mi"},
        "evictionHard": {
            "memory.available": f"{wanted.eviction_mib}Mi",
            "nodefs.available": "10%",
            "nodefs.inodesFree": "5%",
            "imagefs.available": "15%",
        },
        "imageGCHighThresholdPercent": 85,
        "imageGCLowThresholdPercent": 80,
        "serializeImagePulls": False,
        "maxParallelImagePulls": 5,
        "shutdownGracePeriod": f"{wanted.grace_s + CRITICAL_GRACE_S}s",
        "shutdownGracePeriodCriticalPods": f"{CRITICAL_GRACE_S}s",
    }
    if wanted.gpus:
        configuration |= node_cpus.NEAR
    if wanted.exclusive_spare_millicores:
        configuration |= node_cpus.exclusive(wanted.exclusive_spare_millicores)
    return yaml.safe_dump(configuration, sort_keys=False)
