"""What a kubelet registers its node with, by the NodeConfig of its user data.

Source: awslabs/amazon-eks-ami, nodeadm, NodeConfig v1alpha1 (kubelet.config, kubelet.flags).
"""

from collections.abc import Iterator, Mapping
from typing import Any

_LABELS = "--node-labels="
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE", "PreferNoSchedule": "PREFER_NO_SCHEDULE"}


def registering(config: Mapping[str, Any]) -> dict[str, Any]:
    """`labels` and `taints` as a node group's description has them."""
    return {"labels": dict(labels(config)), "taints": list(taints(config))}


def labels(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The labels that the kubelet is to register with. Pure."""
    for flag in (config.get("kubelet") or {}).get("flags") or ():
        if str(flag).startswith(_LABELS):
            for each in str(flag).removeprefix(_LABELS).strip('"').split(","):
                key, _, value = each.partition("=")
                if key:
                    yield key, value


def taints(config: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The taints that the kubelet is to register with, as a node group writes them. Pure."""
    for each in ((config.get("kubelet") or {}).get("config") or {}).get("registerWithTaints") or ():
        yield {"key": each["key"], "value": each.get("value") or "", "effect": _EFFECTS[each["effect"]]}
