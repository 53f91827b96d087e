"""What the GPU operator says of its ClusterPolicy: state and conditions. Pure but for the clock.

Source: gpu-operator v26.3.3, controllers/clusterpolicy_controller.go, controllers/object_controls.go
(isDaemonSetReady) and internal/conditions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rehearsal.devices.daemons import FEATURES, NVIDIA_VENDOR
from rehearsal.devices.operands import Operand
from rehearsal.kubelet.nodeobject import now

Object = dict[str, Any]
_GPU = f"{FEATURES}pci-{NVIDIA_VENDOR}.present"
_STATES = {"operator-validator": "state-operator-validation", "gpu-feature-discovery": "gpu-feature-discovery"}


def unready(sets: Iterable[tuple[Operand, Mapping[str, Any]]]) -> list[str]:
    """The operator's names of the operands whose DaemonSets lack pods. One that wants no pod counts as ready."""
    return [
        _STATES.get(operand.switch, f"state-{operand.switch}")
        for operand, found in sets
        if (found.get("status") or {}).get("desiredNumberScheduled", 0)
        and (found["status"].get("numberUnavailable") or 0)
    ]


def has_gpu(labels: Mapping[str, str]) -> bool:
    """Whether node feature discovery has found a GPU on the node."""
    return labels.get(_GPU) == "true"


def verdict(nodes: Sequence[Mapping[str, str]], waiting: Sequence[str]) -> tuple[bool, str, str]:
    """Whether it is ready, the reason and the message, from all nodes' labels. No GPU node at all is ready as well."""
    if waiting:
        text = f"ClusterPolicy is not ready, states not ready: [{' '.join(waiting)}]"
        return False, "OperandNotReady", text
    if not any(label.startswith(FEATURES) for labels in nodes for label in labels):
        return True, "NFDLabelsMissing", "No NFD labels found"
    if not any(has_gpu(labels) for labels in nodes):
        return True, "NoGPUNodes", "No GPU node found, watching for new nodes to join the cluster."
    return True, "Reconciled", "ClusterPolicy is ready as all resources have been successfully reconciled"


def status(before: Mapping[str, Any], namespace: str, said: tuple[bool, str, str]) -> Object:
    """The ClusterPolicy's status after `before`. A condition keeps its time while its status stays."""
    ready, reason, message = said
    facts = {
        "Ready": (ready, reason if ready else "Error", message if ready else ""),
        "Error": (not ready, "Ready" if ready else reason, "" if ready else message),
    }
    known = {each["type"]: each for each in before.get("conditions") or []}

    def condition(kind: str, holds: bool, why: str, text: str) -> Object:
        value, old = str(holds), known.get(kind, {})
        since = old["lastTransitionTime"] if old.get("status") == value else now()
        return {"type": kind, "status": value, "reason": why, "message": text, "lastTransitionTime": since}

    return {
        "state": "ready" if ready else "notReady",
        "namespace": namespace,
        "conditions": [condition(kind, *fact) for kind, fact in facts.items()],
    }
