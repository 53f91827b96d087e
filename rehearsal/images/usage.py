"""How much nodes and pods use, as metrics-server tells it: discovery, lists and single objects of `metrics.k8s.io`.

Source: kubernetes-sigs/metrics-server 0.8, pkg/api and pkg/storage.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from rehearsal.kube import quantities
from rehearsal.kube.client import ApiError, Kube
from rehearsal.kube.quantities import Amounts
from rehearsal.kubelet.nodeobject import is_ready, now

Object = dict[str, Any]
VERSION = "metrics.k8s.io/v1beta1"
SHARE = Fraction(1, 2)
"""Of the CPU and memory that a container requests, or a node keeps for its system, what it uses. Assumed, of all."""

_KINDS = {"nodes": ("Node", "NodeMetrics"), "pods": ("Pod", "PodMetrics")}


class Usage:
    """Answers requests for the group from what `kube` may read. `window` is a Go duration: the scrapes' interval."""

    def __init__(self, kube: Kube, window: str) -> None:
        self._kube, self._window = kube, window

    def answer(self, path: str, query: Mapping[str, str]) -> Object:
        """The object at a path. Raises ApiError: 404 where there is none, 405 for a watch, what the API server says."""
        if found := _discovery(path):
            return found
        prefix, _, rest = path.partition(f"/apis/{VERSION}/")
        match rest.split("/") if not prefix else []:
            case ["nodes" | "pods" as plural]:
                return self._list(plural, None, query)
            case ["namespaces", namespace, "pods"]:
                return self._list("pods", namespace, query)
            case ["nodes", name]:
                return self._one("nodes", None, name)
            case ["namespaces", namespace, "pods", name]:
                return self._one("pods", namespace, name)
        raise ApiError(404, "NotFound", "the server could not find the requested resource")

    def _list(self, plural: str, namespace: str | None, query: Mapping[str, str]) -> Object:
        if query.get("watch") in ("1", "true"):
            raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        kind, metrics = _KINDS[plural]
        objects = self._kube.list("v1", kind, namespace, query.get("labelSelector"), query.get("fieldSelector"))
        items = sorted(self._measured(plural, objects), key=_place)
        return {"kind": f"{metrics}List", "apiVersion": VERSION, "metadata": {}, "items": items}

    def _one(self, plural: str, namespace: str | None, name: str) -> Object:
        kind, metrics = _KINDS[plural]
        found = self._kube.get("v1", kind, name, namespace)
        if found is None:
            raise ApiError(404, "NotFound", f'{plural} "{name}" not found')
        for measured in self._measured(plural, [found]):
            return measured
        shown = f"{namespace}/{name}" if namespace else name
        raise ApiError(404, "NotFound", f'{metrics.lower()}.metrics.k8s.io "{shown}" not found')

    def _measured(self, plural: str, objects: list[Object]) -> Iterator[Object]:
        if plural == "pods":
            for pod in filter(_runs, objects):
                yield self._metrics("PodMetrics", pod, containers=containers(pod))
            return
        pods = self._kube.list("v1", "Pod")
        for node in filter(is_ready, objects):
            yield self._metrics("NodeMetrics", node, usage=_written(of_node(node, pods)))

    def _metrics(self, kind: str, obj: Object, **measured: Any) -> Object:
        meta, stamp = obj["metadata"], now()
        kept = {key: meta[key] for key in ("name", "namespace", "labels") if key in meta}
        return {
            "kind": kind,
            "apiVersion": VERSION,
            "metadata": {**kept, "creationTimestamp": stamp},
            "timestamp": stamp,
            "window": self._window,
            **measured,
        }


def _place(measured: Object) -> tuple[str, str]:
    return measured["metadata"].get("namespace", ""), measured["metadata"]["name"]


def of_pod(pod: Object) -> dict[str, Amounts]:
    """What each running container of a pod uses: CPUs and bytes."""
    spec, status = pod["spec"], pod.get("status") or {}
    told = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    running = {each["name"] for each in told if "running" in (each.get("state") or {})}
    return {
        each["name"]: _share((each.get("resources") or {}).get("requests"))
        for each in [*(spec.get("initContainers") or []), *spec["containers"]]
        if each["name"] in running
    }


def containers(pod: Object) -> list[Object]:
    """The containers of a PodMetrics."""
    return [{"name": name, "usage": _written(used)} for name, used in of_pod(pod).items()]


def of_node(node: Object, pods: list[Object]) -> Amounts:
    """What the running pods of a node use, and its share of what the node keeps for its system."""
    status = node["status"]
    capacity, allocatable = (quantities.amounts(status.get(key)) for key in ("capacity", "allocatable"))
    kept = {name: SHARE * (capacity.get(name, Fraction(0)) - allocatable.get(name, Fraction(0))) for name in _UNITS}
    name = node["metadata"]["name"]
    here = (pod for pod in pods if pod["spec"].get("nodeName") == name and _runs(pod))
    return quantities.total([kept, *(used for pod in here for used in of_pod(pod).values())])


_UNITS = {"cpu": ("n", Fraction(1, 10**9)), "memory": ("Ki", Fraction(1024))}


def _share(requests: Mapping[str, str] | None) -> Amounts:
    asked = quantities.amounts(requests)
    return {name: SHARE * asked.get(name, Fraction(0)) for name in _UNITS}


def _written(used: Amounts) -> dict[str, str]:
    """CPUs in nanocores, memory in KiB, as metrics-server writes them."""
    return {name: f"{int(used[name] / size)}{unit}" if used[name] else "0" for name, (unit, size) in _UNITS.items()}


def _runs(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running"


def _discovery(path: str) -> Object | None:
    version = {"groupVersion": VERSION, "version": VERSION.rpartition("/")[2]}
    group = {"name": VERSION.partition("/")[0], "versions": [version], "preferredVersion": version}
    resources = [
        {"name": name, "singularName": "", "namespaced": name == "pods", "kind": kind, "verbs": ["get", "list"]}
        for name, (_, kind) in _KINDS.items()
    ]
    served: dict[str, Object] = {
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]},
        f"/apis/{group['name']}": {"kind": "APIGroup", "apiVersion": "v1", **group},
        f"/apis/{VERSION}": {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": VERSION,
            "resources": resources,
        },
    }
    return served.get(path)
