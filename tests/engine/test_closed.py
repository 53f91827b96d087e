"""The dev stack in a network that nothing leads out of: nodes join by endpoints alone, whoever deploys asks through an
instance of the VPC, and a service's pods have a security group of their own.
"""

from collections.abc import Iterator

import pytest

from .rehearsed import Rehearsed, operations, rehearsed, until
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

ENDPOINTS = ["ec2", "ecr.api", "ecr.dkr", "sts", "eks-auth", "logs"]
GROUP = "sg-0f1e2d3c4b5a69788"
OUTSIDE = (
    *("raw.githubusercontent.com", "registry.example.com", "docker.io", "ghcr.io"),
    *("registry.k8s.io", "public.ecr.aws", "nvcr.io", "quay.io"),
)
"""From where dev has files and images. Here a proxy of a connected network has them: no pull is rehearsed."""
OFFICE = "198.51.100.7"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    directory = tmp_path_factory.mktemp("closed")
    tree = Tree.copy(directory / "tree")
    tree.edit("Pulumi.dev.yaml", "publicAccessCidrs: [203.0.113.0/24]", "access: {via: inside}")
    groups = [{"service": "llama-3-8b", "groups": [GROUP]}]
    stack = tree.stack("dev")
    stack.set("gpucluster:platform.network", {"nat": "none", "endpoints": ENDPOINTS, "podGroups": groups})
    waived = {"rule": "closed-network", "reason": "a proxy of the connected network has it", "until": "2027-12-31"}
    stack.set("gpucluster:waivers", [{**waived, "subject": each} for each in OUTSIDE])
    with rehearsed("dev", tree, directory / "state") as opened:
        yield opened


@pytest.fixture(scope="module")
def closed(site: Rehearsed) -> Rehearsed:
    made = operations(site.up())
    inside = [each for each in made if each[:2] == ("create", "aws:ec2:VpcEndpoint")]
    assert len(inside) == len(ENDPOINTS) + 1, "and S3's, which is a gateway"
    return site


def test_nodes_join_and_gangs_run_where_nothing_leads_out(closed: Rehearsed) -> None:
    ec2 = closed.aws("ec2")
    assert [each for each in ec2.describe_nat_gateways()["NatGateways"] if each["State"] != "deleted"] == []
    instances = [each for held in ec2.describe_instances()["Reservations"] for each in held["Instances"]]
    nodes = {each["SubnetId"] for each in instances if each["State"]["Name"] == "running"}
    for table in ec2.describe_route_tables()["RouteTables"]:
        if nodes & {each.get("SubnetId") for each in table["Associations"]}:
            assert "0.0.0.0/0" not in {each.get("DestinationCidrBlock") for each in table["Routes"]}
    closed.settled()
    assert closed.view().gangs[0].running == 2


def test_nothing_changes_by_itself(closed: Rehearsed) -> None:
    closed.assert_quiet()


def test_a_services_pods_are_told_their_group_beside_the_clusters(closed: Rehearsed) -> None:
    """EKS knows the kind from the beginning, and its control plane may make interfaces for pods."""
    cluster = closed.aws("eks").describe_cluster(name="gpucluster-dev")["cluster"]
    own = cluster["resourcesVpcConfig"]["clusterSecurityGroupId"]
    told = closed.kube.get("vpcresources.k8s.aws/v1beta1", "SecurityGroupPolicy", "llama-3-8b", "inference") or {}
    assert told["spec"]["securityGroups"]["groupIds"] == [own, GROUP]
    pods = closed.kube.list("v1", "Pod", namespace="inference", label_selector="app.kubernetes.io/instance=llama-3-8b")
    assert pods, "the policy's labels are those of the service's pods"
    role = cluster["roleArn"].rpartition("/")[2]
    attached = closed.aws("iam").list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    assert "AmazonEKSVPCResourceController" in {each["PolicyName"] for each in attached}


def test_the_endpoint_is_asked_through_an_instance_and_by_nobody_outside_lf02(closed: Rehearsed) -> None:
    """What Session Manager forwards comes from the instance's own address; when the session ends, the way is gone."""
    found = closed.aws("ec2").describe_instances()["Reservations"][0]["Instances"][0]["PrivateIpAddress"]
    closed.control("PUT", "caller", {"address": OFFICE})
    refused = until(lambda: (tried := closed.refresh()).status and tried, "the refresh to fail")
    assert "failed to read resource state due to unreachable cluster" in refused.explain()
    closed.control("PUT", "caller", {"address": found})
    until(lambda: closed.refresh().status == 0, "the way through the instance")
    closed.assert_quiet()


def test_a_destroy_leaves_no_endpoint(closed: Rehearsed) -> None:
    closed.destroy().require()
    assert closed.aws("ec2").describe_vpc_endpoints()["VpcEndpoints"] == []
