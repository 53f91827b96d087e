"""The kubelets of all nodes of one cluster: pods bound to machines of ours are admitted, started, probed, ended."""

import threading
import time
from collections.abc import Mapping
from typing import Any

from rehearsal.kube.client import ApiError
from rehearsal.kube.quantities import Amounts
from rehearsal.kube.workqueue import WorkQueue
from rehearsal.kubelet import admission, podstatus, topology
from rehearsal.kubelet.addresses import Addresses
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.nodeobject import boot_id
from rehearsal.kubelet.podrun import PodRun
from rehearsal.kubelet.suffering import Suffering
from rehearsal.kubelet.world import World

Object = Mapping[str, Any]
WORKERS = 8
SEEN_SECONDS = 1.0
"""How often a kubelet looks at its containers: what one of them was for less than that is told to nobody (Kubernetes,
pkg/kubelet/kubelet.go: genericPlegRelistPeriod)."""


class Kubelet:
    """Follows the cluster's pods and writes their statuses."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._queue = WorkQueue("kubelet", self._sync, WORKERS)
        self._runs: dict[str, PodRun] = {}
        self._admitted: dict[str, dict[str, Amounts]] = {}
        self._placed: dict[str, dict[str, topology.Placed]] = {}
        self._waiting: set[str] = set()
        self._addresses = Addresses()
        self._lock = threading.Lock()
        self._watch()

    def _watch(self) -> None:
        stores = self._world.stores
        stores["pods"].on_change(self._pod_changed)
        stores["nodes"].on_change(self._node_changed)
        for store in ("configmaps", "secrets"):
            stores[store].on_change(self._source_changed)
        for store in ("claims", "volumes", "csinodes"):
            stores[store].on_change(lambda *_: self._retry_waiting())

    def start(self) -> None:
        self._queue.start()
        suffering = Suffering(self._world.orders, self._running)
        self._world.tasks.run("failures of nodes", suffering.look)

    def _running(self) -> list[PodRun]:
        with self._lock:
            return list(self._runs.values())

    def stop(self) -> None:
        """Ends the processes behind the pods and leaves the API as it is."""
        self._queue.stop()
        with self._lock:
            runs = list(self._runs.values())
            self._runs.clear()
        for run in runs:
            run.close()

    def wake(self, key: str) -> None:
        """Look at the pod `namespace/name` now."""
        self._queue.add(key)

    # -- what changes

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        pod = new or old
        if pod is not None and pod["spec"].get("nodeName"):
            self._queue.add(_key(pod))

    def _node_changed(self, old: Object | None, new: Object | None) -> None:
        """Pods of a node that appears or was rebooted are looked at; those of one that is gone end with its machine."""
        if old is None or new is None or boot_id(old) != boot_id(new):
            name = (new or old or {})["metadata"]["name"]
            for pod in self._world.on_node(name):
                self._queue.add(_key(pod))
        self._retry_waiting()

    def _source_changed(self, old: Object | None, new: Object | None) -> None:
        changed = (new or old or {})["metadata"]
        self._retry_waiting(changed.get("namespace"))
        with self._lock:
            runs = [run for run in self._runs.values() if run.namespace == changed["namespace"]]
        for run in runs:
            run.refresh_files()

    def _retry_waiting(self, namespace: str | None = None) -> None:
        with self._lock:
            keys = [key for key in self._waiting if namespace is None or key.startswith(f"{namespace}/")]
        for key in keys:
            self._queue.add(key)

    # -- one pod

    def _sync(self, key: str) -> float | None:
        """Moves one pod on; seconds until it is due again, if it is."""
        namespace, _, name = key.partition("/")
        pod = self._world.find("pods", name, namespace)
        run = self._runs.get(key)
        if run is not None and (pod is None or pod["metadata"]["uid"] != run.uid):
            self._forget(key, run)
            run = None
        if pod is None or not pod["spec"].get("nodeName"):
            return None
        node = self._world.find("nodes", pod["spec"]["nodeName"])
        host = self._world.hosts.get(pod["spec"]["nodeName"])
        if node is None or host is None:
            if run is not None:
                self._forget(key, run)
            return None
        if pod["metadata"].get("deletionTimestamp"):
            return self._delete(key, pod, run)
        if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            self._release(key, pod["spec"]["nodeName"])
            return None
        if run is None:
            run = self._admit(key, pod, node, host)
        return None if run is None else self._advance(key, pod, node, run)

    def _admit(self, key: str, pod: Object, node: Object, host: Host) -> PodRun | None:
        node_name = host.node
        with self._lock:
            others = [amounts for each, amounts in self._admitted.get(node_name, {}).items() if each != key]
            refusal = admission.refusal(pod, node, others)
            if refusal is None:
                refusal = self._place(key, pod, node, host)
            if refusal is None:
                self._admitted.setdefault(node_name, {})[key] = admission.requests(pod)
                self._world.allotted.take(node_name, pod)
                run = self._runs[key] = PodRun(self._world, pod, host, self._addresses, lambda: self.wake(key))
                return run
        self._write(pod, podstatus.failed(pod, refusal.reason, refusal.message))
        self._world.events.emit(pod, "Warning", refusal.reason, refusal.message, "kubelet", node_name)
        return None

    def _place(self, key: str, pod: Object, node: Object, host: Host) -> admission.Refusal | None:
        """Gives the pod its NUMA nodes, or says why the CPU or topology manager refuses it. The lock is held."""
        if message := topology.misaligned(pod, host):
            return admission.Refusal(topology.SMT_REASON, message)
        held = self._placed.setdefault(host.node, {})
        placed = topology.place(pod, host, node, [each for name, each in held.items() if name != key])
        if placed is None:
            return admission.Refusal(topology.REASON, topology.MESSAGE)
        held[key] = placed
        return None

    def _advance(self, key: str, pod: Object, node: Object, run: PodRun) -> float | None:
        """Moves a pod on and says so. What an ended pod held is free before anybody reads that it ended: a scheduler
        that binds the next pod finds room here at once (Kubernetes, pkg/kubelet: Kubelet.filterOutInactivePods).
        """
        now = time.monotonic()
        again = run.advance(pod, node, now)
        status = run.status(pod)
        ended = status["phase"] in ("Succeeded", "Failed")
        if ended:
            self._release(key, run.host.node)
        passing = not ended and again is not None and again < run.told + SEEN_SECONDS
        if not passing and podstatus.differs(pod.get("status") or {}, status):
            self._write(pod, status)
            run.told = now
        with self._lock:
            if run.blocked:
                self._waiting.add(key)
            else:
                self._waiting.discard(key)
        return None if again is None else max(0.0, again - time.monotonic())

    def _delete(self, key: str, pod: Object, run: PodRun | None) -> float | None:
        """A pod asked to go: its processes end, in the time that its deletion gives them, then the kubelet removes the
        object (Kubernetes, pkg/kubelet/kuberuntime: killContainer; of the hooks before the end those that sleep are
        played).
        """
        if run is not None:
            now = time.monotonic()
            until = run.leave(pod, now)
            if until is not None:
                return until - now
        self._tell_end(pod, run)
        if run is not None:
            self._forget(key, run)
        self._release(key, pod["spec"]["nodeName"])
        self._world.erase(pod)
        return None

    def _tell_end(self, pod: Object, run: PodRun | None) -> None:
        """Whoever holds the object, as a Job does until it has counted its pod, waits for its last phase. Of any other
        nobody would read it before the object is gone.
        """
        present = pod.get("status") or {}
        if pod["metadata"].get("finalizers") and present.get("phase") not in ("Succeeded", "Failed"):
            self._write(pod, podstatus.ended(run.status(pod) if run else present))

    def _forget(self, key: str, run: PodRun) -> None:
        with self._lock:
            self._runs.pop(key, None)
            self._waiting.discard(key)
        self._release(key, run.host.node)
        run.stop()

    def _release(self, key: str, node: str) -> None:
        with self._lock:
            self._admitted.get(node, {}).pop(key, None)
            self._placed.get(node, {}).pop(key, None)
        namespace, _, name = key.partition("/")
        self._world.allotted.release(node, namespace, name)

    def _write(self, pod: Object, status: Mapping[str, Any]) -> None:
        """Writes the status of this very pod; one that has gone meanwhile is fine."""
        meta = pod["metadata"]
        patch = {"metadata": {"uid": meta["uid"]}, "status": status}
        try:
            self._world.kube.patch("v1", "Pod", meta["name"], meta["namespace"], patch, "status")
        except ApiError as error:
            if error.code not in (404, 409):
                raise

    # -- what others ask

    def listening(self, namespace: str, pod: str, port: int) -> bool:
        """Whether a running container of the pod accepts connections on a container port."""
        run = self._runs.get(f"{namespace}/{pod}")
        return run is not None and run.listens(port, time.monotonic())


def _key(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
