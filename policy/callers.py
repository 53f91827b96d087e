"""Rules about NetworkPolicies between pods and who calls them: the API server, a Service's users."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policy.gangs import metadata_of, namespace_of, spec_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.kubernetes import BUILT_IN_NAMESPACES
from policy.owners import IN_CHARTS, chart_of
from policy.places import is_told
from policy.pods import Pod, is_kubernetes, pods
from policy.rule import Finding, rule
from policy.selectors import holds_all, object_named, selected, selects, worn
from policy.traffic import NAME_OF_NAMESPACE, allowed, allows_port, labels_of, meaning, peers_of, policies
from policy.words import environment, tokens

API_PORTS = (443, 6443)
OPERATORS = (
    "cert-manager",
    "gpu-operator",
    "jobset",
    "keda",
    "kubeflow-trainer",
    "kueue",
    "lws",
    "network-operator",
    "volcano",
)
"""Charts whose pods ask the API server and answer its webhooks."""


@rule(
    source="Kubernetes: Network Policies (no podSelector means the API server), Dynamic Admission Control",
    remedy="allow the port of the webhook from anywhere (no `from`), and egress to the API server on 443 by an ipBlock",
)
def policies_leave_the_api(graph: Graph) -> Iterator[Finding]:
    """The API server reaches the pods behind webhooks, and pods with rights reach the API server (NW08)."""
    for hook in graph.of_type("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        for given in hook.inputs.get("webhooks") or []:
            asked = (given.get("clientConfig") or {}).get("service") or {}
            service = object_named(graph, "Service", asked.get("namespace", ""), asked.get("name", ""))
            for pod, port in _behind(graph, service, asked.get("port", 443)) if service else ():
                rules = allowed(meaning(graph, pod), "Ingress")
                if rules is not None and not any(_from_outside(each) and _open_at(each, pod, port) for each in rules):
                    yield pod.owner, f"serves the webhook {given.get('name')} but is closed to the API server at {port}"
    bound = _bound(graph)
    for pod in pods(graph):
        if (pod.namespace, pod.spec.get("serviceAccountName")) in bound:
            rules = allowed(meaning(graph, pod), "Egress")
            if rules is not None and not any(_reaches_api(each) for each in rules):
                yield pod.owner, "has permissions in the API but cannot reach it: egress is closed"
    yield from _of_charts(graph)


def _whole_namespace(graph: Graph, namespace: str) -> list[Resource]:
    """The policies of a namespace that mean all its pods."""
    found = [each for each in policies(graph) if namespace_of(each) == namespace]
    return [each for each in found if not spec_of(each).get("podSelector")]


def _of_charts(graph: Graph) -> Iterator[Finding]:
    """What policies leave the pods of charts, of which nothing is known but that they ask the API server."""
    for each in graph.of_type(*IN_CHARTS):
        namespace = str(each.inputs.get("namespace") or "default")
        found = _whole_namespace(graph, namespace)
        out, into = allowed(found, "Egress"), allowed(found, "Ingress")
        if chart_of(each) in OPERATORS and out is not None and not any(_reaches_api(given) for given in out):
            yield each.name, f"has operators in {namespace}, whose policies close egress to the API server"
        if chart_of(each) in OPERATORS and into is not None and not any(_from_outside(given) for given in into):
            yield each.name, f"answers webhooks in {namespace}, whose policies close ingress to the API server"


def _reaches_api(given: Mapping[str, Any]) -> bool:
    return _from_outside(given) and any(allows_port(given, "TCP", port, port) for port in API_PORTS)


def _from_outside(given: Mapping[str, Any]) -> bool:
    return not peers_of(given) or any("ipBlock" in peer for peer in peers_of(given))


def _behind(graph: Graph, service: Resource, port: Any) -> Iterator[tuple[Pod, Any]]:
    """The pods behind a Service's port, and their own port."""
    for each in spec_of(service).get("ports") or []:
        if port in (each.get("port"), each.get("name")):
            selector = {"matchLabels": spec_of(service).get("selector") or {}}
            for pod in selected(graph, namespace_of(service), selector):
                yield pod, each.get("targetPort", each.get("port"))


def _open_at(given: Mapping[str, Any], pod: Pod, port: Any) -> bool:
    """Whether a rule allows a pod's port, by number or by name."""
    named = {each.get("name"): each.get("containerPort") for one in pod.containers for each in one.get("ports") or []}
    number = int(port) if str(port).isdigit() else named.get(port)
    asked = [each.get("port") for each in given.get("ports") or []]
    return port in asked or number is None or allows_port(given, "TCP", number, number)


def _bound(graph: Graph) -> set[tuple[str, str]]:
    """(namespace, name) of the service accounts that have rights."""
    return {
        (subject.get("namespace", ""), subject.get("name", ""))
        for each in graph.of_type("RoleBinding", "ClusterRoleBinding")
        for subject in each.inputs.get("subjects") or []
        if is_kubernetes(each) and subject.get("kind") == "ServiceAccount"
    }


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/services-networking/network-policies/",
    remedy="allow ingress at the Service's target port from its clients",
)
def policies_leave_services(graph: Graph) -> Iterator[Finding]:
    """A pod behind a Service admits somebody at the Service's port (NW08)."""
    for service in graph.of_type("kubernetes:core/v1:Service"):
        for port in spec_of(service).get("ports") or []:
            for pod, target in _behind(graph, service, port.get("port")):
                rules = allowed(meaning(graph, pod), "Ingress")
                if rules is not None and not any(_open_at(each, pod, target) for each in rules):
                    yield service.name, f"leads to {pod.owner}, whose policies admit nobody at {target}"


def _peers(graph: Graph) -> Iterator[tuple[Resource, Mapping[str, Any], Mapping[str, Any]]]:
    """(policy, rule, peer) of everybody whom policies name."""
    for each in policies(graph):
        for way in ("ingress", "egress"):
            for given in spec_of(each).get(way) or []:
                yield from ((each, given, peer) for peer in peers_of(given))


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/services-networking/network-policies/"
    "#targeting-a-namespace-by-its-name: every namespace has "
    "kubernetes.io/metadata.name, and none a label name by itself",
    remedy="namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}",
)
def policies_name_a_namespace(graph: Graph) -> Iterator[Finding]:
    """A NetworkPolicy that names a namespace names one that is there (NW08)."""
    made = [str(metadata_of(each).get("name")) for each in graph.of_type("Namespace") if is_kubernetes(each)]
    for each, _, peer in _peers(graph) if made and UNKNOWN not in made else ():
        selector = peer.get("namespaceSelector") or {}
        named = {NAME_OF_NAMESPACE, "name"} & (selector.get("matchLabels") or {}).keys()
        there = {*made, *BUILT_IN_NAMESPACES, *(str(one.inputs.get("namespace")) for one in graph.of_type(*IN_CHARTS))}
        if named and not any(selects(selector, labels_of(graph, name)) for name in there):
            yield each.name, f"names a namespace with {selector['matchLabels']}, which none has"


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/services-networking/network-policies/ (ports are the "
    "pods': a Service's address is rewritten before a policy sees the packet)",
    remedy="name the port that the pods listen on: the Service's targetPort",
)
def policies_open_the_ports_of_pods(graph: Graph) -> Iterator[Finding]:
    """A NetworkPolicy opens the port that pods listen on, not that of their Service (NW08)."""
    for service in graph.of_type("kubernetes:core/v1:Service"):
        for port in spec_of(service).get("ports") or []:
            found = list(_behind(graph, service, port.get("port")))
            listening = {
                one.get("containerPort")
                for pod, _ in found
                for each in pod.containers
                for one in each.get("ports") or []
            }
            if not listening or port.get("port") in listening:
                continue
            for each, given, peer in _peers(graph):
                asked = [one.get("port") for one in given.get("ports") or []]
                place = peer.get("namespaceSelector") is None and namespace_of(each) == namespace_of(service)
                meant = any(selects(peer.get("podSelector"), worn(pod)) for pod, _ in found)
                if "to" in given and place and meant and port.get("port") in asked and not listening & set(asked):
                    shown = ", ".join(sorted(map(str, listening)))
                    yield each.name, f"opens {port.get('port')} of {service.name}, whose pods listen on {shown}"


_ADDRESS = re.compile(r"\b(https?)://([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?(?::(\d+))?(?![\w.-])")
_USUAL = {"http": 80, "https": 443}


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/ (NAME.NAMESPACE.svc); "
    "a Service's port is what its callers name, targetPort what its pods listen on",
    remedy="name a Service that is registered, in its namespace, and one of its ports",
)
def addresses_lead_to_a_service(graph: Graph) -> Iterator[Finding]:
    """An address in a pod's words or variables is that of a Service that is there, at one of its ports (Q06)."""
    unknown = any(each.inputs.get("namespace") == UNKNOWN for each in graph.of_type(*IN_CHARTS))
    for pod in pods(graph):
        for container in pod.containers:
            said = [*tokens(container), *(str(value) for _, value in environment(graph, pod, container))]
            for scheme, name, place, port in {each for text in said for each in _ADDRESS.findall(text)}:
                found = object_named(graph, "Service", place, name)
                if found is None and not unknown and holds_all(graph, place):
                    yield pod.owner, f"calls {scheme}://{name}.{place}.svc, and nothing makes the Service {name} there"
                ports = [each.get("port") for each in (spec_of(found).get("ports") or [])] if found else []
                asked = int(port or _USUAL[scheme])
                if ports and asked not in ports:
                    yield (
                        pod.owner,
                        f"calls {name}.{place}.svc at {asked}; that Service has {', '.join(map(str, ports))}",
                    )


@rule(
    source="Kubernetes: https://kubernetes.io/docs/concepts/services-networking/network-policies/ (podSelector chooses "
    "whom a policy is about; what no policy opens stays closed)",
    remedy="let podSelector be the labels of the pods' template",
)
def policies_mean_somebody(graph: Graph) -> Iterator[Finding]:
    """Pods that a NetworkPolicy is about, or names in its own namespace, are there: else they stay shut out (NW08)."""
    named = [(each, "is about", spec_of(each).get("podSelector") or {}) for each in policies(graph)]
    own = [(each, peer) for each, _, peer in _peers(graph) if peer.get("namespaceSelector") is None]
    named += [(each, "lets through", peer.get("podSelector") or {}) for each, peer in own]
    for each, how, selector in named:
        place, labels = namespace_of(each), selector.get("matchLabels") or {}
        if not labels or UNKNOWN in str(selector) or not holds_all(graph, place):
            continue
        later = all(is_told(graph, str(value)) for value in labels.values())
        if not later and not list(selected(graph, place, selector)):
            yield each.name, f"{how} pods in {place} with {labels}, which none there has"
