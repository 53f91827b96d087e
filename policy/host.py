"""Rules about pods on their node's own network: its ports, and how they resolve names."""

import re
from collections.abc import Iterator
from itertools import combinations

from policy.graph import Graph
from policy.pods import Pod, pods
from policy.rule import Finding, rule
from policy.words import environment, words

_OF_A_SERVICE = re.compile(r"\b[a-z0-9-]+\.[a-z0-9-]+\.svc\b")
_POD_NETWORK = "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/"


def _ports(pod: Pod) -> set[tuple[str, int]]:
    """(protocol, port) of its node that a pod takes."""
    key = "containerPort" if pod.spec.get("hostNetwork") else "hostPort"
    listed = [port for each in pod.containers for port in each.get("ports") or []]
    return {(each.get("protocol", "TCP"), each[key]) for each in listed if each.get(key)}


def _apart(one: Pod, other: Pod) -> bool:
    """Whether two pods select different nodes."""
    wanted = one.spec.get("nodeSelector") or {}
    return any(wanted.get(key, value) != value for key, value in (other.spec.get("nodeSelector") or {}).items())


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/configuration/overview/ (hostPort: each node has a port "
    "once; the scheduler leaves the second pod Pending: didn't have free ports)",
    remedy="give one of them another port, or select other nodes",
)
def host_ports_are_free(graph: Graph) -> Iterator[Finding]:
    """No daemon takes a port of its node that another pod there takes."""
    taking = [(pod, ports) for pod in pods(graph) if (ports := _ports(pod))]
    for (one, ports), (other, others) in combinations(taking, 2):
        daemon = "DaemonSet" in (one.kind, other.kind) and one.maker is not other.maker
        for protocol, port in sorted(ports & others) if daemon and not _apart(one, other) else ():
            yield other.owner, f"takes {protocol} port {port} of its node, which {one.owner} takes"


@rule(
    source=f"Kubernetes: {_POD_NETWORK}#pod-s-dns-policy (a pod with hostNetwork and ClusterFirst falls back to "
    "Default, the node's own resolver)",
    remedy="set dnsPolicy: ClusterFirstWithHostNet",
)
def host_networks_resolve_services(graph: Graph) -> Iterator[Finding]:
    """A pod on its node's network that names a Service resolves names by the cluster."""
    for pod in pods(graph):
        if not pod.spec.get("hostNetwork") or pod.spec.get("dnsPolicy", "ClusterFirst") in _BY_THE_CLUSTER:
            continue
        for container in pod.containers:
            told = [*words(container), *(value or "" for _, value in environment(graph, pod, container))]
            if found := next((hit for text in told if (hit := _OF_A_SERVICE.search(text))), None):
                yield pod.owner, f"names {found[0]} and asks its node's resolver, which knows no Services"


_BY_THE_CLUSTER = ("ClusterFirstWithHostNet", "None")
