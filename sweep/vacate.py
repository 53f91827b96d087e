"""`python -m sweep.vacate --stack lab`: what controllers and people made goes before what holds it is destroyed.

Load balancers and volumes that Services, Ingresses and claims asked for are in no state: once the cluster is gone
nobody removes them, and a load balancer's interfaces keep the subnets from going. So do nodes that Karpenter made for a
pool of somebody else's, which go with their pool. A run that was sent by hand holds the stack's claims: a destroy waits
ten minutes for them and fails. It works through `kubectl`, as
whoever may destroy the stack. The exit code is 0 where nothing of it is left, 1 where something is, 2 on wrong usage.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]

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
WAIT_SECONDS, LOOK_SECONDS = 600, 3.0


class VacateError(Exception):
    """Why nothing, or not everything, was done; the text is kubectl's or says what to type."""


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


def name(thing: Object) -> str:
    return str(thing["metadata"]["name"])


def space(thing: Object) -> str:
    return str(thing["metadata"].get("namespace", ""))


class Kubectl:
    """`kubectl` with the context that is current, or one that is named."""

    def __init__(self, binary: str = "kubectl", context: str | None = None) -> None:
        self._argv = [binary, *(("--context", context) if context else ())]

    def cluster(self) -> str:
        """The name of the context's cluster; an ARN where `aws eks update-kubeconfig` wrote it."""
        return self._run("config", "view", "--minify", "--output", "jsonpath={.contexts[0].context.cluster}")

    def all(self, kinds: str) -> list[Object]:
        """The objects of these kinds everywhere, with who manages their fields."""
        words = ("get", kinds, "--all-namespaces", "--output", "json", "--show-managed-fields")
        items: list[Object] = json.loads(self._run(*words))["items"]
        return items

    def kinds(self) -> frozenset[str]:
        """The kinds that somebody has defined in the cluster, as PLURAL.GROUP."""
        return frozenset(name(each) for each in self.all("customresourcedefinitions"))

    def delete(self, words: Sequence[str]) -> None:
        """Delete, and wait until finalizers have let it go."""
        self._run("delete", *words, "--ignore-not-found", "--wait", f"--timeout={WAIT_SECONDS}s")

    def _run(self, *words: str) -> str:
        try:
            done = subprocess.run([*self._argv, *words], capture_output=True, text=True, timeout=WAIT_SECONDS + 60)
        except FileNotFoundError:
            raise VacateError("kubectl is not on PATH: install it") from None
        except subprocess.TimeoutExpired:
            raise VacateError(f"kubectl {' '.join(words[:2])} gave no answer in {WAIT_SECONDS + 60} s") from None
        if done.returncode:
            raise VacateError(f"kubectl {' '.join(words[:2])}: {done.stderr.strip()}")
        return done.stdout.strip()


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


def main(arguments: list[str], *, ask: Callable[[str], str] = input) -> int:
    """Show, ask, remove."""
    parser = argparse.ArgumentParser(prog="python -m sweep.vacate", description=__doc__, allow_abbrev=False)
    parser.add_argument("--project", default="gpucluster", help="the Pulumi project")
    parser.add_argument("--stack", required=True, help="the stack that is to be destroyed")
    parser.add_argument("--context", help="kubectl's context (default: the current one)")
    parser.add_argument("--confirm", metavar="STACK", default="", help="the stack's name again, instead of the prompt")
    parser.add_argument("--kubectl", default="kubectl", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    kubectl, cluster = Kubectl(options.kubectl, options.context), f"{options.project}-{options.stack}"
    try:
        there = kubectl.cluster()
        if there.rpartition("/")[2] != cluster:
            print(f"kubectl talks to {there or 'no cluster'}, not to {cluster}: type", file=sys.stderr)
            print(f"aws eks update-kubeconfig --name {cluster}", file=sys.stderr)
            return 2
        return _vacate(kubectl, options.stack, options.confirm, ask)
    except VacateError as error:
        print(f"not done: {error}; run the same command again", file=sys.stderr)
        return 1


def _vacate(kubectl: Kubectl, stack: str, confirm: str, ask: Callable[[str], str]) -> int:
    found = planned(kubectl)
    if not found:
        print(f"nothing to remove; next: pulumi destroy --stack {stack}")
        return 0
    for each in found:
        print(f"delete {' '.join(each.words)}, and with it {each.why}")
    if (confirm or ask(f"they will be deleted permanently, with their data; type {stack}: ")).strip() != stack:
        print("nothing was removed")
        return 1
    vacate(kubectl, found)
    print(f"done; next: pulumi destroy --stack {stack}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
