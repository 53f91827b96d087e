"""The GPU Operator on nodes whose image carries driver and container toolkit (K01, K02, K03; KJ33)."""

from collections.abc import Mapping, Sequence
from typing import Any


def gpu_operator_values(tolerations: Sequence[Mapping[str, str]], *, slices: bool = False) -> dict[str, Any]:
    """Values of the `gpu-operator` chart for EKS' AL2023 NVIDIA image.

    That image brings the driver and registers the toolkit, so the operator installs neither. GPUDirect Storage stays
    off: EKS nodes do not mount the file system through it. With `slices` the MIG manager cuts GPUs as the label
    nvidia.com/mig.config of their node says, and each slice is offered as a GPU (K09, KJ25). The operands and the
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
        "migManager": {"enabled": slices},
        **({"mig": {"strategy": "single"}} if slices else {}),
        "gds": {"enabled": False},
        "operator": {"upgradeCRD": True},
        "daemonsets": {"tolerations": everywhere},
        "node-feature-discovery": {"worker": {"tolerations": everywhere}},
    }
