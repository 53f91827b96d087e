"""What a waiting gang asks for and nodes do not have left.

Volcano's `allocate` passes over a gang whose queue has nothing left of a resource, and says no more of it than `pod
group is not ready` (volcano pkg/scheduler/actions/allocate/allocate.go and plugins/gang: no node has been tried).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]


def scarce(waiting: Iterable[Object], pods: Iterable[Object], nodes: Iterable[Object]) -> list[str]:
    """A sentence for each extended resource of which the waiting pods ask more than there is left of it."""
    asked, taken, offered = Counter[str](), Counter[str](), Counter[str]()
    for pod in waiting:
        if not pod["spec"].get("nodeName"):
            asked += _extended(pod)
    for pod in pods:
        if pod["spec"].get("nodeName") and (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
            taken += _extended(pod)
    for node in nodes:
        allocatable = (node.get("status") or {}).get("allocatable") or {}
        offered += Counter({name: int(amount) for name, amount in allocatable.items() if "/" in name})
    return [
        f"{amount} {name} asked for, nodes have {offered[name]} and {taken[name]} of it taken"
        for name, amount in sorted(asked.items())
        if amount > offered[name] - taken[name]
    ]


def _extended(pod: Object) -> Counter[str]:
    found = Counter[str]()
    for container in pod["spec"].get("containers") or ():
        requests = (container.get("resources") or {}).get("requests") or {}
        found += Counter({name: int(amount) for name, amount in requests.items() if "/" in name})
    return found
