"""Pods in a second range of the VPC."""

import json
from copy import deepcopy
from ipaddress import IPv4Network
from typing import Any

import pytest

from planner.types import AwsPlan
from policy import RULES
from policy.rule import violations
from tests.graph.harness import Recorded
from tests.graph.stackfiles import run_program, stack_config
from tests.planner.stacks import about, plan_of

RANGE = "100.64.0.0/16"


def config(pod_cidr: str | None = RANGE, **platform: Any) -> dict[str, Any]:
    found = deepcopy(stack_config("dev"))
    network = found["gpucluster:platform"].setdefault("network", {})
    if pod_cidr:
        network["podCidr"] = pod_cidr
    found["gpucluster:platform"] |= platform
    return found


def planned(pod_cidr: str | None = RANGE, **platform: Any) -> AwsPlan:
    return plan_of(config(pod_cidr, **platform))


@pytest.fixture(scope="module")
def graph() -> Recorded:
    return run_program(config(), stack="dev")


def test_each_zone_has_a_subnet_of_the_range_with_the_way_out_of_its_zone(graph: Recorded) -> None:
    made = graph.one("network-pods")
    assert made.inputs["cidrBlock"] == RANGE
    tables = {each.inputs["subnetId"]: each.inputs["routeTableId"] for each in graph.of_type("RouteTableAssociation")}
    for zone in ("use2-az1", "use2-az2"):
        subnet, system = graph.one(f"network-subnet-pods-{zone}"), graph.one(f"network-subnet-system-{zone}")
        assert IPv4Network(subnet.inputs["cidrBlock"]).subnet_of(IPv4Network(RANGE))
        assert subnet.inputs["tags"]["gpucluster:network"] == "pods"
        assert made.urn in subnet.references["vpcId"], "no subnet of the range before the VPC has it"
        assert tables[subnet.id] == tables[system.id]


def test_the_plugin_takes_pods_addresses_as_the_eniconfig_of_their_zone_says(graph: Recorded) -> None:
    addon = graph.one("node-addons-vpc-cni")
    told = json.loads(addon.inputs["configurationValues"])
    assert told["env"] == {
        "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true",
        "ENI_CONFIG_LABEL_DEF": "topology.kubernetes.io/zone",
    }
    assert told["enableNetworkPolicy"] == "true"
    for zone in ("use2-az1", "use2-az2"):
        config_ = graph.one(f"pod-range-{zone}")
        subnet = graph.one(f"network-subnet-pods-{zone}")
        assert config_.inputs["kind"] == "ENIConfig"
        assert config_.inputs["spec"]["subnet"] == subnet.id
        assert len(config_.inputs["spec"]["securityGroups"]) == 1
        assert addon.urn in config_.depends_on, "the add-on brings the definition"
        for pool in ("system", "training", "inference"):
            assert config_.urn in graph.one(f"pool-{pool}-nodes").depends_on, "a node without one has no address"


def test_nodes_stay_in_their_own_subnets_and_no_rule_is_broken(graph: Recorded) -> None:
    (subnet,) = graph.one("pool-training-nodes").inputs["subnetIds"]
    assert subnet == graph.one("network-subnet-gpu-use2-az1").id
    assert [str(each) for each in violations(graph, RULES)] == []


def test_without_a_range_nothing_of_it_is_there() -> None:
    graph = run_program(config(None), stack="dev")
    assert graph.of_type("VpcIpv4CidrBlockAssociation") == []
    assert "env" not in json.loads(graph.one("node-addons-vpc-cni").inputs["configurationValues"])


def test_addresses_are_counted_in_both_ranges() -> None:
    """A node has one address in its own subnet; its pods' interfaces are whole ones, the primary not among them."""
    apart, together = planned(), planned(None)
    node = apart.pools["training"]
    assert node.addresses_per_node == 1
    assert node.pod_addresses_per_node > 0
    assert node.pod_addresses_per_node % node.instance.addresses_per_interface == 0
    assert node.addressed_pods <= together.pools["training"].addressed_pods
    needed = {subnet.name: subnet.needed for subnet in apart.subnets}
    before = {subnet.name: subnet.needed for subnet in together.subnets}
    assert needed["gpu-use2-az1"] < before["gpu-use2-az1"]
    system = apart.pools["system"]
    assert needed["pods-use2-az2"] == (system.count + -(-system.surge // 2)) * system.pod_addresses_per_node
    assert needed["pods-use2-az1"] > needed["pods-use2-az2"], "nodes of all kinds stand in the GPU zone"


def test_the_primary_interface_carries_no_pods() -> None:
    """m7i.large: 3 interfaces of 10 addresses; 2 x 9 and the two on the host's network."""
    found = config()
    found["gpucluster:pools"][0]["instanceType"] = "m7i.large"
    system = plan_of(found).pools["system"]
    assert system.addressed_pods == 20
    assert system.max_pods == 29, "which is what EKS tells the kubelet all the same"


def test_a_range_that_is_too_small_is_refused_by_its_own_name() -> None:
    found = config("100.64.0.0/20")
    found["gpucluster:pools"][0]["count"] = 40
    found["gpucluster:budget"] |= {"maxHourlyUsd": 1000}
    said = about("subnet-size", plan_of(found))
    assert "gpucluster:platform.network.podCidr" in [each.path for each in said]
    assert any("podCidr" in (each.remedy or "") for each in said)
