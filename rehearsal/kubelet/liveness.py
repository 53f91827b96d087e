"""Nodes get ready once the pod network is up, and tell until then why they are not. kwok sends the heartbeats after."""

import time
from collections.abc import Mapping
from typing import Any

from rehearsal.kube.client import ApiError
from rehearsal.kubelet import faults, nodeobject
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.world import World

Described = Mapping[str, Any]
HEARTBEAT_SECONDS = 10.0
MANAGER = "kubelet"
STRATEGIC = "application/strategic-merge-patch+json"


class Liveness:
    """What kubelets tell of their nodes again and again. `network` is the container that makes a node's pod network."""

    def __init__(self, world: World, network: str) -> None:
        self._world, self._network = world, network
        self._beats: dict[str, float] = {}

    def hold(self, name: str) -> None:
        """Take the node's lease: kwok leaves a node alone as long as somebody else holds it."""
        self._world.kube.apply(nodeobject.lease(name, name), MANAGER, force=True)

    def begin(self, name: str) -> None:
        """The node has just told its first status, with its lease held."""
        self._beats[name] = time.monotonic()

    def keep(self, host: Host, node: Described) -> None:
        """One look at a node that is there."""
        if faults.lasting(self._world.orders.now().of(host.node), "system-services"):
            self._beat(host, node, nodeobject.without_runtime())
            return
        if host.node not in self._beats and nodeobject.is_ready(node):
            return
        if any(True for _ in self._world.running(host.node, self._network)):
            self._ready(host)
        else:
            self._beat(host, node, nodeobject.not_ready())

    def silent(self, host: Host, node: Described, *, unknown: bool) -> None:
        """The machine is off. Its kubelet posts nothing, and after a while the node's state is `unknown`."""
        if unknown:
            self._beat(host, node, nodeobject.unknown())
        elif time.monotonic() - self._beats.get(host.node, -HEARTBEAT_SECONDS) >= HEARTBEAT_SECONDS:
            self._beats[host.node] = time.monotonic()
            self.hold(host.node)

    def forget(self, name: str) -> None:
        """The node is gone."""
        self._beats.pop(name, None)

    def _beat(self, host: Host, node: Described, conditions: list[dict[str, str]]) -> None:
        """Holds the node's lease, so that kwok leaves it alone, and tells now and then why the node is not ready."""
        if time.monotonic() - self._beats.get(host.node, -HEARTBEAT_SECONDS) >= HEARTBEAT_SECONDS:
            self._beats[host.node] = time.monotonic()
            self.hold(host.node)
            self.tell(host, {"conditions": nodeobject.lasting(node, conditions)})

    def _ready(self, host: Host) -> None:
        """The network plugin runs: the kubelet is ready, and from now on kwok sends its heartbeats."""
        if host.node in self._beats:
            self._world.kube.apply(nodeobject.lease(host.node, None), MANAGER, force=True)
        self.tell(host, {"conditions": nodeobject.ready()})
        self._beats.pop(host.node, None)

    def csi_node(self, node: Described) -> None:
        """The kubelet keeps one CSINode for its node; drivers enter themselves."""
        owner = {"apiVersion": "v1", "kind": "Node", "name": node["metadata"]["name"], "uid": node["metadata"]["uid"]}
        entry = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": node["metadata"]["name"], "ownerReferences": [owner]},
            "spec": {"drivers": []},
        }
        try:
            self._world.kube.create(entry)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    def tell(self, host: Host, status: dict[str, Any]) -> None:
        """Write a part of the node's status, if the node is still there."""
        try:
            self._world.kube.patch("v1", "Node", host.node, None, {"status": status}, "status", STRATEGIC)
        except ApiError as error:
            if error.code != 404:
                raise
