"""NVIDIA's GPU operator while its pod runs: labels GPU nodes and keeps the operands of the ClusterPolicy."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

from rehearsal.effects.behaviours import operands
from rehearsal.effects.behaviours.daemons import NVIDIA_VENDOR
from rehearsal.effects.program import Launch, Program
from rehearsal.kube.client import ApiError, Unreachable

log = logging.getLogger(__name__)

MANAGER = "gpu-operator"
LOOK_SECONDS = 0.5
_PCI = f"feature.node.kubernetes.io/pci-{NVIDIA_VENDOR}.present"


class GpuOperator(Program):
    """Compares the ClusterPolicy and the nodes with what it did last, and does the rest."""

    def __init__(self, launch: Launch) -> None:
        self._world, self._namespace = launch.world, launch.namespace
        self._stopped = threading.Event()
        self._done: dict[str, str] = {}
        self._ready: bool | None = None
        threading.Thread(target=self._run, name="gpu-operator", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def close(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(LOOK_SECONDS):
            try:
                self._reconcile()
            except (ApiError, Unreachable) as error:
                log.warning("gpu-operator: %s", error)
                self._done.clear()

    def _reconcile(self) -> None:
        policy = next(iter(self._world.stores["policies"].all()), None)
        if policy is None or policy["metadata"].get("deletionTimestamp"):
            self._done.clear()
            return
        spec = policy["spec"]
        gpu_nodes = [node for node in self._world.stores["nodes"].all() if _labels(node).get(_PCI) == "true"]
        for node in gpu_nodes:
            self._label(node, spec)
        if self._changed("spec", spec) or self._changed("uid", policy["metadata"]["uid"]):
            self._make(policy)
        self._report(policy, bool(gpu_nodes))

    def _changed(self, what: str, value: Any) -> bool:
        text = json.dumps(value, sort_keys=True)
        if self._done.get(what) == text:
            return False
        self._done[what] = text
        return True

    def _label(self, node: dict[str, Any], spec: dict[str, Any]) -> None:
        """Present and deploy labels; a value somebody set ("false" switches an operand off) is left alone."""
        present = _labels(node)
        wanted = operands.switches(spec, present.get("nvidia.com/mig.capable") == "true")
        missing = {key: value for key, value in wanted.items() if key not in present}
        if missing:
            self._world.kube.patch("v1", "Node", node["metadata"]["name"], None, {"metadata": {"labels": missing}})

    def _make(self, policy: dict[str, Any]) -> None:
        kube, spec = self._world.kube, policy["spec"]
        kube.apply(operands.runtime_class(policy), MANAGER, force=True)
        for operand in operands.OPERANDS:
            made = operands.daemonset(operand, policy, self._namespace)
            if not operands.enabled(operand, spec):
                kube.delete(made)
                continue
            for each in [*operands.companions(operand, policy, self._namespace), made]:
                kube.apply(each, MANAGER, force=True)

    def _report(self, policy: dict[str, Any], gpu_nodes: bool) -> None:
        """`status.state` of the ClusterPolicy: ready when every operand has all its pods."""
        sets = [self._world.find("daemonsets", operand.name, self._namespace) for operand in operands.OPERANDS]
        ready = gpu_nodes and all(_available(each) for each in sets if each is not None)
        if ready != self._ready or (policy.get("status") or {}).get("state") is None:
            status = {"state": "ready" if ready else "notReady", "namespace": self._namespace}
            path = ("nvidia.com/v1", "ClusterPolicy", policy["metadata"]["name"], None)
            self._world.kube.patch(*path, {"status": status}, "status")
            self._ready = ready


def _labels(node: dict[str, Any]) -> dict[str, str]:
    return node["metadata"].get("labels") or {}


def _available(daemonset: dict[str, Any]) -> bool:
    status = daemonset.get("status") or {}
    return bool(status.get("numberAvailable", 0) == status.get("desiredNumberScheduled", -1))
