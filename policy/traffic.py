"""Rules about NetworkPolicies: what they leave to pods that cannot do without it."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from policy.gangs import metadata_of, namespace_of, spec_of, together
from policy.graph import UNKNOWN, Graph, Resource
from policy.pods import Pod, is_kubernetes, pods
from policy.rule import Finding, rule
from policy.selectors import makes_unseen, object_named, selected, selects, worn

NAME_OF_NAMESPACE = "kubernetes.io/metadata.name"
DNS = (
    "kube-system",
    {"k8s-app": "kube-dns", "app.kubernetes.io/name": "kube-dns", "eks.amazonaws.com/component": "coredns"},
)
EVERY_PORT = (1024, 65535)


def policies(graph: Graph) -> list[Resource]:
    """The NetworkPolicies of the graph."""
    return [each for each in graph.of_type("NetworkPolicy") if each.token.startswith("kubernetes:networking.k8s.io/")]


def _covers(policy: Resource, way: str) -> bool:
    """Whether a policy isolates its pods for Ingress or Egress."""
    spec = spec_of(policy)
    kinds = spec.get("policyTypes") or ["Ingress", *(["Egress"] if spec.get("egress") is not None else [])]
    return way in kinds


def allowed(found: list[Resource], way: str) -> list[Mapping[str, Any]] | None:
    """What policies allow together on one way; None where none of them isolates, which leaves everything."""
    isolating = [each for each in found if _covers(each, way)]
    return [rule for each in isolating for rule in spec_of(each).get(way.lower()) or []] if isolating else None


def peers_of(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Whom a rule names; none is everybody."""
    return given.get("to") or given.get("from") or []


def labels_of(graph: Graph, namespace: str) -> dict[str, str | None]:
    """The labels of a namespace, with the one that Kubernetes gives each."""
    there = object_named(graph, "Namespace", "default", namespace)
    labels = (metadata_of(there).get("labels") or {}) if there else {}
    return {**labels, NAME_OF_NAMESPACE: namespace}


def _reaches(
    graph: Graph, policy_namespace: str, peer: Mapping[str, Any], namespace: str, labels: Mapping[str, str | None]
) -> bool:
    """Whether a peer means pods with these labels in this namespace."""
    if "ipBlock" in peer:
        return ip_network(peer["ipBlock"]["cidr"], strict=False).prefixlen == 0 and not peer["ipBlock"].get("except")
    if (place := peer.get("namespaceSelector")) is None:
        inside = namespace == policy_namespace
    else:
        inside = selects(place, labels_of(graph, namespace))
    return inside and (peer.get("podSelector") is None or selects(peer["podSelector"], labels))


def allows_port(given: Mapping[str, Any], protocol: str, first: int, last: int) -> bool:
    """Whether a rule allows all ports of a range."""
    ports = given.get("ports")
    if not ports:
        return True
    for each in ports:
        port = each.get("port")
        if each.get("protocol", "TCP") != protocol:
            continue
        if port is None or (str(port).isdigit() and int(port) <= first and int(each.get("endPort", port)) >= last):
            return True
    return False


def meaning(graph: Graph, pod: Pod) -> list[Resource]:
    """The policies that mean a pod."""
    return [
        each
        for each in policies(graph)
        if namespace_of(each) == pod.namespace and selects(spec_of(each).get("podSelector") or {}, worn(pod))
    ]


def _resolves(graph: Graph, namespace: str, rules: list[Mapping[str, Any]], protocol: str) -> bool:
    place, labels = DNS
    for given in rules:
        if not allows_port(given, protocol, 53, 53):
            continue
        peers = peers_of(given)
        blocks = any("ipBlock" in peer for peer in peers) and bool(given.get("ports"))
        if not peers or blocks or any(_reaches(graph, namespace, peer, place, dict(labels)) for peer in peers):
            return True
    return False


@rule(
    source="Kubernetes: Network Policies (a policy of type Egress leaves what it names alone), "
    "well-known labels: kubernetes.io/metadata.name on every namespace",
    remedy="allow egress on port 53, UDP and TCP, to the namespaceSelector kubernetes.io/metadata.name: kube-system",
)
def policies_leave_dns(graph: Graph) -> Iterator[Finding]:
    """Pods with restricted egress can resolve names: port 53 of kube-system, UDP and TCP (NW08)."""
    for each in policies(graph):
        if not _covers(each, "Egress"):
            continue
        selector = spec_of(each).get("podSelector") or {}
        wanted = selector.get("matchLabels") or {}
        beside = [
            other
            for other in policies(graph)
            if namespace_of(other) == namespace_of(each)
            and (other is each or selects(spec_of(other).get("podSelector") or {}, wanted) or not selector)
        ]
        groups = [meaning(graph, pod) for pod in selected(graph, namespace_of(each), selector)] or [beside]
        for protocol in ("UDP", "TCP"):
            if any(
                not _resolves(graph, namespace_of(each), allowed(found, "Egress") or [], protocol) for found in groups
            ):
                yield each.name, f"restricts egress without {protocol} port 53 to kube-system: names cannot be resolved"


@rule(
    source="Kubernetes: Network Policies; training-operator v1.9 (port 23456); NCCL and Gloo listen on ephemeral ports",
    remedy="allow ingress and egress between the pods of the job (podSelector training.kubeflow.org/job-name: NAME), "
    "without ports",
)
def policies_leave_the_gang(graph: Graph) -> Iterator[Finding]:
    """Pods of one job reach each other on all ports, both ways (NW08)."""
    every = list(pods(graph))
    for pod in every:
        if together(pod, every) <= 1:
            continue
        others = [each for each in every if each.maker is pod.maker]
        for way in ("Ingress", "Egress"):
            rules = allowed(meaning(graph, pod), way)
            for other in others if rules is not None else ():
                if not any(
                    allows_port(given, "TCP", *EVERY_PORT)
                    and (
                        not peers_of(given)
                        or any(
                            _reaches(graph, pod.namespace, peer, pod.namespace, worn(other)) for peer in peers_of(given)
                        )
                    )
                    for given in rules or []
                ):
                    yield (
                        pod.owner,
                        f"cannot reach the pods of its own job on all ports: {way.lower()} is closed ({other.path})",
                    )


@rule(
    source="Kubernetes: Network Policies, default deny all ingress and all egress traffic (a pod that none selects is "
    "open both ways); https://kubernetes.io/docs/concepts/services-networking/network-policies/#default-policies",
    remedy="register a NetworkPolicy in the namespace with podSelector {}, policyTypes [Ingress, Egress] and neither "
    "ingress nor egress; what is allowed goes into policies of its own",
)
def namespaces_deny_by_default(graph: Graph) -> Iterator[Finding]:
    """A namespace that is made and gets pods denies what no other policy allows, both ways (NW08)."""
    denied = {(namespace_of(each), way) for each in policies(graph) for way in _denied(each)}
    if any(namespace == UNKNOWN for namespace, _ in denied):
        return
    made = [each for each in graph.of_type("Namespace") if is_kubernetes(each)]
    for each in made:
        namespace = str(metadata_of(each).get("name", ""))
        open_ways = [way.lower() for way in ("Ingress", "Egress") if (namespace, way) not in denied]
        if open_ways and _gets_pods(graph, namespace):
            yield (
                each.name,
                f"has pods and no NetworkPolicy that selects all and allows no {' and no '.join(open_ways)}",
            )


def _denied(policy: Resource) -> list[str]:
    """The ways that a policy closes for all pods of its namespace, without a rule that opens them again."""
    spec = spec_of(policy)
    selector = spec.get("podSelector") or {}
    if selector.get("matchLabels") or selector.get("matchExpressions"):
        return []
    return [way for way in ("Ingress", "Egress") if _covers(policy, way) and not spec.get(way.lower())]


def _gets_pods(graph: Graph, namespace: str) -> bool:
    """Whether pods that policies mean come into a namespace: by the program, a release, an operator, or by people.

    Pods on the host's network are meant by no policy. People may make pods where a role is bound to groups or users.
    """
    own = any(pod.namespace == namespace and not pod.spec.get("hostNetwork") for pod in pods(graph))
    people = (
        subject.get("kind") in ("Group", "User")
        for each in graph.of_type("RoleBinding")
        if namespace_of(each) == namespace
        for subject in each.inputs.get("subjects") or []
    )
    return own or makes_unseen(graph, namespace) or any(people)
