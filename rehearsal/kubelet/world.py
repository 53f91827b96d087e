"""What all effects of one cluster share: the API server, the account, the machines, the volumes' contents."""

import logging
import queue
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal.cloud.seen.aws import Aws
from rehearsal.cluster.backends import Backends
from rehearsal.cluster.proxy import Proxy
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.kube.informer import Informer, Part
from rehearsal.kubelet.allotted import Allotted
from rehearsal.kubelet.attaching import Attachments
from rehearsal.kubelet.contents import Contents
from rehearsal.kubelet.hosts import Hosts
from rehearsal.kubelet.images import Images
from rehearsal.kubelet.nodeobject import now
from rehearsal.kubelet.orders import Orders
from rehearsal.kubelet.tasks import Tasks
from rehearsal.toolchain import Tools

log = logging.getLogger(__name__)

KINDS: Mapping[str, tuple[str, str]] = {
    "pods": ("v1", "Pod"),
    "nodes": ("v1", "Node"),
    "configmaps": ("v1", "ConfigMap"),
    "secrets": ("v1", "Secret"),
    "services": ("v1", "Service"),
    "claims": ("v1", "PersistentVolumeClaim"),
    "volumes": ("v1", "PersistentVolume"),
    "csinodes": ("storage.k8s.io/v1", "CSINode"),
    "drivers": ("storage.k8s.io/v1", "CSIDriver"),
    "daemonsets": ("apps/v1", "DaemonSet"),
    "deployments": ("apps/v1", "Deployment"),
    "runtimeclasses": ("node.k8s.io/v1", "RuntimeClass"),
    "policies": ("nvidia.com/v1", "ClusterPolicy"),
}
PARTS: Mapping[str, Mapping[str, Part]] = {
    "pods": {
        "node": lambda pod: pod["spec"].get("nodeName"),
        "address": lambda pod: (pod.get("status") or {}).get("podIP"),
    }
}
"""What objects of a store are found by: each scrape of each node asks who has an address, and what is on the node."""


class Recorder:
    """Writes Events as a kubelet or controller does, in a thread of its own; equal ones of an object only once."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._queue: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._seen: set[tuple[str, str, str]] = set()
        self._lock = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._run, name="events", daemon=True).start()

    def stop(self) -> None:
        self._queue.put(None)

    def emit(
        self, obj: Mapping[str, Any], kind: str, reason: str, message: str, source: str, host: str = "", path: str = ""
    ) -> None:
        """`kind` is Normal or Warning; `path` names a container in the object (`spec.containers{main}`)."""
        meta = obj["metadata"]
        with self._lock:
            if (seen := (meta["uid"], reason, message)) in self._seen:
                return
            self._seen.add(seen)
        reference = {
            "apiVersion": obj.get("apiVersion", "v1"),
            "kind": obj.get("kind", "Pod"),
            "name": meta["name"],
            "namespace": meta.get("namespace"),
            "uid": meta["uid"],
            "fieldPath": path or None,
        }
        stamp, namespace = now(), meta.get("namespace") or "default"
        self._queue.put(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"generateName": f"{meta['name'][:200]}.", "namespace": namespace},
                "involvedObject": {key: value for key, value in reference.items() if value},
                "type": kind,
                "reason": reason,
                "message": message[:1000],
                "source": {"component": source, **({"host": host} if host else {})},
                "firstTimestamp": stamp,
                "lastTimestamp": stamp,
                "count": 1,
            }
        )

    def _run(self) -> None:
        while (event := self._queue.get()) is not None:
            try:
                self._kube.create(event)
            except (ApiError, Unreachable) as error:
                log.debug("event %s: %s", event["reason"], error)


@dataclass(frozen=True)
class World:
    """One cluster with its account. `directory` is the effects' own; `endpoint` and `ca` are the API server's."""

    kube: Kube
    aws: Aws
    cluster: str
    region: str
    endpoint: str
    ca: bytes
    directory: Path
    hosts: Hosts
    images: Images
    contents: Contents
    events: Recorder
    tools: Tools
    backends: Backends
    proxy: Proxy
    tasks: Tasks
    allotted: Allotted
    orders: Orders
    stores: Mapping[str, Informer]
    attached: Attachments = field(default_factory=Attachments)
    store_key: tuple[str, str] = field(default=("", ""), repr=False)
    """Id and secret of the key that the site's own object store takes."""

    def find(self, store: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        """An object from the local copies ("configmaps", "nodes", ...)."""
        return self.stores[store].get(name, namespace)

    def on_node(self, node: str) -> list[dict[str, Any]]:
        """The pods that are bound to a node."""
        return self.stores["pods"].having("node", node)

    def running(self, node: str, container: str) -> Iterator[dict[str, Any]]:
        """Ready pods on a node with a container of that name."""
        for pod in self.on_node(node):
            if pod["metadata"].get("deletionTimestamp"):
                continue
            statuses = pod.get("status", {}).get("containerStatuses", [])
            if any(each["name"] == container and each.get("ready") for each in statuses):
                yield pod

    def erase(self, pod: Mapping[str, Any]) -> None:
        """Take this very pod's object away at once, as a kubelet does whose containers have ended."""
        meta = pod["metadata"]
        path = self.kube.path("v1", "Pod", meta["namespace"], meta["name"])
        try:
            self.kube.call("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}})
        except ApiError as error:
            if error.code not in (404, 409):
                raise
