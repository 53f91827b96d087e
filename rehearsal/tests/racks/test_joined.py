"""A racked machine as its kubelet knows it, and what plugins offer of it."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.devices import cilium, gpus
from rehearsal.devices.card_plugins import resources
from rehearsal.devices.local_volumes import PROVISIONED, fnv, released
from rehearsal.devices.nic_states import objects
from rehearsal.kubelet.hosts import Card
from rehearsal.kubelet.topology import settings
from rehearsal.metal.machine import Card as Seated
from rehearsal.metal.machine import Drive, Gpu, Machine
from rehearsal.racks.joined import racked
from rehearsal.tests.inside.account import until

COMPUTE = Card("15b3", "1021", infiniband=True)
STORAGE = Card("15b3", "1021", infiniband=False)
OTHER = Card("8086", "1563", infiniband=False)
SELECTED = {"vendors": ["15b3"], "deviceIDs": ["1021"], "linkTypes": ["infiniband"]}


def machine(**facts: Any) -> Machine:
    given: dict[str, Any] = {
        "gpu": Gpu("NVIDIA H100 80GB HBM3", 8, "580.126.20", 200, 700, 1980),
        "drives": (Drive("nvme0n1", 1920, "B", "ext4", "/"), Drive("nvme1n1", 3840, "D")),
        "cards": (Seated("0000:18:00.0", "ibp0", vendor="15b3", device="1021", infiniband=True),),
        "model": "PowerEdge XE9680",
    }
    return Machine("gpu-1", "10.20.0.21", "S1", **{**given, **facts})


def test_a_machine_is_known_by_its_parts_and_by_what_its_preparation_left() -> None:
    told = {
        "kubelet": "topologyManagerPolicy: restricted\n",
        "mounts": json.dumps([{"what": None, "where": "/mnt/shared"}]),
    }
    host = racked(machine(), "gpu-1", told, "10.244.3.0/24")
    assert (host.driver, host.system, host.pods) == (True, ("ubuntu", "24.04"), "10.244.3.0/24")
    assert host.mounted("/mnt/shared")
    assert not host.mounted("/mnt/other")
    assert host.vendors == ("15b3",)
    assert settings(host.node_config).policy == "restricted"
    assert host.machine.local_nvme == 3840
    labels = gpus.discovery_labels(host.machine)
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert labels["nvidia.com/gpu.machine"] == "PowerEdge-XE9680"
    assert gpus.offered(host.machine, None, "none") == {"nvidia.com/gpu": 8}


def test_a_machine_without_the_driver_has_gpus_that_nobody_offers() -> None:
    bare = Gpu("NVIDIA H100 80GB HBM3", 8, "", 200, 700, 1980)
    assert not racked(machine(gpu=bare), "gpu-1", {}, "").driver
    assert racked(machine(gpu=None), "cp-1", {}, "").machine.gpu_count == 0


def test_a_gpu_that_nobody_knows_keeps_its_name() -> None:
    assert gpus.called("NVIDIA GeForce RTX 2080") == ("NVIDIA GeForce RTX 2080", 0)
    assert gpus.called("NVIDIA GeForce RTX 3060") == ("RTX 3060", 12288)
    assert gpus.called("NVIDIA H200") == ("H200", 144384)


@pytest.mark.parametrize(
    ("cards", "selectors", "count"),
    [
        ((COMPUTE, OTHER), SELECTED, 63),
        ((STORAGE, OTHER), SELECTED, None),
        ((STORAGE,), {"vendors": ["15b3"]}, 63),
        ((COMPUTE,), {"deviceIDs": ["101b"]}, None),
        ((COMPUTE,), {}, None),
        ((), SELECTED, None),
    ],
)
def test_cards_are_shared_where_every_selector_takes_one(
    cards: tuple[Card, ...], selectors: dict[str, list[str]], count: int | None
) -> None:
    told = [{"resourceName": "compute", "rdmaHcaMax": 63, "selectors": selectors}]
    assert resources(told, cards) == ({} if count is None else {"rdma/compute": (count, count)})


def policy(**spec: Any) -> dict[str, Any]:
    meta = {"name": "nic-cluster-policy", "uid": "1"}
    return {"apiVersion": "mellanox.com/v1alpha1", "kind": "NicClusterPolicy", "metadata": meta, "spec": spec}


def test_the_operator_makes_the_plugin_where_nobody_waits_for_drivers() -> None:
    plugin = {"repository": "nvcr.io/nvidia/mellanox", "image": "k8s-rdma-shared-dev-plugin", "version": "v1"}
    config, daemon = objects(policy(rdmaSharedDevicePlugin={**plugin, "config": "{}"}), "there")
    assert config["data"] == {"config.json": "{}"}
    pod = daemon["spec"]["template"]["spec"]
    assert pod["nodeSelector"]["network.nvidia.com/operator.mofed.wait"] == "false"
    assert pod["containers"][0]["image"] == "nvcr.io/nvidia/mellanox/k8s-rdma-shared-dev-plugin:v1"
    assert daemon["metadata"]["ownerReferences"][0]["uid"] == "1"


def test_drivers_in_containers_are_a_daemon_of_their_own() -> None:
    made = list(objects(policy(ofedDriver={"repository": "r", "image": "doca-driver", "version": "1"}), "there"))
    assert [each["metadata"]["name"] for each in made] == ["mofed-ds"]


def test_volumes_are_named_by_the_hash_of_go() -> None:
    """Vectors of FNV-1a, 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/."""
    assert (fnv(""), fnv("a"), fnv("foobar")) == (0x811C9DC5, 0xE40C292C, 0xBF9CF968)


@pytest.mark.parametrize(
    ("phase", "policy", "node", "goes"),
    [
        ("Released", "Delete", "cp-1", True),
        ("Bound", "Delete", "cp-1", False),
        ("Released", "Retain", "cp-1", False),
        ("Released", "Delete", "cp-10", False),
    ],
)
def test_a_released_volume_is_emptied_on_its_node(phase: str, policy: str, node: str, goes: bool) -> None:
    volume = {
        "metadata": {"annotations": {PROVISIONED: f"local-volume-provisioner-{node}"}},
        "spec": {"persistentVolumeReclaimPolicy": policy},
        "status": {"phase": phase},
    }
    assert released(volume, "cp-1") is goes


class Shown:
    """A cluster as its kubelets know it."""

    def __init__(self, endpoint: str | None, nodes: list[dict[str, Any]]) -> None:
        told = f"controlPlaneEndpoint: {endpoint}\n" if endpoint else ""
        self._config = {"data": {"ClusterConfiguration": told}}
        self.stores = {"nodes": SimpleNamespace(all=lambda: nodes)}

    def find(self, *_: str) -> dict[str, Any]:
        return self._config


CONTROL = {
    "metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}},
    "status": {"addresses": [{"type": "InternalIP", "address": "10.20.0.11"}]},
}


@pytest.mark.parametrize(
    ("host", "runs"), [("10.20.3.250", True), ("10.20.0.11", True), ("", False), ("10.20.0.99", False)]
)
def test_an_agent_runs_only_where_it_reaches_the_api_server(host: str, runs: bool) -> None:
    said: list[str] = []
    env = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "6443"}
    launch = SimpleNamespace(world=Shown("10.20.3.250:6443", [CONTROL]), env=env, now=0.0, log=said.append)
    ended = cilium.agent(launch).exited(1.0)  # type: ignore[arg-type]
    assert (ended is None) is runs
    assert runs or "Unable to contact k8s api-server" in said[0]


def test_the_operator_makes_the_definitions_of_policies_once() -> None:
    made: list[dict[str, Any]] = []
    kube = SimpleNamespace(apply=lambda each, *_, **__: made.append(each))
    operator = cilium.Operator(SimpleNamespace(world=SimpleNamespace(kube=kube), namespace="kube-system"))  # type: ignore[arg-type]
    until(lambda: len(made) > 1, 10, "the definitions")
    operator.close()
    names = [each["metadata"]["name"] for each in made]
    assert names == ["ciliumclusterwidenetworkpolicies.cilium.io", "ciliumnetworkpolicies.cilium.io"]
    assert all(each["spec"]["versions"][0]["served"] for each in made)


def test_a_cluster_that_kubeadm_has_not_made_is_asked_anywhere() -> None:
    launch = SimpleNamespace(world=Shown(None, []), env={}, now=0.0, log=lambda _: None)
    assert cilium.agent(launch).exited(1.0) is None  # type: ignore[arg-type]
