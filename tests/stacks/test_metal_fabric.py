"""Ports of the fabric that pods get for themselves: what operators are told, and what runs ask for, in each mode."""

import json
import re
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from catalogue.metal_versions import OWN_PORT_OPERANDS
from policy.graph import Resource
from rehearsal.charts.values import not_in
from tests.graph.harness import Recorded
from tests.graph.schema_kubernetes import crd_file, problems
from tests.graph.stackfiles import graph_of, run_program, stack_config
from tests.graph.test_charts import vendor_values
from tests.stacks.test_metal import concerns_of, told

MODES = ("sriov", "hostDevice")
RAILS = [f"rail{number}" for number in range(8)]
RUN = "run-llama-3-70b-pretrain-job"
every_mode = pytest.mark.parametrize("mode", MODES)


@cache
def graph(mode: str, vfs: int = 1) -> Recorded:
    config = deepcopy(stack_config("metal"))
    config["gpucluster:fabric"] |= {"podDevices": mode} | ({"vfsPerPort": vfs} if vfs > 1 else {})
    return run_program(config, stack="metal")


def specs(mode: str, kind: str) -> dict[str, dict[str, Any]]:
    """Specs of a kind by the objects' names."""
    found = {each.inputs["metadata"]["name"]: each.inputs["spec"] for each in graph(mode).of_type(kind)}
    return dict(sorted(found.items()))


def policy(mode: str) -> Resource:
    return graph(mode).one("kube-platform-nic-cluster-policy")


@every_mode
def test_a_run_asks_for_one_of_each_port_and_is_attached_to_each(mode: str) -> None:
    template = graph(mode).one(RUN).inputs["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    (container,) = template["spec"]["containers"]
    limits = {key: value for key, value in container["resources"]["limits"].items() if "rail" in key or "rdma" in key}
    assert limits == {f"nvidia.com/{rail}": "1" for rail in RAILS}
    assert template["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] == ",".join(RAILS)
    env = {each["name"]: each.get("value") for each in container["env"]}
    assert ("NCCL_IB_HCA" in env) is (mode == "hostDevice"), "functions have names that nobody knows before"
    assert env["NCCL_NET"] == "IB"


@every_mode
def test_networks_are_where_runs_are_and_addresses_where_the_operator_is(mode: str) -> None:
    kind = "SriovIBNetwork" if mode == "sriov" else "HostDeviceNetwork"
    networks, pools = specs(mode, kind), specs(mode, "IPPool")
    assert list(networks) == RAILS
    for number, (name, spec) in enumerate(networks.items()):
        assert (spec["networkNamespace"], spec["resourceName"]) == ("training", name)
        ipam = json.loads(spec["ipam"])
        assert ipam == {"type": "nv-ipam", "poolName": f"{name}-addresses"}
        assert pools[ipam["poolName"]]["subnet"] == f"10.21.0.{number * 32}/27"
        assert pools[ipam["poolName"]]["perNodeBlockSize"] == 1
        (term,) = pools[ipam["poolName"]]["nodeSelector"]["nodeSelectorTerms"]
        assert term["matchExpressions"] == [{"key": "gpucluster/role", "operator": "In", "values": ["training"]}]
    (namespace,) = {each.inputs["metadata"]["namespace"] for each in graph(mode).of_type("IPPool")}
    assert namespace == graph(mode).one("network-operator-release").inputs["namespace"] == "network-operator"


@every_mode
def test_pools_wait_for_the_policy_and_the_gpu_operator_for_none_of_it(mode: str) -> None:
    """Their definition comes with the policy's nvIpam, and the policy with nodes that the GPU Operator labels."""
    found, its = graph(mode), policy(mode)
    assert its.inputs["metadata"]["annotations"] == {"pulumi.com/waitFor": "jsonpath={.status.state}=ready"}
    for each in found.of_type("IPPool"):
        assert its.urn in each.depends_on
    ours = {each.urn for kind in ("IPPool", "NicClusterPolicy", "HostDeviceNetwork") for each in found.of_type(kind)}
    assert not ours & set(found.one("gpu-operator-release").depends_on)
    assert not ours & set(found.one("gpu-readiness-wait").depends_on)
    counted = set(found.one("gpu-checks-training-count").depends_on)
    assert ours <= counted, "runs come when their networks are there"


def test_shared_cards_are_as_they_were() -> None:
    shared = graph_of("metal")
    assert not shared.of_type("IPPool")
    assert not shared.one("kube-platform-nic-cluster-policy").inputs["metadata"].get("annotations")
    assert "cni" not in shared.one("cilium-release").inputs["values"]


@every_mode
def test_the_policy_has_what_attaches_pods_and_no_shared_cards(mode: str) -> None:
    """NW04: Multus among it, all of one release."""
    spec = policy(mode).inputs["spec"]
    assert set(spec["secondaryNetwork"]) == {"multus", "cniPlugins"}
    assert "nvIpam" in spec
    assert "rdmaSharedDevicePlugin" not in spec
    images = {
        f"{part['repository']}/{part['image']}:{part['version']}"
        for part in (*spec["secondaryNetwork"].values(), spec["nvIpam"], spec.get("sriovDevicePlugin"))
        if part
    }
    assert images <= set(OWN_PORT_OPERANDS)
    assert all(re.search(r":network-operator-v\d+\.\d+\.\d+$", each) for each in images)
    assert graph(mode).one("cilium-release").inputs["values"]["cni"] == {"exclusive": False}


def test_ports_as_they_are_are_known_by_their_addresses() -> None:
    config = json.loads(policy("hostDevice").inputs["spec"]["sriovDevicePlugin"]["config"])
    (entry,) = (each for each in stack_config("metal")["gpucluster:inventory"]["hosts"] if each.get("rails"))
    assert [each["resourceName"] for each in config["resourceList"]] == RAILS
    assert [each["selectors"]["pciAddresses"] for each in config["resourceList"]] == [[pci] for pci in entry["rails"]]
    assert all(each["excludeTopology"] for each in config["resourceList"])
    assert not graph("hostDevice").of_type("SriovNetworkNodePolicy")


def test_functions_are_made_of_each_port_on_nodes_that_join() -> None:
    found = [each.inputs["spec"] for each in graph("sriov", 4).of_type("SriovNetworkNodePolicy")]
    chosen = sorted((each["resourceName"], each["nicSelector"]["pfNames"]) for each in found)
    assert chosen == [(rail, [rail]) for rail in RAILS]
    assert {each["nicSelector"]["vendor"] for each in found} == {"15b3"}
    assert {(each["numVfs"], each["linkType"], each["isRdma"]) for each in found} == {(4, "ib", True)}
    assert {json.dumps(each["nodeSelector"]) for each in found} == {'{"gpucluster/role": "training"}'}
    assert all(each["excludeTopology"] for each in found)
    pools = [each.inputs["spec"]["perNodeBlockSize"] for each in graph("sriov", 4).of_type("IPPool")]
    assert pools == [4] * 8
    steps = graph("sriov", 4).one("gpu-checks-training-count").inputs["spec"]["template"]["spec"]["containers"]
    assert [each["args"][1] for each in steps if "rail0" in each["args"][1]] == [
        "--for=jsonpath={.status.allocatable.nvidia\\.com/rail0}=4"
    ]


@every_mode
def test_machines_are_prepared_for_functions_where_there_are_some(mode: str) -> None:
    functions = mode == "sriov"
    for host in ("dgx-01", "cp-1"):
        joins = functions and host == "dgx-01"
        assert ("vfs" in concerns_of(host, graph(mode))) is joins
        values = told(host, graph(mode))
        assert values["IOMMU"] == ("pt" if joins else "off" if host == "dgx-01" else "any")
        assert values.get("VFS") == ("1" if joins else None), "another text would be sent to every machine again"
        assert ("mstflint=" in values["PACKAGES"].split()) is joins


@every_mode
def test_vendors_take_what_they_are_told(mode: str) -> None:
    kinds = ("NicClusterPolicy", "IPPool", "HostDeviceNetwork", "SriovIBNetwork", "SriovNetworkNodePolicy")
    found = [each for kind in kinds for each in graph(mode).of_type(kind)]
    if crd_file(found[0].kind) is None:
        pytest.skip("the vendors' definitions are not at hand: set GPUCLUSTER_UPSTREAM")
    for each in found:
        assert not problems(each), each.name
    values = graph(mode).one("network-operator-release").inputs["values"]
    assert values["sriovNetworkOperator"]["enabled"] is (mode == "sriov")
    known, named = vendor_values("network-operator")
    assert not list(not_in(known, values, named, ""))


def test_roce_gets_networks_of_ethernet() -> None:
    config = deepcopy(stack_config("metal"))
    config["gpucluster:fabric"] = {
        "kind": "roce",
        "switch": "SN5600",
        "pfc": True,
        "ecn": True,
        "topology": "rail-optimised",
        "railCidr": "10.21.0.0/20",
        "podDevices": "sriov",
    }
    hcas = [f"mlx5_{number}" for number in range(8)]
    cards = [
        {"nic": "ConnectX-7 400GbE", "count": 8, "role": "compute", "hcas": hcas},
        {"nic": "ConnectX-7 NDR", "count": 2, "role": "storage"},
        {"nic": "10GbE dual", "count": 1, "role": "management"},
    ]
    config["gpucluster:catalogue"] |= {"servers": [{"name": "HGX RoCE", "like": "DGX H100", "nics": cards}]}
    config["gpucluster:pools"][1]["server"] = "HGX RoCE"
    found = run_program(config, stack="metal")
    assert len(found.of_type("SriovNetwork")) == 8
    assert not found.of_type("SriovIBNetwork")
    policies = [each.inputs["spec"]["linkType"] for each in found.of_type("SriovNetworkNodePolicy")]
    assert policies == ["eth"] * 8
