"""Topology manager: whether what a pod asks for lies on as few NUMA nodes as the kubelet's policy wants. Pure.

Source: Kubernetes, pkg/kubelet/cm/topologymanager (policies, scopes, merging of hints), cm/devicemanager/
topology_hints.go (hints of devices) and cm/cpumanager (hints of whole CPUs, under policy static only, and with
full-pcpus-only whole cores: policy_static.go, enforceSMTAlignment). NodeConfig's
kubelet configuration and flags say the policy; EKS leaves it at `none`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from rehearsal.cloud.seen.hardware import Machine
from rehearsal.kube.quantities import Amounts, amounts
from rehearsal.kubelet.hosts import Host

Object = Mapping[str, Any]
Counts = tuple[int, ...]
Placed = Mapping[str, Counts]
"""What a pod holds of each resource, NUMA node by NUMA node."""

REASON = "TopologyAffinityError"
MESSAGE = "Resources cannot be allocated with Topology locality"
SMT_REASON = "SMTAlignmentError"
GPU = "nvidia.com/gpu"
POLICIES = ("best-effort", "restricted", "single-numa-node")
SOCKET_VCPUS = 96
TWO_SOCKETS = frozenset({"p4d.24xlarge", "p4de.24xlarge", "g4dn.metal", "hpc6id.32xlarge", "c5n.18xlarge"})
"""Smaller types of two sockets. EC2's API says nothing of NUMA nodes: one for each socket is assumed."""


@dataclass(frozen=True)
class Hint:
    """NUMA nodes that could hold a request; preferred if no fewer of the machine's could."""

    nodes: frozenset[int]
    preferred: bool


@dataclass(frozen=True)
class Settings:
    """What the kubelet's configuration says: policy, scope, whether whole CPUs are pinned, and whole cores alone."""

    policy: str
    scope: str
    pins_cpus: bool
    pins_cores: bool = False


def settings(node_config: Object) -> Settings:
    """The kubelet's settings in a NodeConfig, of which a flag wins over the configuration."""
    kubelet = node_config.get("kubelet") or {}
    flags = dict(flag.lstrip("-").partition("=")[::2] for flag in kubelet.get("flags") or [])
    config = kubelet.get("config") or {}

    def said(flag: str, key: str, default: str) -> str:
        return str(flags.get(flag) or config.get(key) or default)

    options = config.get("cpuManagerPolicyOptions") or {}
    return Settings(
        policy=said("topology-manager-policy", "topologyManagerPolicy", "none"),
        scope=said("topology-manager-scope", "topologyManagerScope", "container"),
        pins_cpus=said("cpu-manager-policy", "cpuManagerPolicy", "none") == "static",
        pins_cores=str(options.get("full-pcpus-only")).lower() == "true",
    )


def misaligned(pod: Object, host: Host) -> str | None:
    """Why the CPU manager refuses the pod, a container of which asks for a part of a core; None if none does.

    Types with an Arm processor have one thread a core, the others two (EC2 user guide, "CPU options").
    """
    said = settings(host.node_config)
    threads = 1 if host.machine.architecture == "arm64" else 2
    if not (said.pins_cpus and said.pins_cores):
        return None
    containers = [
        each.get("resources") or {} for key in ("initContainers", "containers") for each in pod["spec"].get(key) or []
    ]
    if not all(_exact(each) for each in containers):
        return None
    asked = (_whole(amounts(each.get("requests") or each.get("limits")), True).get("cpu", 0) for each in containers)
    odd = next((each for each in asked if each % threads), None)
    if odd is None:
        return None
    return f"SMT Alignment Error: requested {odd} cpus not multiple cpus per core = {threads}"


def numa_nodes(machine: Machine) -> int:
    """NUMA nodes of a type, as far as sockets tell."""
    return 2 if machine.vcpus > SOCKET_VCPUS or machine.instance_type in TWO_SOCKETS else 1


def place(pod: Object, host: Host, node: Object, others: Iterable[Placed]) -> Placed | None:
    """What the pod is given of the node's NUMA nodes; None if the policy refuses it."""
    said, count = settings(host.node_config), numa_nodes(host.machine)
    if said.policy not in POLICIES:
        return {}
    total = _total(said, host, node, count)
    free = {name: list(amount) for name, amount in total.items()}
    for held in others:
        for name, taken in held.items():
            free[name] = [left - part for left, part in zip(free.get(name, [0] * count), taken, strict=True)]
    given: dict[str, list[int]] = {}
    for request in _requests(pod, said):
        hints = [_hints(total[name], tuple(free[name]), amount) for name, amount in request.items() if name in total]
        best = merged(said.policy, hints, count)
        if said.policy != "best-effort" and not best.preferred:
            return None
        for name, amount in request.items():
            if name in total:
                taken = _taken(free[name], amount, best.nodes)
                free[name] = [left - part for left, part in zip(free[name], taken, strict=True)]
                given[name] = [before + part for before, part in zip(given.get(name, [0] * count), taken, strict=True)]
    return {name: tuple(parts) for name, parts in given.items()}


def merged(policy: str, hints: Sequence[Sequence[Hint]], count: int) -> Hint:
    """The narrowest preferred affinity that suits all resources; all NUMA nodes, not preferred, if there is none."""
    everything = frozenset(range(count))
    if policy == "single-numa-node":
        hints = [[each for each in some if len(each.nodes) == 1 and each.preferred] for some in hints]
    best = Hint(everything, False)
    for chosen in product(*hints):
        shared = everything.intersection(*(each.nodes for each in chosen))
        found = Hint(shared, all(each.preferred for each in chosen))
        if shared and (found.preferred, -len(shared)) > (best.preferred, -len(best.nodes)):
            best = found
    return best


def _hints(total: Counts, free: Counts, request: int) -> list[Hint]:
    masks = [mask for size in range(1, len(total) + 1) for mask in combinations(range(len(total)), size)]
    least = min((len(mask) for mask in masks if sum(total[i] for i in mask) >= request), default=len(total))
    return [Hint(frozenset(mask), len(mask) == least) for mask in masks if sum(free[i] for i in mask) >= request]


def _total(said: Settings, host: Host, node: Object, count: int) -> dict[str, Counts]:
    """What is told apart by NUMA node: GPUs (or their slices), and CPUs where whole ones are pinned."""
    allocatable = amounts((node.get("status") or {}).get("allocatable"))
    found = {GPU: int(allocatable[GPU])} if allocatable.get(GPU) else {}
    if said.pins_cpus:
        found["cpu"] = host.machine.vcpus
    parts = {name: [amount // count + (i < amount % count) for i in range(count)] for name, amount in found.items()}
    if said.pins_cpus:
        # What is reserved is never given away, and lies at the first (cm/cpumanager/policy_static.go, NewStaticPolicy).
        parts["cpu"][0] -= math.ceil(host.machine.vcpus - allocatable.get("cpu", host.machine.vcpus))
    return {name: tuple(amount) for name, amount in parts.items()}


def _requests(pod: Object, said: Settings) -> Iterator[dict[str, int]]:
    """Whole devices and pinned CPUs of each container, or of all of them together in scope `pod`."""
    containers = [each.get("resources") or {} for each in pod["spec"]["containers"]]
    first = [each.get("resources") or {} for each in pod["spec"].get("initContainers") or []]
    guaranteed = all(_exact(each) for each in (*containers, *first))
    each_asks = [_whole(amounts(each.get("requests") or each.get("limits")), guaranteed) for each in containers]
    if said.scope != "pod":
        yield from each_asks
        return
    names = {name for each in each_asks for name in each}
    yield {name: sum(each.get(name, 0) for each in each_asks) for name in names}


def _exact(resources: Object) -> bool:
    """Whether CPU and memory are limited to what is requested: with that in all containers, those that run first among
    them, a pod is Guaranteed (pkg/apis/core/v1/helper/qos/qos.go).
    """
    limits, requests = resources.get("limits") or {}, resources.get("requests") or resources.get("limits") or {}
    return all(name in limits and amounts(limits)[name] == amounts(requests).get(name) for name in ("cpu", "memory"))


def _whole(asked: Amounts, guaranteed: bool) -> dict[str, int]:
    found = {GPU: int(asked[GPU])} if asked.get(GPU) else {}
    if guaranteed and asked.get("cpu") and asked["cpu"] == int(asked["cpu"]):
        found["cpu"] = int(asked["cpu"])
    return found


def _taken(free: Sequence[int], amount: int, first: frozenset[int]) -> Counts:
    """Amounts from the NUMA nodes of the affinity, then from the others."""
    taken = [0] * len(free)
    for index in sorted(range(len(free)), key=lambda each: (each not in first, each)):
        taken[index] = min(max(0, free[index]), amount)
        amount -= taken[index]
    return tuple(taken)
