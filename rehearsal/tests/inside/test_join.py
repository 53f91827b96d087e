"""Each rule that keeps an instance from becoming a node, broken once."""

import base64
from typing import Any

import pytest

from rehearsal.cloud.seen.network import End, Groups, Routes
from rehearsal.eks import instances, join, launches
from rehearsal.tests.inside import facts
from rehearsal.tests.inside.account import user_data

PUBLIC_ONLY = {"resourcesVpcConfig": {**facts.CLUSTER["resourcesVpcConfig"], "endpointPrivateAccess": False}}


def test_a_proper_instance_joins() -> None:
    assert join.problems(facts.situation()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"host": facts.host(primary=End((facts.OWN_GROUP,), ("10.0.0.5",)))}, "TCP 443"),
        ({"host": facts.host(primary=End((facts.EFA_GROUP,), ("10.0.0.5",)))}, "TCP 443"),
        ({"routes": Routes([])}, "no way out"),
        ({"dns_support": False}, "enableDnsSupport"),
        ({"dns_hostnames": False}, "enableDnsHostnames"),
        ({"role_policies": facts.POLICIES[1:]}, "AmazonEKSWorkerNodePolicy"),
        ({"role_policies": facts.POLICIES[:2]}, "AmazonEC2ContainerRegistryReadOnly"),
        ({"role_policies": (facts.POLICIES[0], facts.POLICIES[2])}, "AmazonEKS_CNI_Policy"),
        ({"access_entry_type": None}, "access entry"),
        ({"access_entry_type": "STANDARD"}, "STANDARD"),
        ({"host": facts.host("g5g.xlarge")}, "arm64"),
        ({"cluster": PUBLIC_ONLY, "routes": Routes([])}, "public endpoint"),
    ],
)
def test_each_rule_names_what_is_wrong(change: dict[str, Any], said: str) -> None:
    problems = join.problems(facts.situation(**change))
    assert any(said in problem for problem in problems), problems


def test_the_control_plane_must_reach_the_kubelet_too() -> None:
    """Nodes with a group that may call out, but lets nobody in on 10250."""
    calls = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "UserIdGroupPairs": [{"GroupId": facts.OWN_GROUP}]}
    groups = Groups.of(
        [
            facts.group(facts.CLUSTER_GROUP, [facts.all_from(facts.CLUSTER_GROUP), calls], [facts.ALL_OUT]),
            facts.group(facts.OWN_GROUP, [], [facts.ALL_OUT]),
        ]
    )
    own = facts.host(primary=End((facts.OWN_GROUP,), ("10.0.0.5",)))
    problems = join.problems(facts.situation(host=own, groups=groups))
    assert [problem for problem in problems if "10250" in problem] == problems
    assert problems


def test_pod_identity_may_carry_the_network_policy() -> None:
    lean = facts.situation(role_policies=(facts.POLICIES[0], facts.POLICIES[2]), cni_identity=True)
    assert join.problems(lean) == []


def test_endpoints_replace_a_way_out() -> None:
    names = ("ec2", "ecr.api", "ecr.dkr", "s3", "sts")
    endpoints = [_endpoint(name) for name in names]
    table = {**facts.NAT_TABLE, "RouteTableId": "rtb-1", "Routes": []}
    assert join.problems(facts.situation(routes=Routes([table], endpoints))) == []
    assert "sts" in join.problems(facts.situation(routes=Routes([table], endpoints[:-1])))[0]


@pytest.mark.parametrize(
    ("service", "change"),
    [
        ("sts", {"PrivateDnsEnabled": False}),
        ("sts", {"Groups": [{"GroupId": facts.OWN_GROUP}]}),
        ("sts", {"State": "pending"}),
        ("s3", {"RouteTableIds": ["rtb-2"]}),
    ],
)
def test_an_endpoint_that_does_not_answer_the_node_is_none(service: str, change: dict[str, Any]) -> None:
    """Its own name, its groups, its state, and for S3 the table of the node's subnet."""
    endpoints = [_endpoint(name) for name in ("ec2", "ecr.api", "ecr.dkr", "s3", "sts")]
    changed = [{**each, **change} if each["ServiceName"].endswith(f".{service}") else each for each in endpoints]
    table = {**facts.NAT_TABLE, "RouteTableId": "rtb-1", "Routes": []}
    (problem,) = join.problems(facts.situation(routes=Routes([table], changed)))
    assert problem.endswith(f"reaches for {service}")


def _endpoint(service: str) -> dict[str, Any]:
    """As DescribeVpcEndpoints gives it: one that lets the cluster's group in, and S3's gateway."""
    named = {"VpcId": "vpc-1", "ServiceName": f"com.amazonaws.us-west-2.{service}", "State": "available"}
    if service == "s3":
        return {**named, "VpcEndpointType": "Gateway", "RouteTableIds": ["rtb-1"], "PrivateDnsEnabled": False}
    groups = [{"GroupId": facts.CLUSTER_GROUP}]
    return {**named, "VpcEndpointType": "Interface", "PrivateDnsEnabled": True, "Groups": groups}


def test_an_internet_gateway_needs_a_public_address() -> None:
    table = {**facts.NAT_TABLE, "Routes": [{"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": "igw-1"}]}
    assert join.problems(facts.situation(routes=Routes([table])))
    assert not join.problems(facts.situation(routes=Routes([table]), host=facts.host(public=True)))


def test_user_data_gives_the_node_configuration() -> None:
    assert instances.node_config(user_data()) == {"instance": {"localStorage": {"strategy": "RAID0"}}}
    assert instances.node_config(None) == {}


@pytest.mark.parametrize("text", ["#!/bin/bash\necho hello\n", "not mime at all"])
def test_user_data_that_is_no_mime_archive_is_refused(text: str) -> None:
    with pytest.raises(instances.UserDataError, match="MIME"):
        instances.node_config(base64.b64encode(text.encode()).decode())


def test_node_config_of_an_unknown_version_is_refused() -> None:
    text = base64.b64decode(user_data()).decode().replace("v1alpha1", "v2")
    with pytest.raises(instances.UserDataError, match="v2"):
        instances.node_config(base64.b64encode(text.encode()).decode())


@pytest.mark.parametrize("text", ["MIME-Version: 1.0\n", "[kernel]\nsysctl = 1\n"])
def test_user_data_that_bottlerocket_does_not_read_are_refused(text: str) -> None:
    with pytest.raises(instances.UserDataError, match="all that Bottlerocket reads"):
        instances.bottlerocket_config(base64.b64encode(text.encode()).decode())
    assert instances.bottlerocket_config(None) == {"sysctl": {}}


def test_efa_devices_are_the_attached_interfaces_of_both_kinds() -> None:
    kinds = ["efa", "efa-only", "interface", None]
    assert instances.count_efa([{"InterfaceType": kind} for kind in kinds]) == 2


def test_instances_are_spread_over_the_subnets() -> None:
    assert launches.spread(["a", "b", "c"], 4, {}) == {"a": 2, "b": 1, "c": 1}
    assert launches.spread(["a", "b"], 1, {}) == {"a": 1}
    assert launches.spread(["a", "b"], 1, {"a": 1}) == {"b": 1}


def test_of_too_many_the_oldest_of_the_fullest_zone_go_first() -> None:
    staying = {"i-1": "a", "i-2": "b", "i-3": "b", "i-4": "a", "i-5": "b"}
    assert launches.leaving(staying, 1) == ["i-2"]
    assert launches.leaving(staying, 3) == ["i-2", "i-1", "i-3"]
    assert launches.leaving(staying, 0) == []
    assert launches.leaving({"i-1": "a"}, 2) == ["i-1"]
    assert launches.spread(["a", "b", "c"], 3, {"a": 2}) == {"b": 2, "c": 1}


def test_an_update_takes_away_at_least_one_node_at_a_time() -> None:
    scaling = {"scalingConfig": {"desiredSize": 8}}
    assert launches.at_once(scaling) == 1
    assert launches.at_once({**scaling, "updateConfig": {"maxUnavailablePercentage": 25}}) == 2
    assert launches.at_once({**scaling, "updateConfig": {"maxUnavailablePercentage": 1}}) == 1


def test_another_template_version_or_release_is_outdated() -> None:
    group = {"amiType": "AL2023_x86_64_NVIDIA", "releaseVersion": "1", "launchTemplate": {"id": "lt-1", "version": "2"}}
    tags = [{"Key": "aws:ec2launchtemplate:id", "Value": "lt-1"}]

    def made(version: str, release: str) -> dict[str, Any]:
        image = instances.image_id("AL2023_x86_64_NVIDIA", release)
        return {"Tags": [*tags, {"Key": "aws:ec2launchtemplate:version", "Value": version}], "ImageId": image}

    assert not launches.outdated(made("2", "1"), group)
    assert launches.outdated(made("1", "1"), group)
    assert launches.outdated(made("2", "0"), group)


OWN = {
    "name": "acme",
    "apiServerEndpoint": "https://acme.eks",
    "certificateAuthority": "Q0E=",
    "cidr": "172.20.0.0/16",
}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (OWN, None),
        ({}, "Name is missing"),
        ({**OWN, "apiServerEndpoint": ""}, "Apiserver endpoint is missing"),
        ({**OWN, "certificateAuthority": ""}, "Certificate authority is missing"),
        ({**OWN, "cidr": ""}, "CIDR is missing"),
        ({**OWN, "name": "another"}, "which is another cluster"),
    ],
)
def test_an_image_of_somebodys_own_has_to_be_told_its_cluster(told: dict[str, str], words: str | None) -> None:
    made = facts.host(ami_type="CUSTOM", node_config={"cluster": told})
    cluster = {**facts.CLUSTER, "name": "acme", "endpoint": "https://acme.eks"}
    problems = join.problems(facts.situation(host=made, cluster=cluster))
    assert [words in each for each in problems if words] == [True] * bool(words)
    assert bool(problems) is bool(words)


def test_the_name_of_such_an_image_says_what_it_was_built_from() -> None:
    arm = facts.host(ami_type="CUSTOM", node_config={"cluster": OWN}, image_name="own-al2023-arm64-nvidia-v20260728")
    assert arm.driver
    assert not facts.host(ami_type="CUSTOM", image_name="own-al2023-x86_64-standard-v20260728").driver
    cluster = {**facts.CLUSTER, "name": "acme", "endpoint": "https://acme.eks"}
    (problem,) = join.problems(facts.situation(host=arm, cluster=cluster))
    assert "does not run on p5.4xlarge" in problem
