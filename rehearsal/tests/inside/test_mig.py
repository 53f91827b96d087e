"""GPUs cut by MIG: what label, manager, plugin and feature discovery make of each other (K09, KJ24, KJ25)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.devices import daemons, mig
from rehearsal.kubelet.allotted import Allotted
from rehearsal.kubelet.hosts import Hosts
from rehearsal.kubelet.orders import Orders
from rehearsal.kubelet.program import Launch
from rehearsal.tests.inside import facts

PRODUCT = "nvidia.com/gpu.product"
NFD_MASTER = {
    "metadata": {"name": "nfd", "labels": {"app.kubernetes.io/name": "node-feature-discovery", "role": "master"}},
    "spec": {"containers": []},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}


class Node:
    """A node with the daemons that look after its GPUs, each looking once per `look`."""

    def __init__(self, directory: Path, strategy: str, instance_type: str) -> None:
        host = facts.host(instance_type)
        self.name, self.hosts = host.node, Hosts()
        self.hosts.add(host)
        self.labels: dict[str, str] = {}
        self.states: list[str] = []
        self.allocatable: dict[str, str] = {}
        self.pods: list[dict[str, Any]] = [NFD_MASTER]
        self._work: list[Callable[[], object]] = []
        world: Any = SimpleNamespace(
            hosts=self.hosts,
            tasks=SimpleNamespace(run=lambda _, work: self._work.append(work)),
            stores={"pods": SimpleNamespace(all=lambda: self.pods)},
            find=lambda *_: {"metadata": {"labels": dict(self.labels)}},
            kube=SimpleNamespace(patch=self._patch),
            allotted=Allotted(),
            orders=Orders(directory / "orders.json"),
        )
        common = {"command": (), "args": (), "mounts": (), "directory": directory, "wake": print, "now": 0.0}
        for name, start in (
            ("manager", mig.mig_manager),
            ("plugin", daemons.nvidia_device_plugin),
            ("discovery", daemons.gpu_feature_discovery),
        ):
            spec, env = {"name": name}, {"MIG_STRATEGY": strategy}
            start(Launch(world=world, pod={}, spec=spec, node=self.name, env=env, **common))  # type: ignore[arg-type]

    def _patch(self, _version: str, _kind: str, _name: str, _space: None, body: Any, subresource: str | None) -> None:
        found = body.get("metadata", {}).get("labels", {})
        self.labels |= found
        self.states += [found[mig.STATE]] if mig.STATE in found else []
        if subresource == "status":
            self.allocatable |= body["status"]["allocatable"]

    def look(self) -> None:
        for work in self._work:
            work()


@pytest.fixture
def node(tmp_path: Path) -> Callable[..., Node]:
    return lambda strategy="single", instance_type="p5.48xlarge": Node(tmp_path, strategy, instance_type)


def test_a_label_cuts_every_gpu_of_the_node_and_single_offers_the_slices_as_gpus(node: Callable[..., Node]) -> None:
    one = node()
    one.look()
    assert (one.allocatable, one.labels[PRODUCT]) == ({"nvidia.com/gpu": "8"}, "NVIDIA-H100-80GB-HBM3")
    one.labels[mig.CONFIG] = "all-3g.40gb"
    one.look()
    assert one.states == ["pending", "success"]
    assert one.allocatable == {"nvidia.com/gpu": "16"}
    assert one.labels[PRODUCT] == "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb"
    assert one.labels["nvidia.com/gpu.count"] == "16"


def test_mixed_offers_a_resource_of_the_profile_and_no_whole_gpu(node: Callable[..., Node]) -> None:
    """KJ25: nvidia.com/mig-PROFILE exists under the strategy `mixed` only."""
    one = node("mixed")
    one.labels[mig.CONFIG] = "all-1g.10gb"
    one.look()
    assert one.allocatable == {"nvidia.com/gpu": "0", "nvidia.com/mig-1g.10gb": "56"}
    assert one.labels[PRODUCT] == "NVIDIA-H100-80GB-HBM3"
    one.labels[mig.CONFIG] = "all-disabled"
    one.look()
    assert one.allocatable == {"nvidia.com/gpu": "8", "nvidia.com/mig-1g.10gb": "0"}


def test_without_a_strategy_a_cut_gpu_is_not_offered(node: Callable[..., Node]) -> None:
    one = node("none")
    one.labels[mig.CONFIG] = "all-1g.10gb"
    one.look()
    assert one.allocatable == {"nvidia.com/gpu": "0"}


def test_a_machine_whose_name_is_no_labels_value_has_its_other_labels(node: Callable[..., Node]) -> None:
    """Node-feature-discovery, nfd-master.go, filterFeatureLabels: the API server would refuse all of them."""
    one = node()
    host = one.hosts.get(one.name)
    assert host is not None
    one.hosts.add(replace(host, machine=replace(host.machine, instance_type="To-Be-Filled-By-O.E.M.")))
    one.look()
    assert one.labels[PRODUCT] == "NVIDIA-H100-80GB-HBM3"
    assert "nvidia.com/gpu.machine" not in one.labels


@pytest.mark.parametrize("config", ["all-1g.5gb", "3g.40gb", "half-and-half"])
def test_what_the_gpu_cannot_do_fails_and_changes_nothing(config: str, node: Callable[..., Node]) -> None:
    """KJ24: 1g.5gb is of the A100 with 40 GB."""
    one = node()
    one.labels[mig.CONFIG] = config
    one.look()
    one.look()
    assert one.states == ["pending", "failed"]
    assert one.allocatable == {"nvidia.com/gpu": "8"}


def test_a_gpu_in_use_is_not_cut(node: Callable[..., Node]) -> None:
    """KJ24: a change needs idle GPUs; the manager does not evict whoever holds them."""
    one = node()
    holder = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    one.pods.append({"metadata": {"name": "train"}, "spec": {"nodeName": one.name, "containers": [holder]}})
    one.labels[mig.CONFIG] = "all-3g.40gb"
    one.look()
    assert one.states == ["pending", "failed"]
    assert one.hosts.profile(one.name) is None


def test_gpus_stay_cut_when_the_rehearsal_forgets(node: Callable[..., Node]) -> None:
    """The effects may be restarted below pods that hold slices: the node's labels tell what was cut."""
    one = node()
    one.labels |= {mig.CONFIG: "all-3g.40gb", mig.STATE: "success", PRODUCT: "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb"}
    holder = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    one.pods.append({"metadata": {"name": "serve"}, "spec": {"nodeName": one.name, "containers": [holder]}})
    one.look()
    assert (one.states, one.allocatable) == ([], {"nvidia.com/gpu": "16"})
