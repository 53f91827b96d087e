"""NVIDIA's GPU operator while its pod runs: labels GPU nodes and keeps the operands of the ClusterPolicy."""

import json
from typing import Any

from rehearsal.devices import operands, policy_status
from rehearsal.devices.reconciling import Reconciling
from rehearsal.kube.client import ApiError
from rehearsal.kubelet.program import Launch

MANAGER = "gpu-operator"


class GpuOperator(Reconciling):
    """Compares the ClusterPolicy and the nodes with what it did last, and does the rest."""

    NAME = MANAGER

    def __init__(self, launch: Launch) -> None:
        self._made = ""
        self._unmonitored = False
        self._said: tuple[bool, str, str] | None = None
        super().__init__(launch)

    def _failed(self) -> None:
        self._made = ""

    def _reconcile(self) -> None:
        policy = next(iter(self._world.stores["policies"].all()), None)
        if policy is None or policy["metadata"].get("deletionTimestamp"):
            self._made = ""
            return
        spec = policy["spec"]
        nodes = list(self._world.stores["nodes"].all())
        gpu_nodes = [node for node in nodes if policy_status.has_gpu(_labels(node))]
        for node in gpu_nodes:
            self._label(node, spec)
        wanted = json.dumps([spec, policy["metadata"]["uid"], bool(gpu_nodes)], sort_keys=True)
        if wanted != self._made:
            self._make(policy, bool(gpu_nodes))
            self._made = "" if self._unmonitored else wanted
        self._report(policy, [_labels(node) for node in nodes])

    def _label(self, node: dict[str, Any], spec: dict[str, Any]) -> None:
        """Present and deploy labels; a value somebody set ("false" switches an operand off) is left alone."""
        present = _labels(node)
        wanted = operands.switches(spec, present.get("nvidia.com/mig.capable") == "true")
        missing = {key: value for key, value in wanted.items() if key not in present}
        if missing:
            self._world.kube.patch("v1", "Node", node["metadata"]["name"], None, {"metadata": {"labels": missing}})

    def _make(self, policy: dict[str, Any], gpu_nodes: bool) -> None:
        """Operands come with the first GPU node; those that are there stay when the last one goes."""
        kube, spec = self._world.kube, policy["spec"]
        kube.apply(operands.runtime_class(policy), MANAGER, force=True)
        self._unmonitored = False
        for operand in operands.OPERANDS if gpu_nodes else ():
            made = operands.daemonset(operand, policy, self._namespace)
            if not operands.enabled(operand, spec):
                kube.delete(made)
                continue
            for each in [*operands.companions(operand, policy, self._namespace), made]:
                self._apply(each)

    def _apply(self, made: dict[str, Any]) -> None:
        """A ServiceMonitor whose definition is not there leaves its state unready, and is tried again."""
        try:
            self._world.kube.apply(made, MANAGER, force=True)
        except ApiError as error:
            if error.code != 404 or made["kind"] != "ServiceMonitor":
                raise
            self._unmonitored = True

    def _report(self, policy: dict[str, Any], nodes: list[dict[str, str]]) -> None:
        found = [(each, self._world.find("daemonsets", each.name, self._namespace)) for each in operands.OPERANDS]
        waiting = policy_status.unready((operand, made) for operand, made in found if made is not None)
        if self._unmonitored and "state-dcgm-exporter" not in waiting:
            waiting.append("state-dcgm-exporter")
        said = policy_status.verdict(nodes, waiting)
        before = policy.get("status") or {}
        if said != self._said or before.get("state") is None:
            status = policy_status.status(before, self._namespace, said)
            path = ("nvidia.com/v1", "ClusterPolicy", policy["metadata"]["name"], None)
            self._world.kube.patch(*path, {"status": status}, "status")
            self._said = said


def _labels(node: dict[str, Any]) -> dict[str, str]:
    return node["metadata"].get("labels") or {}
