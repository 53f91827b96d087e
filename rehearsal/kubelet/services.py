"""Whether anything answers behind a Service: from its ports to endpoints to the process that listens."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.kube.client import Kube

Object = Mapping[str, Any]
Listening = Callable[[str, str, int], bool]


@dataclass(frozen=True)
class Reach:
    """One port of a Service: reachable or not, and in one sentence why."""

    port: str
    ok: bool
    why: str


def reachable(kube: Kube, namespace: str, service: str, listening: Listening) -> list[Reach]:
    """Follows every port of a Service; `listening(namespace, pod, port)` says whether a container accepts there."""
    found = kube.get("v1", "Service", service, namespace)
    if found is None:
        return [Reach("", ok=False, why=f"there is no Service {namespace}/{service}")]
    selector = f"kubernetes.io/service-name={service}"
    slices = kube.list("discovery.k8s.io/v1", "EndpointSlice", namespace, label_selector=selector)
    return [follow(found, port, slices, listening) for port in found["spec"].get("ports") or []]


def unanswered(services: Iterable[Object], slices: Iterable[dict[str, Any]], listening: Listening) -> list[str]:
    """A sentence for each port behind which pods are ready and none of them listens. Pure but for `listening`.

    A Service without a ready pod is not told of: whoever keeps its pods says why they are not ready. Nor is one whose
    endpoints are no pods: the API server's own address is behind default/kubernetes.
    """
    behind: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in slices:
        owner = (each["metadata"].get("labels") or {}).get("kubernetes.io/service-name", "")
        behind.setdefault((each["metadata"]["namespace"], owner), []).append(each)
    return [
        reach.why
        for service in services
        for its in [behind.get((service["metadata"]["namespace"], service["metadata"]["name"]), [])]
        if any(_ready_pod(end) for part in its for end in part.get("endpoints") or [])
        for port in service["spec"].get("ports") or []
        for reach in [follow(service, port, its, listening)]
        if not reach.ok
    ]


def follow(service: Object, port: Object, slices: list[dict[str, Any]], listening: Listening) -> Reach:
    """One port: a ready endpoint whose container listens on the target port. Pure but for `listening`."""
    meta, name = service["metadata"], str(port.get("name") or port["port"])
    where = f"Service {meta['namespace']}/{meta['name']} port {name}"
    ready = [
        (endpoint["targetRef"]["name"], number)
        for each in slices
        for number in [_number(each, port)]
        for endpoint in each.get("endpoints") or []
        if _ready_pod(endpoint)
    ]
    if not ready:
        return Reach(name, ok=False, why=f"{where} has no ready endpoint: look at the pods it selects")
    numbers = sorted({number for _, number in ready if number is not None})
    if not numbers:
        target = port.get("targetPort")
        return Reach(name, ok=False, why=f"{where} has target port {target}, which no container of its pods names")
    deaf = [pod for pod, number in ready if number is None or not listening(meta["namespace"], pod, number)]
    if len(deaf) == len(ready):
        return Reach(name, ok=False, why=f"{where} leads to {deaf[0]}:{numbers[0]}, where no container listens")
    return Reach(name, ok=True, why=f"{where} is answered by {len(ready) - len(deaf)} of {len(ready)} endpoints")


def _ready_pod(endpoint: Object) -> bool:
    return bool((endpoint.get("conditions") or {}).get("ready") and endpoint.get("targetRef"))


def _number(part: Object, port: Object) -> int | None:
    """The endpoint port that belongs to a Service port (they carry the same name)."""
    for each in part.get("ports") or []:
        if (each.get("name") or "") == (port.get("name") or ""):
            return int(each["port"]) if each.get("port") is not None else None
    return None
