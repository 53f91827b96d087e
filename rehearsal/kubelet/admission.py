"""Whether a kubelet takes a pod that a scheduler bound to its node.

Two schedulers (the default one and Volcano) place pods here without knowing of each other's latest bindings, so the
kubelet's own check matters. Source: pkg/kubelet/lifecycle/predicate.go and pkg/kubelet/cm/devicemanager of Kubernetes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.kube.quantities import Amounts, amounts, largest, total

Object = Mapping[str, Any]
_REASONS = {"cpu": "OutOfcpu", "memory": "OutOfmemory", "ephemeral-storage": "OutOfephemeral-storage"}


@dataclass(frozen=True)
class Refusal:
    """Why the pod becomes Failed at once: reason and message of its status."""

    reason: str
    message: str


def requests(pod: Object) -> Amounts:
    """What a pod needs: the sum over containers and sidecars, at least the largest init container, plus overhead."""
    spec = pod["spec"]
    inits = spec.get("initContainers") or []
    sidecars = [_of(each) for each in inits if each.get("restartPolicy") == "Always"]
    running = total([*(_of(each) for each in spec["containers"]), *sidecars])
    needed = largest([running, *(_of(each) for each in inits if each.get("restartPolicy") != "Always")])
    return total([needed, amounts(spec.get("overhead")), {"pods": amounts({"pods": 1})["pods"]}])


def _of(container: Object) -> Amounts:
    """Requests, with limits standing in where only a limit is given (the API server does so for CPU and memory)."""
    resources = container.get("resources") or {}
    return {**amounts(resources.get("limits")), **amounts(resources.get("requests"))}


def refusal(pod: Object, node: Object, others: Iterable[Amounts]) -> Refusal | None:
    """None if the pod fits what is left of the node's allocatable besides the pods already admitted."""
    needed, used = requests(pod), total(others)
    allocatable = amounts((node.get("status") or {}).get("allocatable"))
    for name, amount in sorted(needed.items()):
        if amount == 0:
            continue
        free = allocatable.get(name, amount * 0) - used.get(name, amount * 0)
        if amount <= free:
            continue
        if "/" in name:
            return Refusal(
                "UnexpectedAdmissionError",
                f"Allocate failed due to requested number of devices unavailable for {name}. Requested: {int(amount)}, "
                f"Available: {max(0, int(free))}, which is unexpected",
            )
        scale = 1000 if name == "cpu" else 1
        return Refusal(
            _REASONS.get(name, f"OutOf{name}"),
            f"Node didn't have enough resource: {name}, requested: {int(amount * scale)}, "
            f"used: {int(used.get(name, 0) * scale)}, capacity: {int(allocatable.get(name, 0) * scale)}",
        )
    return selector_refusal(pod, node)


def selector_refusal(pod: Object, node: Object) -> Refusal | None:
    """A pod put on a node by name still has to match it, and tolerate its NoExecute taints."""
    labels = node["metadata"].get("labels") or {}
    wanted = pod["spec"].get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return Refusal("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match selector")
    return None
