"""Network and security groups (F02, NW10)."""

import pulumi
import pulumi_aws as aws
import pytest

from components.aws.lustre import Lustre
from components.aws.network import Network
from components.aws.security_groups import LustreGroup, LustreGroupArgs
from policy.graph import Resource
from tests.components.samples import SAMPLES, built
from tests.components.samples.aws import lustre_args, network_args


def rules(sample: list[Resource]) -> set[tuple[str, str, str, str, int | None, int | None]]:
    """(direction, at, peer, protocol, from, to)"""
    return {
        (
            "in" if each.kind.endswith("IngressRule") else "out",
            each.inputs["securityGroupId"].split("-")[0],
            each.inputs["referencedSecurityGroupId"],
            each.inputs["ipProtocol"],
            each.inputs.get("fromPort"),
            each.inputs.get("toPort"),
        )
        for each in sample
    }


def test_subnets_are_placed_by_zone_id_and_say_whose_traffic_they_carry_f02() -> None:
    subnets = {each.name: each.inputs for each in built(SAMPLES["network"]).of_type("Subnet")}
    assert subnets["sample-subnet-gpu"]["availabilityZoneId"] == "use2-az1"
    assert "availabilityZone" not in subnets["sample-subnet-gpu"]
    assert subnets["sample-subnet-gpu"]["tags"]["gpucluster:network"] == "backend"
    assert subnets["sample-subnet-control-a"]["tags"]["gpucluster:network"] == "management"


def test_weights_and_checkpoints_reach_s3_past_the_nat() -> None:
    graph = built(SAMPLES["network"])
    endpoint = graph.one("sample-s3").inputs
    assert endpoint["serviceName"] == "com.amazonaws.us-east-2.s3"
    assert endpoint["routeTableIds"] == [graph.one("sample-private-routes").id]


def test_a_nat_without_a_public_subnet_in_its_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no public subnet in use2-az3 for the NAT gateway; add one"):
        built(lambda opts: Network("sample", network_args(nat_zone_ids=["use2-az3"]), opts))


def test_efa_passes_between_members_both_ways_and_by_every_protocol_nw10() -> None:
    graph = built(SAMPLES["efa"])
    group = graph.one("sample-group").id
    found = rules([*graph.of_type("SecurityGroupIngressRule"), *graph.of_type("SecurityGroupEgressRule")])
    assert found == {("in", "sg", group, "-1", None, None), ("out", "sg", group, "-1", None, None)}


def test_lustre_has_its_ports_with_the_nodes_both_ways() -> None:
    graph = built(SAMPLES["lustre-group"])
    group = graph.one("sample-group").id
    found = rules([*graph.of_type("SecurityGroupIngressRule"), *graph.of_type("SecurityGroupEgressRule")])
    for low, high in ((988, 988), (1018, 1023)):
        assert {("in", "sg", "sg-1", "tcp", low, high), ("out", "sg", "sg-1", "tcp", low, high)} <= found
        assert ("in", "sg", group, "tcp", low, high) in found
    at_nodes = [each for each in graph.of_type("SecurityGroupIngressRule") if each.inputs["securityGroupId"] == "sg-1"]
    assert {each.inputs["fromPort"] for each in at_nodes} == {988, 1018}


def test_what_starts_in_a_subnet_can_reach_out() -> None:
    """Its routes are there before it, and go after it."""

    def both(opts: pulumi.ResourceOptions) -> Network:
        network = Network("sample", network_args(), opts)
        (subnet,) = network.subnet_ids("gpu")
        within = pulumi.ResourceOptions(parent=network)
        aws.efs.MountTarget("there", aws.efs.MountTargetArgs(file_system_id="fs-1", subnet_id=subnet), within)
        return network

    graph = built(both)
    there = graph.one("there")
    assert there.inputs["subnetId"] == graph.one("sample-subnet-gpu").id
    needed = {"sample-subnet-gpu", "sample-subnet-gpu-routes", "sample-private-default-route"}
    assert {graph.resources[urn].name for urn in there.depends_on} == needed


def test_a_group_is_handed_on_only_with_its_rules_in_force() -> None:
    """FSx looks at the rules before it makes a file system, and a mount needs them until it is gone."""
    args = LustreGroupArgs(vpc_id="vpc-1", nodes_group_id="sg-1")

    def both(opts: pulumi.ResourceOptions) -> Lustre:
        group = LustreGroup("sample", args, opts)
        return Lustre("file", lustre_args(security_group_ids=[group.group_id]), opts)

    graph = built(both)
    rules_ = {each.urn for each in graph.resources.values() if each.kind.endswith("Rule")}
    assert len(rules_) == 10
    assert rules_ <= set(graph.one("file-file-system").depends_on)
