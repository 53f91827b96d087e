"""EKS under a supervisor: what it sees, what it reports, and how Describe follows."""

import urllib.error
from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import Cloud, refused
from rehearsal.tests.cloud.world import Network, cluster_request, make_network, make_role, remove_network

PLACE = "clusters/us-east-1/led"


@pytest.fixture(scope="module")
def network(led_cloud: Cloud) -> Iterator[Network]:
    """The network and roles of the module's cluster."""
    made = make_network(led_cloud)
    make_role(led_cloud, "led-cluster", "eks.amazonaws.com")
    make_role(led_cloud, "led-node", "ec2.amazonaws.com")
    yield made
    for name in ("led-cluster", "led-node"):
        led_cloud.client("iam").delete_role(RoleName=name)
    remove_network(led_cloud, made)


@pytest.fixture
def cluster(led_cloud: Cloud, network: Network) -> Iterator[str]:
    """A cluster that is still CREATING; gone after the test, whatever became of it."""
    request = cluster_request("led", "arn:aws:iam::123456789012:role/led-cluster", network)
    led_cloud.client("eks").create_cluster(**request)
    yield "led"
    led_cloud.call("PUT", PLACE, {"status": "GONE"})


@pytest.fixture
def active(led_cloud: Cloud, cluster: str) -> str:
    """The same, ACTIVE."""
    led_cloud.call("PUT", PLACE, {"status": "ACTIVE", "endpoint": "https://127.0.0.1:6443"})
    return cluster


def make_nodegroup(cloud: Cloud, network: Network) -> dict[str, Any]:
    """A node group of the cluster, as CreateNodegroup answers."""
    body: dict[str, Any] = cloud.client("eks").create_nodegroup(
        clusterName="led",
        nodegroupName="system",
        subnets=list(network.subnets),
        nodeRole="arn:aws:iam::123456789012:role/led-node",
        instanceTypes=["m7i.large"],
        scalingConfig={"minSize": 1, "desiredSize": 1, "maxSize": 2},
    )["nodegroup"]
    return body


def test_a_cluster_waits_for_its_control_plane(led_cloud: Cloud, cluster: str, network: Network) -> None:
    """CREATING without an endpoint until the supervisor reports; nothing can be made inside it before."""
    eks = led_cloud.client("eks")
    seen = led_cloud.call("GET", "clusters")[0]
    assert (seen["region"], seen["name"], seen["status"]) == ("us-east-1", "led", "CREATING")
    assert seen["vpcId"] == network.vpc
    assert seen["clusterSecurityGroupId"].startswith("sg-")
    assert "endpoint" not in eks.describe_cluster(name=cluster)["cluster"]
    refused(eks.create_addon, "InvalidRequestException", "CREATING", clusterName=cluster, addonName="vpc-cni")
    refused(make_nodegroup, "InvalidRequestException", "CREATING", cloud=led_cloud, network=network)
    refused(eks.delete_cluster, "ResourceInUseException", "create in progress", name=cluster)
    report = {"status": "ACTIVE", "endpoint": "https://127.0.0.1:6443", "certificateAuthority": "Y2E="}
    led_cloud.call("PUT", PLACE, report)
    body = eks.describe_cluster(name=cluster)["cluster"]
    assert (body["status"], body["endpoint"], body["certificateAuthority"]) == (
        "ACTIVE",
        "https://127.0.0.1:6443",
        {"data": "Y2E="},
    )


def test_a_delete_waits_too_and_a_late_report_does_not_undo_it(led_cloud: Cloud, active: str) -> None:
    """DELETING until GONE."""
    eks = led_cloud.client("eks")
    eks.delete_cluster(name=active)
    led_cloud.call("PUT", PLACE, {"status": "ACTIVE"})
    assert eks.describe_cluster(name=active)["cluster"]["status"] == "DELETING"
    assert led_cloud.call("GET", "clusters")[0]["status"] == "DELETING"


def test_a_nodegroup_follows_its_nodes(led_cloud: Cloud, active: str, network: Network) -> None:
    """Health issues are shown as reported, updates end with the report, GONE removes it."""
    eks, place = led_cloud.client("eks"), "nodegroups/us-east-1/led/system"
    name = {"clusterName": active, "nodegroupName": "system"}
    assert make_nodegroup(led_cloud, network)["status"] == "CREATING"
    seen = led_cloud.call("GET", "nodegroups")[0]
    assert (seen["cluster"], seen["nodegroupName"], seen["status"]) == ("led", "system", "CREATING")
    refused(eks.update_nodegroup_config, "ResourceInUseException", **name, scalingConfig={"desiredSize": 2})
    led_cloud.call("PUT", place, {"status": "ACTIVE", "issues": [], "autoScalingGroups": ["eks-system-1"]})
    body = eks.describe_nodegroup(**name)["nodegroup"]
    assert (body["status"], body["resources"]) == ("ACTIVE", {"autoScalingGroups": [{"name": "eks-system-1"}]})
    update = eks.update_nodegroup_config(**name, scalingConfig={"desiredSize": 2})["update"]
    assert eks.describe_nodegroup(**name)["nodegroup"]["status"] == "UPDATING"
    issue = {"code": "AsgInstanceLaunchFailures", "message": "no capacity", "resourceIds": ["eks-system-1"]}
    led_cloud.call("PUT", place, {"status": "DEGRADED", "issues": [issue]})
    assert eks.describe_nodegroup(**name)["nodegroup"]["health"]["issues"] == [issue]
    told = eks.describe_update(name=active, nodegroupName="system", updateId=update["id"])["update"]
    assert (told["status"], told["errors"][0]["errorMessage"]) == ("Failed", "no capacity")
    eks.delete_nodegroup(**name)
    assert eks.describe_nodegroup(**name)["nodegroup"]["status"] == "DELETING"
    led_cloud.call("PUT", place, {"status": "GONE"})
    refused(eks.describe_nodegroup, "ResourceNotFoundException", **name)


def test_an_addon_follows_its_pods(led_cloud: Cloud, active: str) -> None:
    """CREATING, then what is reported; GONE removes it."""
    eks, place = led_cloud.client("eks"), "addons/us-east-1/led/coredns"
    name = {"clusterName": active, "addonName": "coredns"}
    eks.create_addon(**name)
    assert led_cloud.call("GET", "addons")[0]["addonName"] == "coredns"
    issue = {"code": "InsufficientNumberOfReplicas", "message": "no node", "resourceIds": []}
    led_cloud.call("PUT", place, {"status": "DEGRADED", "issues": [issue]})
    body = eks.describe_addon(**name)["addon"]
    assert (body["status"], body["health"]["issues"][0]["code"]) == ("DEGRADED", "InsufficientNumberOfReplicas")
    eks.delete_addon(**name)
    led_cloud.call("PUT", place, {"status": "GONE"})
    refused(eks.describe_addon, "ResourceNotFoundException", **name)


def test_a_report_about_nothing_is_an_error(led_cloud: Cloud) -> None:
    """The supervisor learns that the thing is gone."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        led_cloud.call("PUT", "clusters/us-east-1/none", {"status": "ACTIVE"})
    assert caught.value.code == 404
    assert "No cluster found for name: none" in caught.value.read().decode()
    caught.value.close()
