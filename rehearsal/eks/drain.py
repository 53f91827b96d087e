"""Emptying a node before its machine goes: cordon, evict what can be evicted, wait.

Source: EKS user guide, "Understand each phase of node updates" (cordon, evict with respect to disruption budgets; pods
of DaemonSets stay) and Kubernetes' "API-initiated eviction".
"""

from collections.abc import Mapping
from typing import Any

from rehearsal.kube.client import ApiError
from rehearsal.kubelet.world import World

Object = Mapping[str, Any]


def cordon(world: World, node: str) -> None:
    """No more pods for the node."""
    found = world.find("nodes", node)
    if found is not None and not found["spec"].get("unschedulable"):
        world.kube.patch("v1", "Node", node, None, {"spec": {"unschedulable": True}})


def evict(world: World, node: str) -> list[str]:
    """Asks for the eviction of every pod that has to leave; the pods (namespace/name) still there."""
    left = []
    for pod in filter(leaves, world.on_node(node)):
        meta = pod["metadata"]
        left.append(f"{meta['namespace']}/{meta['name']}")
        if not meta.get("deletionTimestamp"):
            _evict(world, meta["namespace"], meta["name"])
    return left


def leaves(pod: Object) -> bool:
    """Whether a drain waits for the pod: not for DaemonSets', static or finished ones."""
    owners = pod["metadata"].get("ownerReferences") or []
    if any(owner["kind"] in ("DaemonSet", "Node") for owner in owners):
        return False
    return (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def _evict(world: World, namespace: str, name: str) -> None:
    """A disruption budget that says no (429) is asked again later."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
    try:
        world.kube.call("POST", world.kube.path("v1", "Pod", namespace, name, "eviction"), body)
    except ApiError as error:
        if error.code not in (404, 409, 429):
            raise
