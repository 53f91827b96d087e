"""The EFA device plugin (L07). Its DaemonSet tolerates nothing of ours by itself, so GPU nodes would show no EFA."""

from collections.abc import Mapping, Sequence
from typing import Any


def efa_plugin_values(tolerations: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Values of the `aws-efa-k8s-device-plugin` chart. The toleration it ships with is kept."""
    return {"tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}, *(dict(each) for each in tolerations)]}
