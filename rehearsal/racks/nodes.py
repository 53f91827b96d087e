"""The nodes of racked machines: each gets ready when Cilium's agent runs on it, as its CNI configuration comes then."""

import threading
import time
from collections.abc import Iterable

from typing_extensions import override

from rehearsal.eks.controller import Controller
from rehearsal.kubelet.hosts import Racked
from rehearsal.kubelet.liveness import Liveness
from rehearsal.kubelet.world import World

INTERVAL = 0.7
GRACE_SECONDS = 50.0
"""A node is Unknown after so long without a word (kube-controller-manager reference, --node-monitor-grace-period)."""
NETWORK_CONTAINER = "cilium-agent"


class RackedNodes(Controller):
    """Keeps the nodes of machines that joined. kubeadm makes them; nobody but a person deletes one."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "racked nodes", INTERVAL)
        self._life = Liveness(world, NETWORK_CONTAINER)
        self._hosts: dict[str, Racked] = {}
        self._known: set[str] = set()
        self._off: dict[str, float] = {}
        self._lock = threading.Lock()

    def join(self, host: Racked) -> None:
        """A machine joins: what its kubelet does before its node is there."""
        self._life.hold(host.node)
        self._life.begin(host.node)
        self._world.hosts.add(host)
        with self._lock:
            self._hosts[host.node] = host
            self._known.discard(host.node)

    def off(self, names: Iterable[str]) -> None:
        """Machines that are off now: nobody posts the status of their nodes."""
        with self._lock:
            now = time.monotonic()
            self._off = {name: self._off.get(name, now) for name in names}

    @override
    def reconcile(self) -> None:
        with self._lock:
            hosts, off = list(self._hosts.values()), dict(self._off)
        for host in hosts:
            node = self._world.find("nodes", host.node)
            if node is None:
                continue
            if host.node in off:
                # kwok would go on for it with the lease in its own hands.
                self._life.silent(host, node, unknown=time.monotonic() - off[host.node] >= GRACE_SECONDS)
                continue
            if host.node not in self._known:
                self._life.csi_node(node)
                self._known.add(host.node)
            self._life.keep(host, node)
