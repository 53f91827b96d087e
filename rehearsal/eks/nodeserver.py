"""The kubelets' own server, port 10250: what monitoring scrapes of nodes and containers.

Only what is known here is told, by the kubelet's own names: pods, containers, CPU and memory (`images/usage.py`), the
room of block volumes. Sources: Kubernetes 1.36, pkg/kubelet/metrics/metrics.go and collectors/volume_stats.go (names,
labels), pkg/kubelet/server/auth.go (which right which path asks for); cAdvisor, metrics/prometheus.go.
"""

import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from rehearsal import places
from rehearsal.cluster.pages import Answer, Handler, Request, texts
from rehearsal.cluster.pki import Authority
from rehearsal.images import usage
from rehearsal.kube.client import ApiError, Unreachable
from rehearsal.kube.quantities import parse
from rehearsal.kubelet import volumes
from rehearsal.kubelet.world import World

Object = Mapping[str, Any]
PORT = 10250
# Source: KubeletConfiguration, webhook cacheTTL of authentication and cacheAuthorizedTTL: two and five minutes.
BELIEVED_SECONDS = 120.0
_PLAIN = "text/plain; charset=utf-8"
_BLOCK = "ebs.csi.aws.com"


class NodeServers:
    """Answers for every node of a cluster as long as there is one."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._doors = _Doors(world)
        self._tls: ssl.SSLContext | None = None
        self._lock = threading.Lock()
        world.stores["nodes"].on_change(self._changed)

    def _changed(self, old: Object | None, new: Object | None) -> None:
        name = str((new or old or {})["metadata"]["name"])
        if new is None:
            self._world.backends.remove("", name, [PORT])
        elif old is None:
            pages = texts(
                {
                    "/metrics": lambda: _text(own(self._world, name)),
                    "/metrics/cadvisor": lambda: _text(containers(self._here(name))),
                    "/metrics/resource": lambda: _text(resources(self._world, name, self._here(name))),
                    "/metrics/probes": lambda: "",
                }
            )
            self._world.backends.answer("", name, PORT, self._doors.guarded(pages, name), tls=self._certificate())

    def _here(self, node: str) -> Sequence[Object]:
        return self._world.on_node(node)

    def _certificate(self) -> ssl.SSLContext:
        """One for all: scrapers of kubelets do not verify it, as it is signed by nobody they know."""
        with self._lock:
            if self._tls is None:
                directory = places.private_directory(self._world.directory / "kubelet-pki")
                self._tls = certificate(directory)
            return self._tls


def certificate(directory: Path) -> ssl.SSLContext:
    """A context for servers with a new certificate, whose files lie in `directory`."""
    pair = Authority("kubelet-serving").server("kubelet")
    places.write(directory / "tls.crt", pair.certificate)
    places.write(directory / "tls.key", pair.key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(directory / "tls.crt", directory / "tls.key")
    return tls


class _Doors:
    """Asks the API server who a token's user is and whether they may, and believes it for two minutes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[tuple[str, str], tuple[float, Answer | None]] = {}
        self._lock = threading.Lock()

    def guarded(self, handler: Handler, node: str) -> Handler:
        def answer(request: Request) -> Answer:
            kind, _, token = request.headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not token:
                return Answer("Unauthorized", 401, _PLAIN)
            return self._refusal(token, node) or handler(request)

        return answer

    def _refusal(self, token: str, node: str) -> Answer | None:
        now = time.monotonic()
        with self._lock:
            until, known = self._known.get((token, node), (0.0, None))
        if now < until:
            return known
        try:
            refusal = self._asked(token, node)
        except (ApiError, Unreachable) as error:
            return Answer(f"{error}", 500, _PLAIN)
        with self._lock:
            self._known = {key: each for key, each in self._known.items() if now < each[0]}
            self._known[token, node] = now + BELIEVED_SECONDS, refusal
        return refusal

    def _asked(self, token: str, node: str) -> Answer | None:
        status = self._review("authentication.k8s.io/v1", "TokenReview", {"token": token})
        if not status.get("authenticated"):
            return Answer("Unauthorized", 401, _PLAIN)
        user = status["user"]
        wanted = {"verb": "get", "resource": "nodes", "subresource": "metrics", "name": node}
        spec = {"user": user["username"], "groups": user.get("groups") or [], "resourceAttributes": wanted}
        if self._review("authorization.k8s.io/v1", "SubjectAccessReview", spec).get("allowed"):
            return None
        text = f"Forbidden (user={user['username']}, verb=get, resource=nodes, subresource(s)=[metrics])"
        return Answer(text, 403, _PLAIN)

    def _review(self, version: str, kind: str, spec: Object) -> Object:
        kube = self._world.kube
        review = {"apiVersion": version, "kind": kind, "spec": spec}
        return dict(kube.call("POST", kube.path(version, kind), review).get("status") or {})


Sample = tuple[str, Mapping[str, str], float]


def own(world: World, node: str) -> Iterator[Sample]:
    """What a kubelet counts: its pods, its containers, the room of its block volumes."""
    alive = [pod for pod in world.on_node(node) if (pod.get("status") or {}).get("phase") == "Running"]
    yield "kubelet_node_name", {"node": node}, 1
    yield "kubelet_running_pods", {}, len(alive)
    running = sum(len(usage.of_pod(pod)) for pod in alive)
    yield "kubelet_running_containers", {"container_state": "running"}, running
    for pod in alive:
        yield from _block_volumes(world, pod)


def _block_volumes(world: World, pod: Object) -> Iterator[Sample]:
    """Capacity and use in bytes; the driver of block volumes tells them, those of file systems need not."""
    namespace = pod["metadata"]["namespace"]
    for volume in pod["spec"].get("volumes") or []:
        claim = volumes.claim_name(volume, pod)
        bound = world.find("claims", claim, namespace) if claim else None
        found = world.find("volumes", ((bound or {}).get("spec") or {}).get("volumeName") or "")
        if found is None or (found["spec"].get("csi") or {}).get("driver") != _BLOCK:
            continue
        capacity = float(parse(found["spec"]["capacity"]["storage"]))
        used = float(sum(world.contents.under(volumes.volume_key(found), "").values()))
        labels = {"namespace": namespace, "persistentvolumeclaim": str(claim)}
        yield "kubelet_volume_stats_capacity_bytes", labels, capacity
        yield "kubelet_volume_stats_used_bytes", labels, used
        yield "kubelet_volume_stats_available_bytes", labels, capacity - used


def containers(pods: Sequence[Object], clock: Callable[[], float] = time.time) -> Iterator[Sample]:
    """What cAdvisor tells of running containers; its counter of CPU seconds counts from their start."""
    for labels, image, used, seconds in _running(pods, clock()):
        cadvisor = {**labels, "image": image}
        yield "container_cpu_usage_seconds_total", {**cadvisor, "cpu": "total"}, float(used["cpu"]) * seconds
        yield "container_memory_working_set_bytes", cadvisor, float(used["memory"])


def resources(
    world: World, node: str, pods: Sequence[Object], clock: Callable[[], float] = time.time
) -> Iterator[Sample]:
    """What metrics-server reads: the same of containers, with fewer labels, and of the node."""
    for labels, _, used, seconds in _running(pods, clock()):
        yield "container_cpu_usage_seconds_total", labels, float(used["cpu"]) * seconds
        yield "container_memory_working_set_bytes", labels, float(used["memory"])
    found = world.find("nodes", node)
    if found is not None:
        total = usage.of_node(found, [dict(pod) for pod in pods])
        seconds = clock() - _since(found["metadata"]["creationTimestamp"])
        yield "node_cpu_usage_seconds_total", {}, float(total["cpu"]) * seconds
        yield "node_memory_working_set_bytes", {}, float(total["memory"])


def _running(pods: Sequence[Object], now: float) -> Iterator[tuple[dict[str, str], str, Mapping[str, Fraction], float]]:
    """Labels, image, use and seconds of life of every running container."""
    for pod in pods:
        meta, status = pod["metadata"], pod.get("status") or {}
        told = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
        by_name = {each["name"]: each for each in told}
        for name, used in usage.of_pod(dict(pod)).items():
            labels = {"namespace": meta["namespace"], "pod": meta["name"], "container": name}
            begun = by_name[name]["state"]["running"].get("startedAt")
            yield labels, str(by_name[name].get("image") or ""), used, max(0.0, now - _since(begun) if begun else 0.0)


def _since(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


def _text(samples: Iterator[Sample]) -> str:
    """Samples as Prometheus' text format has them, those of one name together."""
    by_name: dict[str, list[str]] = {}
    for name, labels, number in samples:
        shown = ",".join(f'{key}="{each}"' for key, each in labels.items())
        by_name.setdefault(name, []).append(f"{name}{{{shown}}} {number:.6f}\n")
    kinds = ((name, "counter" if name.endswith("_total") else "gauge") for name in by_name)
    return "".join(f"# TYPE {name} {kind}\n{''.join(by_name[name])}" for name, kind in kinds)
