"""Rules about what leads to pods, and what keeps them there: Services, monitors, webhooks, disruption budgets."""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

from policy.gangs import copies, metadata_of, namespace_of, roles, spec_of, together, whole
from policy.graph import Graph, Resource
from policy.pods import Pod, is_kubernetes, pods
from policy.rule import Finding, rule
from policy.selectors import holds_all, makes_unseen, object_named, selected, selects, worn
from policy.words import flag

PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def _ports(pod: Pod) -> list[Mapping[str, Any]]:
    return [port for each in pod.containers for port in each.get("ports") or []]


def _services(graph: Graph) -> list[Resource]:
    return [
        each
        for each in graph.of_type("kubernetes:core/v1:Service")
        if spec_of(each).get("selector") and spec_of(each).get("type") != "ExternalName"
    ]


@rule(
    source="Kubernetes: Service, endpoints of a selector; "
    "https://kubernetes.io/docs/concepts/services-networking/service/",
    remedy="let the selector be the labels of the pod's template, and targetPort a port that its container declares",
)
def services_lead_to_pods(graph: Graph) -> Iterator[Finding]:
    """A Service selects existing pods, at ports that they listen on (Q06)."""
    for each in _services(graph):
        found = list(selected(graph, namespace_of(each), {"matchLabels": spec_of(each)["selector"]}))
        if not found and holds_all(graph, namespace_of(each)):
            yield (
                each.name,
                f"selects pods with {spec_of(each)['selector']}, which no template in {namespace_of(each)} has",
            )
        for pod in found:
            declared = _ports(pod)
            for port in spec_of(each).get("ports") or []:
                target = port.get("targetPort", port.get("port"))
                known = [given.get("containerPort") for given in declared]
                known += [given.get("name") for given in declared]
                if target not in known and (declared or not str(target).isdigit()):
                    yield each.name, f"leads to the port {target} of {pod.owner}, which declares {_said(declared)}"


def _said(ports: list[Mapping[str, Any]]) -> str:
    return ", ".join(f"{each.get('name', 'no name')} {each.get('containerPort')}" for each in ports) or "none"


@rule(
    source="Kubernetes: a named port is one of the container's own; "
    "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
    remedy="declare the port that --port names, and let probes and Services name it",
)
def containers_listen_where_asked(graph: Graph) -> Iterator[Finding]:
    """A container declares the port in its arguments, and its probes use that port or a sidecar's (Q04).

    A probe goes to the pod's address: it does not reach a server on loopback, but may reach a sidecar's port.
    """
    for pod in pods(graph):
        everybodys = [port.get("containerPort") for each in pod.containers for port in each.get("ports") or []]
        for each in pod.containers:
            declared = [port.get("containerPort") for port in each.get("ports") or []]
            names = [port.get("name") for port in each.get("ports") or []]
            said = flag(each, "port")
            if said and said.isdigit() and declared and int(said) not in declared:
                yield pod.owner, f"listens on {said} and declares {', '.join(map(str, declared))} ({each.get('name')})"
            for name in PROBES:
                probe = each.get(name) or {}
                port = (probe.get("httpGet") or probe.get("tcpSocket") or probe.get("grpc") or {}).get("port")
                asked = port is not None and not str(port).isdigit()
                if asked and port not in names:
                    yield (
                        pod.owner,
                        f"is asked by its {name} on the port {port}, which {each.get('name')} does not declare",
                    )
                elif (
                    port is not None
                    and not asked
                    and said
                    and said.isdigit()
                    and int(port) not in (*everybodys, *(() if _inside(each) else (int(said),)))
                ):
                    where = f"{said} of its loopback" if _inside(each) else said
                    yield pod.owner, f"is asked by its {name} on {port} and listens on {where}"


def _inside(container: Mapping[str, Any]) -> bool:
    """Whether a container listens on the pod's loopback only."""
    return flag(container, "host") in ("127.0.0.1", "localhost", "::1")


def _backends(each: Resource) -> Iterator[tuple[str, str, Any]]:
    """(namespace, Service, port) of what an object sends requests to."""
    for hook in each.inputs.get("webhooks") or []:
        if service := (hook.get("clientConfig") or {}).get("service"):
            yield service.get("namespace", "default"), service.get("name", ""), service.get("port", 443)
    if each.kind == "APIService" and (service := spec_of(each).get("service")):
        yield service.get("namespace", "default"), service.get("name", ""), service.get("port", 443)
    for given in spec_of(each).get("rules") or [] if each.kind == "Ingress" else ():
        for path in (given.get("http") or {}).get("paths") or []:
            service = (path.get("backend") or {}).get("service") or {}
            port = service.get("port") or {}
            yield namespace_of(each), service.get("name", ""), port.get("name", port.get("number"))


def _is_ours(graph: Graph, namespace: str) -> bool:
    """Whether the program makes what is in a namespace: it puts something there, or makes namespaces without it."""
    own = [metadata_of(each).get("name") for each in graph.of_type("Namespace") if is_kubernetes(each)]
    return bool(own) or any(namespace_of(each) == namespace for each in graph.of_type("Service", "Deployment"))


@rule(
    source="Kubernetes: Dynamic Admission Control, failurePolicy; "
    "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/",
    remedy="name a Service that is registered, in its namespace, and one of its ports",
)
def requests_reach_a_service(graph: Graph) -> Iterator[Finding]:
    """A webhook, an APIService and an Ingress name an existing Service and one of its ports (KJ15)."""
    for each in graph.resources.values():
        for namespace, name, port in _backends(each) if is_kubernetes(each) else ():
            service = object_named(graph, "Service", namespace, name)
            if service is None:
                if _is_ours(graph, namespace) and not makes_unseen(graph, namespace):
                    yield each.name, f"names the Service {name} in {namespace}, which nothing creates"
                continue
            ports = [
                value
                for given in spec_of(service).get("ports") or []
                for value in (given.get("port"), given.get("name"))
            ]
            if port not in ports:
                yield each.name, f"names port {port} of the Service {name}, which has no such port"


@rule(
    source="Prometheus operator: ServiceMonitor, endpoints.port is the name of a Service's port; "
    "https://prometheus-operator.dev/docs/api-reference/api/",
    remedy="let the monitor select the Service's labels and name its port",
)
def monitors_find_their_service(graph: Graph) -> Iterator[Finding]:
    """A ServiceMonitor selects an existing Service, and names one of its ports (Q06)."""
    for each in graph.of_type("ServiceMonitor"):
        spec = spec_of(each)
        given = spec.get("namespaceSelector") or {}
        places = given.get("matchNames") or [namespace_of(each)]
        if given.get("any") or any(makes_unseen(graph, place) for place in places):
            continue
        services = [one for one in graph.of_type("kubernetes:core/v1:Service") if namespace_of(one) in places]
        found = [one for one in services if selects(spec.get("selector") or {}, metadata_of(one).get("labels") or {})]
        names = [port.get("name") for one in found for port in spec_of(one).get("ports") or []]
        if services and not found:
            yield each.name, f"selects no Service in {', '.join(places)}"
        for endpoint in spec.get("endpoints") or [] if found else ():
            if endpoint.get("port") and endpoint["port"] not in names:
                yield each.name, f"asks for the port {endpoint['port']}; its Service has {', '.join(map(str, names))}"


def _replicas(graph: Graph, pod: Pod) -> int:
    """How many pods there are at least of what a budget looks at."""
    for each in graph.of_type("HorizontalPodAutoscaler"):
        target = spec_of(each).get("scaleTargetRef") or {}
        if (namespace_of(each), target.get("name")) == (pod.namespace, metadata_of(pod.maker).get("name")):
            return whole(spec_of(each).get("minReplicas"), 1)
    return copies(pod)


def _kept(least: str, number: int) -> int:
    """How many of `number` pods a minAvailable keeps; a percentage is rounded up."""
    digits = least.removesuffix("%")
    if not digits.isdigit():
        return 0
    return ceil(int(digits) * number / 100) if least.endswith("%") else int(digits)


@rule(
    source="Kubernetes: Specifying a Disruption Budget; https://kubernetes.io/docs/tasks/run-application/configure-pdb/",
    remedy="write maxUnavailable: 1, one budget for each workload, with the labels of its template; none for a gang",
)
def budgets_let_nodes_drain(graph: Graph) -> Iterator[Finding]:
    """A disruption budget selects existing servers that no other budget selects, and allows one disruption (J15)."""
    seen: dict[str, str] = {}
    for each in graph.of_type("PodDisruptionBudget"):
        spec = spec_of(each)
        found = list(selected(graph, namespace_of(each), spec.get("selector") or {}))
        if not found and holds_all(graph, namespace_of(each)):
            yield each.name, f"selects no pod in {namespace_of(each)}"
        for pod in found:
            if pod.owner in seen and seen[pod.owner] != each.name:
                yield (
                    each.name,
                    (f"selects {pod.owner}, which {seen[pod.owner]} selects too: then no eviction is allowed"),
                )
            if pod.owner not in seen and roles(pod.maker) and together(pod, found) > 1:
                yield each.name, f"lets pods of {pod.owner} go one by one, and without the first the gang stands still"
            seen.setdefault(pod.owner, each.name)
        number = sum(_replicas(graph, pod) for pod in found)
        least, most = str(spec.get("minAvailable", "")), str(spec.get("maxUnavailable", ""))
        if most in ("0", "0%") or (found and _kept(least, number) >= number):
            yield (
                each.name,
                (f"allows no disruption of {number} pods ({least or most}): a node with one can never be drained"),
            )


@rule(
    source="Kubernetes: Deployments, Selector; "
    "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#selector",
    remedy="give each controller labels of its own, the same in selector and template",
)
def controllers_know_their_pods(graph: Graph) -> Iterator[Finding]:
    """A controller's selector matches its own pods and no others (Q01)."""
    found = list(pods(graph))
    for pod in found:
        selector = spec_of(pod.maker).get("selector")
        if pod.kind not in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet") or not isinstance(
            selector, Mapping
        ):
            continue
        if not selects(selector, pod.labels):
            yield pod.owner, f"selects {selector.get('matchLabels')} and labels its pods {dict(pod.labels)}"
        for other in found:
            if other.maker is not pod.maker and other.namespace == pod.namespace and selects(selector, worn(other)):
                yield pod.owner, f"selects the pods of {other.owner} too"
