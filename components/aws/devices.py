"""Device plugins that make GPUs and EFA schedulable on EKS; the AMI brings the driver (L07, KJ33)."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.platform.pods import PodNetwork

EFA_RESOURCE = "vpc.amazonaws.com/efa"

BETWEEN_NODES: Mapping[str, str] = {
    "NCCL_NET": "AWS Libfabric",
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_SUBSYS": "INIT,NET",
}
"""NCCL ends with `Failed to initialize any NET plugin` where it would take sockets, and each rank's log names provider
and cards (`Selected provider is efa, fabric is efa-direct (found 32 nics)`): a missing plugin or card is seen nowhere
else. Sources: NCCL 2.30.7, src/plugin/net.cc (only a network of that name is tried); aws-ofi-nccl,
nvidia_plugin_name_fixup (the name that every version answers to) and nccl_net_ofi_query_provider_capabilities."""

GPU_OPERATOR_VALUES: Mapping[str, Any] = {
    "driver": {"enabled": False},
    "toolkit": {"enabled": False},
    "gds": {"enabled": False},
}
"""EKS' NVIDIA images bring the driver and register the toolkit, so the operator installs neither. GPUDirect Storage
stays off: EKS nodes do not mount the file system through it."""

BOTTLEROCKET_VALUES: Mapping[str, Any] = {**GPU_OPERATOR_VALUES, "devicePlugin": {"enabled": False}}
"""Bottlerocket runs the device plugin itself (EKS user guide, "EKS Bottlerocket NVIDIA AMIs")."""


def efa_network(interfaces: int) -> PodNetwork:
    """What a pod with all EFA interfaces of its node needs; registering memory with the device locks it (NW03)."""
    if not interfaces:
        return PodNetwork()
    return PodNetwork(
        resources={EFA_RESOURCE: interfaces},
        env={"FI_PROVIDER": "efa"},
        between=BETWEEN_NODES,
        capabilities=("IPC_LOCK",),
    )


def efa_plugin_values(tolerations: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Values of the `aws-efa-k8s-device-plugin` chart. Its DaemonSet tolerates nothing of ours by itself, so GPU nodes
    would show no EFA. The toleration it ships with is kept.
    """
    return {"tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}, *(dict(each) for each in tolerations)]}
