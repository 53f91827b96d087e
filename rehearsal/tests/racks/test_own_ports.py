"""Ports that pods get for themselves: what the operators make, what nodes offer, and how a kubelet attaches a pod."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.charts import played
from rehearsal.devices.card_plugins import devices
from rehearsal.devices.network_operator import blocks, host_device
from rehearsal.devices.nic_states import objects, ready
from rehearsal.devices.sriov_operator import attachment, interfaces, plugin_resources
from rehearsal.images import nccl
from rehearsal.kubelet.attaching import Attachments, attach, wanted
from rehearsal.kubelet.hosts import Card
from rehearsal.metal.machine import Machine
from rehearsal.racks.joined import racked
from rehearsal.tests.charts.facts import order

CARDS = tuple(
    Card("15b3", "1021", infiniband=True, pci=f"0000:{18 + n}:00.0", name=f"rail{n}", vfs=4) for n in range(2)
)
STORAGE = Card("15b3", "1021", infiniband=True, pci="0000:a0:00.0", name="ibs0", vfs=4)
COMPONENT = {"repository": "nvcr.io/nvidia/mellanox", "version": "v1"}


def policy(**spec: Any) -> dict[str, Any]:
    meta = {"name": "nic-cluster-policy", "uid": "1"}
    return {"apiVersion": "mellanox.com/v1alpha1", "kind": "NicClusterPolicy", "metadata": meta, "spec": spec}


# -- the operators


def test_definitions_of_pools_come_with_the_policy_alone() -> None:
    multus = {"image": "multus-cni", **COMPONENT}
    limits = [{"name": "kube-multus", "limits": {"memory": "256Mi"}}]
    spec = {
        "secondaryNetwork": {"multus": {**multus, "containerResources": limits}, "cniPlugins": {"image": "plugins"}},
        "nvIpam": {"image": "nvidia-k8s-ipam", **COMPONENT},
    }
    made = {f"{each['kind']} {each['metadata']['name']}": each for each in objects(policy(**spec), "there")}
    assert list(made) == [
        "DaemonSet cni-plugins-ds",
        "DaemonSet kube-multus-ds",
        "CustomResourceDefinition ippools.nv-ipam.nvidia.com",
        "CustomResourceDefinition cidrpools.nv-ipam.nvidia.com",
        "DaemonSet nv-ipam-node",
        "Deployment nv-ipam-controller",
    ]
    (container,) = made["DaemonSet kube-multus-ds"]["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {"limits": {"memory": "256Mi"}}
    assert not list(objects(policy(), "there"))


def test_a_policy_is_ready_when_its_parts_are() -> None:
    assert ready({"kind": "ConfigMap"}, None)
    assert not ready({"kind": "DaemonSet"}, {"status": {"desiredNumberScheduled": 0}})
    assert ready({"kind": "DaemonSet"}, {"status": {"desiredNumberScheduled": 2, "numberReady": 2}})
    assert not ready({"kind": "Deployment"}, {"status": {}})
    assert ready({"kind": "Deployment"}, {"status": {"availableReplicas": 1}})


def test_the_chart_has_functions_only_where_they_are_turned_on() -> None:
    chart = played.find("network-operator", "26.4.1")
    assert chart is not None
    on = {
        "sriovNetworkOperator": {"enabled": True},
        "sriov-network-operator": {
            "images": {"operator": "mirror/sriov-network-operator:v1", "sriovConfigDaemon": "mirror/daemon:v1"},
            "operator": {"resourcePrefix": "nvidia.com"},
        },
    }
    assert not [each for each in chart.crds({}) if "sriov" in each["metadata"]["name"]]
    assert len([each for each in chart.crds(on) if "sriov" in each["metadata"]["name"]]) == 9

    def rendered(values: dict[str, Any]) -> dict[str, dict[str, Any]]:
        return {
            f"{each['kind']} {each['metadata']['name']}": each for each in chart.render(order("r", "there", values))
        }

    assert not [name for name in rendered({}) if "sriov" in name.lower()]
    made = rendered(on)
    (operator,) = made["Deployment r-sriov-network-operator"]["spec"]["template"]["spec"]["containers"]
    assert operator["image"] == "mirror/sriov-network-operator:v1"
    env = {each["name"]: each.get("value") for each in operator["env"]}
    assert env["SRIOV_NETWORK_CONFIG_DAEMON_IMAGE"] == "mirror/daemon:v1"
    assert env["RESOURCE_PREFIX"] == "nvidia.com"
    selector = made["SriovOperatorConfig default"]["spec"]["configDaemonNodeSelector"]
    assert selector["network.nvidia.com/operator.mofed.wait"] == "false"


def functions(number: int, count: int, **selector: Any) -> dict[str, Any]:
    chosen = selector or {"vendor": "15b3", "pfNames": [f"rail{number}"]}
    return {
        "spec": {
            "nicSelector": chosen,
            "numVfs": count,
            "resourceName": f"rail{number}",
            "linkType": "ib",
            "isRdma": True,
        }
    }


@pytest.mark.parametrize(
    ("selector", "count"),
    [
        ({}, 2),
        ({"pfNames": ["rail9"]}, 0),
        ({"vendor": "8086"}, 0),
        ({"deviceID": "101b"}, 0),
        ({"rootDevices": ["0000:18:00.0"]}, 2),
    ],
)
def test_only_a_fitting_policy_gives_a_node_functions(selector: dict[str, Any], count: int) -> None:
    own = [functions(0, 2, **selector)]
    assert [each["numVfs"] for each in interfaces(own, CARDS)] == ([count] if count else [])
    config = list(plugin_resources(own, CARDS, "nvidia.com"))
    made = {each["name"]: each["numVfs"] for each in interfaces(own, CARDS)}
    assert devices(config, (*CARDS, STORAGE), made) == ({"nvidia.com/rail0": (2, 2)} if count else {})


def test_a_policy_of_ethernet_takes_no_port_of_infiniband() -> None:
    other = functions(0, 2)
    other["spec"]["linkType"] = "eth"
    assert not list(interfaces([other], CARDS))


def test_functions_that_nobody_made_are_not_offered() -> None:
    config = list(plugin_resources([functions(0, 2)], CARDS, "nvidia.com"))
    assert devices(config, CARDS, {}) == {}


def test_ports_are_offered_as_they_are_by_their_addresses() -> None:
    config = [
        {
            "resourcePrefix": "nvidia.com",
            "resourceName": f"rail{number}",
            "selectors": {"vendors": ["15b3"], "pciAddresses": [card.pci], "isRdma": True},
        }
        for number, card in enumerate(CARDS)
    ]
    assert devices(config, (*CARDS, STORAGE), {}) == {"nvidia.com/rail0": (1, 1), "nvidia.com/rail1": (1, 1)}
    assert devices(config, (STORAGE,), {}) == {}


NODES = [
    {"metadata": {"name": name, "labels": {"role": role}}}
    for name, role in (("a", "training"), ("b", "training"), ("c", "system"))
]
TRAINING = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "role", "operator": "In", "values": ["training"]}]}]}


def test_nodes_of_a_pool_have_blocks_as_long_as_there_are_any() -> None:
    spec = {"subnet": "10.21.0.0/29", "perNodeBlockSize": 2, "nodeSelector": TRAINING}
    given = list(blocks(spec, NODES, []))
    assert [(each["nodeName"], each["startIP"], each["endIP"]) for each in given] == [
        ("a", "10.21.0.1", "10.21.0.2"),
        ("b", "10.21.0.3", "10.21.0.4"),
    ]
    assert list(blocks(spec, NODES[1:], given)) == given[1:], "who has a block keeps it"
    small = {**spec, "subnet": "10.21.0.0/30"}
    assert [each["nodeName"] for each in blocks(small, NODES, [])] == ["a"]
    assert len(list(blocks({"subnet": "10.21.0.0/28", "perNodeBlockSize": 1}, NODES, []))) == 3


def test_networks_are_made_where_the_objects_say() -> None:
    ipam = '{"type": "nv-ipam", "poolName": "rail0-addresses"}'
    spec = {"networkNamespace": "training", "resourceName": "rail0", "ipam": ipam}
    meta = {"name": "rail0", "namespace": "there", "uid": "1"}
    own = host_device({"apiVersion": "m/v1", "kind": "HostDeviceNetwork", "metadata": meta, "spec": spec})
    made = attachment(
        {"kind": "SriovIBNetwork", "metadata": meta, "spec": {**spec, "metaPlugins": '{"type": "rdma"}'}}, "nvidia.com"
    )
    for each in (own, made):
        assert (each["metadata"]["namespace"], each["metadata"]["name"]) == ("training", "rail0")
        assert each["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"] == "nvidia.com/rail0"
    assert json.loads(own["spec"]["config"])["type"] == "host-device"
    assert [each["type"] for each in json.loads(made["spec"]["config"])["plugins"]] == ["ib-sriov", "rdma"]
    there = attachment({"kind": "SriovNetwork", "metadata": meta, "spec": {"resourceName": "rail0"}}, "nvidia.com")
    assert there["metadata"]["namespace"] == "there", "the operator's own where none is said"


# -- the kubelet


class World:
    """A node with Multus, a network in a namespace, and addresses for its pods."""

    def __init__(self, *, namespace: str = "training", block: bool = True, cilium: str | None = "false") -> None:
        self.attached, self.events, self.patched = Attachments(), self, dict[str, Any]()
        self.emitted: list[str] = []
        self._namespace, self._block, self._cilium = namespace, block, cilium
        self.daemons = {"kube-multus", "nv-ipam-node"}
        self.kube = SimpleNamespace(get=self._get, patch=lambda *told: self.patched.update(told[4]))

    def emit(self, _pod: Any, _kind: str, reason: str, *_: Any) -> None:
        self.emitted.append(reason)

    def find(self, _store: str, _name: str, _namespace: str) -> dict[str, Any] | None:
        return {"data": {"cni-exclusive": self._cilium}} if self._cilium is not None else None

    def running(self, _node: str, container: str) -> Iterator[dict[str, Any]]:
        yield from ({"metadata": {"namespace": "network-operator"}} for _ in self.daemons & {container})

    def _get(self, _api: str, kind: str, name: str, namespace: str) -> dict[str, Any] | None:
        if kind == "IPPool":
            given = [{"nodeName": "gpu-1", "startIP": "10.21.0.1", "endIP": "10.21.0.2"}] if self._block else []
            return {"status": {"allocations": given}}
        if (namespace, name) != (self._namespace, "rail0"):
            return None
        spec = {"resourceName": "rail0", "ipam": '{"type": "nv-ipam", "poolName": "rail0-addresses"}'}
        meta = {"name": name, "namespace": namespace}
        return attachment(
            {"kind": "SriovIBNetwork", "metadata": meta, "spec": {**spec, "metaPlugins": '{"type": "rdma"}'}},
            "nvidia.com",
        )


def host(*, apart: bool = True) -> Any:
    return racked(Machine("gpu-1", "10.20.0.21", "S1"), "gpu-1", {"apart": "N" if apart else "Y"}, "")


def pod(networks: str = "rail0", uid: str = "u1", **limits: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "rank-0",
            "namespace": "training",
            "uid": uid,
            "annotations": {"k8s.v1.cni.cncf.io/networks": networks},
        },
        "spec": {"containers": [{"resources": {"limits": limits or {"nvidia.com/rail0": "1"}}}]},
    }


def test_a_pod_is_attached_with_an_address_of_its_node() -> None:
    world: Any = World()
    assert attach(world, pod(), host()) is None
    (made,) = world.attached.of("u1")
    assert (made.network, made.interface, made.address) == ("training/rail0", "net1", "10.21.0.1")
    (told,) = json.loads(world.patched["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"])
    assert told["ips"] == ["10.21.0.1"]
    world.attached.give_back("u1")
    assert not world.attached.of("u1")


@pytest.mark.parametrize(
    ("facts", "changes", "words"),
    [
        ({"namespace": "default"}, {}, "cannot find a network-attachment-definition (rail0) in namespace (training)"),
        ({}, {"networks": "rail7"}, "cannot find a network-attachment-definition (rail7) in namespace (training)"),
        ({"block": False}, {}, 'configuration for pool "rail0-addresses", poolType "ippool" not found'),
        ({}, {"limits": {"cpu": "1"}}, "no device of nvidia.com/rail0"),
        ({}, {"apart": False}, "namespace awareness mode is set to shared"),
    ],
)
def test_what_is_not_there_keeps_a_pod_from_starting(
    facts: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    world: Any = World(**facts)
    wanting = pod(changes.get("networks", "rail0"), **changes.get("limits", {}))
    problem = attach(world, wanting, host(apart=changes.get("apart", True)))
    assert problem is not None
    assert problem.reason == "FailedCreatePodSandBox"
    assert words in problem.message
    assert not world.attached.of("u1")
    assert ("NoNetworkFound" in world.emitted) is ("cannot find" in words)


def test_a_pool_that_is_used_up_keeps_a_pod_from_starting() -> None:
    world: Any = World()
    assert attach(world, pod(uid="u1"), host()) is None
    assert attach(world, pod(uid="u2"), host()) is None
    problem = attach(world, pod(uid="u3"), host())
    assert problem is not None
    assert 'no free addresses in the pool "rail0-addresses"' in problem.message


@pytest.mark.parametrize("cilium", ["", "true"])
def test_where_cilium_is_alone_nobody_asks_multus(cilium: str) -> None:
    world: Any = World(cilium=cilium)
    assert attach(world, pod(), host()) is None
    assert not world.attached.of("u1")


def test_a_node_without_multus_attaches_nobody() -> None:
    world: Any = World()
    world.daemons.discard("kube-multus")
    assert attach(world, pod(), host()) is None
    assert not world.attached.of("u1")


def test_annotations_are_lists_by_commas_or_json() -> None:
    assert list(wanted("rail0, other/rail1@ib1", "training")) == [
        ("training", "rail0", "net1"),
        ("other", "rail1", "ib1"),
    ]
    assert list(wanted('[{"name": "rail0", "namespace": "x"}]', "training")) == [("x", "rail0", "net1")]


def test_cards_that_a_pod_is_not_attached_by_are_none_of_its() -> None:
    limits = {"nvidia.com/gpu": "8", "nvidia.com/rail0": "1", "nvidia.com/rail1": "1"}
    assert nccl.cards({**limits, "memory": "223Gi", "cpu": "500m"}) == 2
    assert nccl.cards(limits, 0) == 0
    assert nccl.cards({"rdma/compute": "1", "nvidia.com/mig-1g.10gb": "2"}, 0) == 1
