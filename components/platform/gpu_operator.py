"""The GPU Operator on nodes whose image carries driver and container toolkit (K01, K02, K03; KJ33)."""

from collections.abc import Mapping, Sequence
from typing import Any


def gpu_operator_values(tolerations: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Values of the `gpu-operator` chart for EKS' AL2023 NVIDIA image.

    That image brings the driver and registers the toolkit, so the operator installs neither. MIG manager and GPUDirect
    Storage stay off: whole GPUs, and a file system that EKS nodes do not mount through GDS. The operands and the
    feature discovery worker get the pools' `tolerations`; without them the nodes show no GPUs. Counting of metrics is
    scraped through a ServiceMonitor, whose CRD must be there before.
    """
    everywhere = [dict(each) for each in tolerations]
    return {
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        "devicePlugin": {"enabled": True},
        "gfd": {"enabled": True},
        "nfd": {"enabled": True},
        "dcgmExporter": {"enabled": True, "serviceMonitor": {"enabled": True, "interval": "15s"}},
        "nodeStatusExporter": {"enabled": True},
        "migManager": {"enabled": False},
        "gds": {"enabled": False},
        "operator": {"upgradeCRD": True},
        "daemonsets": {"tolerations": everywhere},
        "node-feature-discovery": {"worker": {"tolerations": everywhere}},
    }
