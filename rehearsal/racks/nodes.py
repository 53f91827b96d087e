"""The nodes of racked machines: each gets ready when Cilium's agent runs on it, as its CNI configuration comes then."""

from __future__ import annotations

import threading

from typing_extensions import override

from rehearsal.eks.controller import Controller
from rehearsal.kubelet.hosts import Racked
from rehearsal.kubelet.liveness import Liveness
from rehearsal.kubelet.world import World

INTERVAL = 0.7
NETWORK_CONTAINER = "cilium-agent"


class RackedNodes(Controller):
    """Keeps the nodes of machines that joined. kubeadm makes them; nobody but a person deletes one."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "racked nodes", INTERVAL)
        self._life = Liveness(world, NETWORK_CONTAINER)
        self._hosts: dict[str, Racked] = {}
        self._known: set[str] = set()
        self._lock = threading.Lock()

    def join(self, host: Racked) -> None:
        """A machine joins: what its kubelet does before its node is there."""
        self._life.hold(host.node)
        self._life.begin(host.node)
        self._world.hosts.add(host)
        with self._lock:
            self._hosts[host.node] = host
            self._known.discard(host.node)

    @override
    def reconcile(self) -> None:
        with self._lock:
            hosts = list(self._hosts.values())
        for host in hosts:
            node = self._world.find("nodes", host.node)
            if node is None:
                continue
            if host.node not in self._known:
                self._life.csi_node(node)
                self._known.add(host.node)
            self._life.keep(host, node)
