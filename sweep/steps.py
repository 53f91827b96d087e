"""What is removed in a cluster before its stack is destroyed, in which order, and by which words of kubectl."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sweep.kubectl import WAIT_SECONDS, Kubectl, Object, VacateError, name

OWN_MANAGER = "pulumi-kubernetes"
"""How the field manager of an object begins that Pulumi applied (pulumi-kubernetes, fieldManagerName)."""
NODE_POOLS = "nodepools.karpenter.sh"
"""Pools of Karpenter's. One that is deleted takes its nodes along, each drained first (karpenter.sh, Disruption)."""
PROVISIONED = "pv.kubernetes.io/provisioned-by"
"""On volumes that a driver made for a claim (external-provisioner, pkg/controller)."""
RUNS = (
    "pytorchjobs.kubeflow.org",
    "mpijobs.kubeflow.org",
    "trainjobs.trainer.kubeflow.org",
    "experiments.kubeflow.org",
)
HELM = ("meta.helm.sh/release-name", "helm.sh/hook")
"""Annotations of what Helm installed, and of hooks, which it leaves out of its releases (helm.sh, Chart Hooks)."""
WORKLOADS = "deployments,statefulsets,daemonsets,replicasets,jobs,cronjobs,pods"
LOOK_SECONDS = 3.0


@dataclass(frozen=True)
class Step:
    """One removal. `words` are kubectl's behind `delete`, `why` is what goes with it."""

    words: tuple[str, ...]
    why: str


def steps(
    namespaces: Sequence[Object],
    asking: Sequence[Object],
    claims: Iterable[Object],
    pools: Sequence[Object] = (),
    working: Iterable[Object] = (),
) -> list[Step]:
    """What to remove, in order: what asks for load balancers, anywhere; then namespaces with `claims`, whole, and
    `pools` of Karpenter's, that Pulumi did not make; and of those `working` in the stack's namespaces what somebody
    sent by hand. What Pulumi made it also destroys, in its own order.

    In a namespace of Kubernetes' own the workloads go, and the claims.
    """
    found = [
        Step((each["kind"].lower(), name(each), "--namespace", space(each)), "its load balancer")
        for each in asking
        if each["kind"] == "Ingress" or each["spec"].get("type") == "LoadBalancer"
    ]
    ours = {name(each) for each in namespaces if applied(each)}
    volumes: dict[str, int] = {}
    for claim in claims:
        if space(claim) not in ours:
            volumes[space(claim)] = volumes.get(space(claim), 0) + 1
    for where, number in sorted(volumes.items()):
        why = f"{number} {'volume' if number == 1 else 'volumes'}"
        if where == "default":
            found.append(Step((WORKLOADS, "--all", "--namespace", where), f"what uses its {why}"))
            found.append(Step(("persistentvolumeclaims", "--all", "--namespace", where), why))
        elif not where.startswith("kube-"):
            found.append(Step(("namespace", where), why))
    found += [Step((NODE_POOLS, name(each)), "its nodes") for each in pools if not applied(each)]
    found += [
        Step((each["kind"].lower(), name(each), "--namespace", space(each)), "its pods, which hold claims of the stack")
        for each in working
        if space(each) in ours and by_hand(each)
    ]
    return found


def dynamic(claims: Iterable[Object], volumes: Iterable[Object]) -> Iterator[Object]:
    """The claims whose volume a driver made, and removes with them."""
    made = {name(each) for each in volumes if goes(each)}
    return (each for each in claims if each["spec"].get("volumeName") in made)


def goes(volume: Object) -> bool:
    """Whether a driver made this volume and removes it when its claim goes."""
    notes = volume["metadata"].get("annotations") or {}
    return PROVISIONED in notes and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"


def applied(thing: Object) -> bool:
    """Whether Pulumi applied it."""
    managers = thing["metadata"].get("managedFields") or ()
    return any(str(each.get("manager", "")).startswith(OWN_MANAGER) for each in managers)


def by_hand(thing: Object) -> bool:
    """Whether somebody made it who is neither Pulumi nor Helm nor a controller."""
    meta = thing["metadata"]
    notes = meta.get("annotations") or {}
    return not (applied(thing) or meta.get("ownerReferences") or any(each in notes for each in HELM))


def space(thing: Object) -> str:
    return str(thing["metadata"].get("namespace", ""))


def planned(kubectl: Kubectl) -> list[Step]:
    """What is to be removed now."""
    claims = dynamic(kubectl.all("persistentvolumeclaims"), kubectl.all("persistentvolumes"))
    defined = kubectl.kinds()
    pools = kubectl.all(NODE_POOLS) if NODE_POOLS in defined else []
    working = kubectl.all(",".join((WORKLOADS, *(each for each in RUNS if each in defined))))
    return steps(kubectl.all("namespaces"), kubectl.all("services,ingresses"), claims, pools, working)


def vacate(kubectl: Kubectl, found: Iterable[Step], pause: Callable[[float], None] = time.sleep) -> None:
    """Remove it, in order, and wait for the volumes. Raises VacateError."""
    for each in found:
        kubectl.delete(each.words)
    deadline = time.monotonic() + WAIT_SECONDS
    while left := [each for each in kubectl.all("persistentvolumes") if goes(each) and released(each)]:
        if time.monotonic() > deadline:
            raise VacateError(f"still there after {WAIT_SECONDS} s: {', '.join(map(name, left))}")
        pause(LOOK_SECONDS)


def released(volume: Object) -> bool:
    """Whether its claim is gone, so that the driver is about to remove it."""
    return (volume.get("status") or {}).get("phase") in ("Released", "Failed")
