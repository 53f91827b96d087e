"""The stack on racked hosts with RoCE whose pods get virtual functions of the ports: two of each, one for the gang.

Their machines' ports lose no packets, and kubelets keep processors for pods alone.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml

from doctor.machines.comparing import examine
from doctor.machines.reading import Ssh
from doctor.results import Status
from planner.metal_types import MetalPlan
from planner.plan import plan
from rehearsal.metal.keys import person
from rehearsal.metal.lacking import missing
from rehearsal.metal.record import Record
from settings.load import from_file

from .rehearsed import Rehearsed, rehearsed, until
from .test_metal_up import RUN, nodes
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

LACKING = missing()
GPU_HOSTS = ["dgx-01", "dgx-02"]
RAILS = [f"rail{number}" for number in range(8)]
STATUS = "k8s.v1.cni.cncf.io/network-status"


FABRIC = {
    "kind": "roce",
    "switch": "SN5600",
    "pfc": True,
    "ecn": True,
    "mtu": 9000,
    "topology": "rail-optimised",
    "railCidr": "10.21.0.0/20",
    "podDevices": "sriov",
    "vfsPerPort": 2,
}
ROCE_SERVER = {
    "name": "HGX RoCE",
    "like": "DGX H100",
    "nics": [
        {"nic": "ConnectX-7 400GbE", "count": 8, "role": "compute", "hcas": [f"mlx5_{n}" for n in range(8)]},
        {"nic": "ConnectX-7 NDR", "count": 2, "role": "storage"},
        {"nic": "10GbE dual", "count": 1, "role": "management"},
    ],
}


def small(text: str) -> str:
    """The shipped stack with two GPU hosts, RoCE, and functions of its ports."""
    stack = yaml.safe_load(text)
    config = {key.removeprefix("gpucluster:"): value for key, value in stack["config"].items()}
    gpus = config["inventory"]["hosts"][1]
    gpus |= {"name": "dgx-[01-02]", "address": "10.20.0.[21-22]", "bmc": "10.20.4.[21-22]"}
    gpus |= {"racks": "r[1-2]", "units": gpus["units"][:1]}
    gpus |= {key: gpus[key][:2] for key in ("hostKeys", "serials", "allowFormat")}
    config["pools"][1] |= {"count": 2, "maxCount": 4}
    config["pools"][1] |= {"server": "HGX RoCE", "exclusiveCpus": True}
    config["catalogue"]["servers"] = [*config["catalogue"].get("servers", []), ROCE_SERVER]
    config["fabric"] = FABRIC
    (run,) = config["training"]["runs"]
    # Two nodes would stage for longer than anybody waits here.
    config["training"]["runs"] = [{**run, "nodes": 2, "model": "llama-3-8b", "dataset": None}]
    named = {key if key.startswith("pulumi:") else f"gpucluster:{key}": value for key, value in config.items()}
    return yaml.safe_dump({**stack, "config": named}, sort_keys=False, width=1000)


@pytest.fixture(scope="module")
def metal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """The shipped stack with another setting of its fabric, applied."""
    if LACKING:
        pytest.skip(LACKING)
    directory = tmp_path_factory.mktemp("own-ports")
    tree = Tree.copy(directory / "tree")
    tree.write("Pulumi.metal.yaml", small(tree.text("Pulumi.metal.yaml")))
    with rehearsed("metal", tree, directory / "state", "metal") as site:
        site.up().require()
        site.settled()
        yield site


def pods(site: Rehearsed) -> list[Any]:
    """The gang's pods, when all of them run."""

    def running() -> list[Any]:
        found = site.kube.list("v1", "Pod", namespace="training", label_selector=f"gpucluster/run={RUN}")
        return found if found and all(each["status"].get("phase") == "Running" for each in found) else []

    found: list[Any] = until(running, "every rank to run")
    return found


def test_nodes_offer_functions_of_each_port_and_no_shared_cards(metal: Rehearsed) -> None:
    for name, node in nodes(metal).items():
        allocatable = node["status"]["allocatable"]
        offered = {key: value for key, value in allocatable.items() if key.startswith(("nvidia.com/rail", "rdma/"))}
        assert offered == ({f"nvidia.com/{rail}": "2" for rail in RAILS} if name in GPU_HOSTS else {})


def test_doctor_finds_ports_that_lose_no_packets_on_every_machine(metal: Rehearsed) -> None:
    """Of MTU, DSCP, priority and links; and kubelets keep processors for pods alone."""
    planned = plan(from_file(metal.tree.root / "Pulumi.metal.yaml"))
    record = Record.read(metal.directory.hall / "hall.json")
    assert isinstance(planned, MetalPlan)
    assert planned.site is not None
    assert record is not None
    hosts = [replace(each, host_key=record.keys[each.host_key]) for each in planned.site.hosts]
    ssh = Ssh(person(metal.directory.hall).private, record.enter())
    found = examine(planned, replace(planned.site, hosts=tuple(hosts)), ssh.ask)
    # A machine that others load answers seconds late, which is a clock that is off.
    wrong = [each for each in found if each.status is not Status.OK and each.check != "clock"]
    assert [each.sentence for each in wrong] == []
    for host in (each for each in hosts if each.name in GPU_HOSTS):
        patch = ssh.run(planned.site, host, "cat /etc/kubernetes/patches/kubeletconfiguration*; echo end\n")
        assert "cpuManagerPolicy: static" in patch


def test_only_nodes_that_join_have_blocks_of_addresses(metal: Rehearsed) -> None:
    pools = metal.kube.list("nv-ipam.nvidia.com/v1alpha1", "IPPool")
    assert sorted(each["metadata"]["name"] for each in pools) == [f"{rail}-addresses" for rail in RAILS]
    for pool in pools:
        assert sorted(each["nodeName"] for each in pool["status"]["allocations"]) == GPU_HOSTS


def test_a_gang_runs_with_a_function_of_each_port(metal: Rehearsed) -> None:
    found = pods(metal)
    assert sorted(each["spec"]["nodeName"] for each in found) == GPU_HOSTS
    seen = set()
    for pod in found:
        attached = json.loads(pod["metadata"]["annotations"][STATUS])
        assert [each["name"] for each in attached] == [f"training/{rail}" for rail in RAILS]
        seen |= {address for each in attached for address in each["ips"]}
    assert len(seen) == len(GPU_HOSTS) * len(RAILS)
    (log,) = metal.directory.clusters.glob(f"hall/*/effects/pods/training_{RUN}-master-0_*/pytorch/0/log")
    assert "NET/IB : Using 8 cards" in log.read_text()
    assert not metal.view().unready()


def test_a_pod_elsewhere_finds_no_network_and_does_not_start(metal: Rehearsed) -> None:
    """Networks are looked up in the pod's own namespace, and runs have theirs in `training` alone."""
    container = {
        "name": "main",
        "image": "registry.example.com/ml/llama-trainer:1.0",
        "resources": {"limits": {"nvidia.com/rail0": "1"}},
    }
    annotations = {"k8s.v1.cni.cncf.io/networks": "rail0"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "astray", "namespace": "default", "annotations": annotations},
        "spec": {"nodeSelector": {"gpucluster/role": "training"}, "tolerations": [{"operator": "Exists"}]},
    }
    pod["spec"] |= {"containers": [container]}  # type: ignore[operator]
    metal.kube.create(pod)

    def told() -> list[str]:
        events = metal.kube.list("v1", "Event", namespace="default")
        return [each["message"] for each in events if each["involvedObject"]["name"] == "astray"]

    words = "cannot find a network-attachment-definition (rail0) in namespace (default)"
    until(lambda: any(words in each for each in told()), "Multus to say what is not there")
    found = metal.kube.get("v1", "Pod", "astray", "default")
    assert found is not None
    assert found["status"]["phase"] == "Pending"
    metal.kube.delete(pod)


def test_a_second_up_changes_nothing(metal: Rehearsed) -> None:
    metal.assert_quiet()


def test_down_leaves_nothing_of_networks(metal: Rehearsed) -> None:
    metal.destroy().require()
