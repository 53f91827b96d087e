"""What somebody sent into a cluster by kubectl: its pods hold what the stack's destroy takes away.

A claim stays while a pod uses it (Kubernetes, "Storage Object in Use Protection"), so that a destroy waits for it until
its time is over, and fails.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rehearsal.kube.client import ApiError, Kube

BY_HAND = "kubectl"
"""How the field managers of kubectl's begin (kubectl, cmd/create and cmd/apply: kubectl-create, -client-side-apply)."""
BY_PROGRAMS = ("pulumi", "helm")

Object = Mapping[str, Any]


def sent(kube: Kube) -> Iterator[Object]:
    """What owns pods, is owned by nothing, and was made by kubectl and no program; each once."""
    seen: set[str] = set()
    for pod in kube.list("v1", "Pod"):
        top = _top(kube, pod | {"apiVersion": "v1", "kind": "Pod"})
        if top is not None and top["metadata"]["uid"] not in seen and by_hand(top):
            seen.add(top["metadata"]["uid"])
            yield top


def by_hand(thing: Object) -> bool:
    """Whether kubectl made it, and no program did or does anything about it."""
    managers = [str(each.get("manager", "")) for each in thing["metadata"].get("managedFields") or ()]
    typed = any(each.startswith(BY_HAND) for each in managers)
    return typed and not any(each.startswith(BY_PROGRAMS) for each in managers)


def _top(kube: Kube, thing: Object) -> Object | None:
    """The owner of its owners; None where one of them is gone, or of a kind that nobody serves."""
    owners = thing["metadata"].get("ownerReferences") or ()
    owner = next((each for each in owners if each.get("controller")), None)
    if owner is None:
        return thing
    try:
        found = kube.get(owner["apiVersion"], owner["kind"], owner["name"], thing["metadata"].get("namespace"))
    except ApiError:
        return None
    return None if found is None else _top(kube, found)
