"""GPUs that pods take turns on: what configurations of the plugin and a node's label make of each other (K04, KJ26)."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.devices import daemons, operands
from rehearsal.devices.sharing import LABEL
from rehearsal.kubelet.allotted import Allotted
from rehearsal.kubelet.hosts import Hosts
from rehearsal.kubelet.orders import Orders
from rehearsal.kubelet.program import Launch, Mount
from rehearsal.tests.inside import facts
from rehearsal.tests.inside.test_mig import NFD_MASTER, PRODUCT

CONFIGURATIONS = {
    "whole": "version: v1",
    "four": "{version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}}",
    "others": "{version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/mig-1g.5gb, replicas: 4}]}}}",
}
POLICY = {"devicePlugin": {"enabled": True, "config": {"name": "turns", "default": "whole"}}, "gfd": {"enabled": True}}


class Node:
    """A node with the device plugin and feature discovery of a ClusterPolicy, as its operator makes their pods."""

    def __init__(self, directory: Path, policy: dict[str, Any]) -> None:
        host = facts.host("g6e.12xlarge")
        hosts = Hosts()
        hosts.add(host)
        self.labels: dict[str, str] = {}
        self.allocatable: dict[str, str] = {}
        self._work: list[Any] = []
        world: Any = SimpleNamespace(
            hosts=hosts,
            allotted=Allotted(),
            orders=Orders(directory / "orders.json"),
            tasks=SimpleNamespace(run=lambda _, work: self._work.append(work)),
            stores={"pods": SimpleNamespace(all=lambda: [NFD_MASTER])},
            find=self._find,
            kube=SimpleNamespace(patch=self._patch),
        )
        starts = {"devicePlugin": daemons.nvidia_device_plugin, "gfd": daemons.gpu_feature_discovery}
        of = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "p", "uid": "1"}}
        for operand in operands.OPERANDS:
            if operand.key not in starts:
                continue
            made = operands.daemonset(operand, {**of, "spec": policy}, "gpu-operator")["spec"]["template"]["spec"]
            (spec,) = made["containers"]
            pod = {"metadata": {"name": operand.name, "namespace": "gpu-operator"}, "spec": made}
            env = {each["name"]: each["value"] for each in spec["env"]}
            mounts = [Mount(each["mountPath"], "v", name=each["name"]) for each in spec.get("volumeMounts") or []]
            starts[operand.key](Launch(world, pod, spec, host.node, (), (), env, mounts, directory, print, 0.0))

    def _find(self, store: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        if store == "nodes":
            return {"metadata": {"labels": dict(self.labels)}}
        return {"data": CONFIGURATIONS} if (store, name, namespace) == ("configmaps", "turns", "gpu-operator") else None

    def _patch(self, _version: str, _kind: str, _name: str, _space: None, body: Any, subresource: str | None) -> None:
        self.labels |= body.get("metadata", {}).get("labels", {})
        if subresource == "status":
            self.allocatable |= body["status"]["allocatable"]

    def look(self) -> None:
        for work in self._work:
            work()

    @property
    def offers(self) -> tuple[str | None, str | None, str | None]:
        """GPUs, the product, and how they are shared."""
        sharing = self.labels.get("nvidia.com/gpu.sharing-strategy")
        return self.allocatable.get("nvidia.com/gpu"), self.labels.get(PRODUCT), sharing


def test_a_label_chooses_how_often_a_gpu_is_offered(tmp_path: Path) -> None:
    node = Node(tmp_path, POLICY)
    node.look()
    assert node.offers == ("4", "NVIDIA-L40S", "none")
    node.labels[LABEL] = "four"
    node.look()
    assert node.offers == ("16", "NVIDIA-L40S-SHARED", "time-slicing")
    assert (node.labels["nvidia.com/gpu.replicas"], node.labels["nvidia.com/gpu.count"]) == ("4", "4")
    node.labels[LABEL] = "others"
    node.look()
    assert node.offers == ("4", "NVIDIA-L40S", "none")


@pytest.mark.parametrize("name", ["five", "four "])
def test_a_configuration_that_nobody_wrote_offers_nothing(name: str, tmp_path: Path) -> None:
    node = Node(tmp_path, POLICY)
    node.labels[LABEL] = name
    node.look()
    assert node.offers == (None, None, None)
    assert f"specified config {name} does not exist" in (tmp_path / "log").read_text()


def test_without_configurations_the_label_says_nothing(tmp_path: Path) -> None:
    node = Node(tmp_path, {"devicePlugin": {"enabled": True}, "gfd": {"enabled": True}})
    node.labels[LABEL] = "four"
    node.look()
    assert node.offers == ("4", "NVIDIA-L40S", "none")
