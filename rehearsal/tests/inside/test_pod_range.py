"""Pods get addresses of the subnet that the ENIConfig of their node's zone names, and none where there is none."""

import json
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from rehearsal.kubelet.images import Images
from rehearsal.tests.inside import workloads
from rehearsal.tests.inside.account import until
from rehearsal.tests.inside.conftest import Site

pytestmark = pytest.mark.engine

RANGE = "100.64.0.0/16"
VARIABLES = {
    "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true",
    "ENI_CONFIG_LABEL_DEF": "topology.kubernetes.io/zone",
}


@pytest.fixture
def apart(tmp_path_factory: pytest.TempPathFactory, images: Images) -> Iterator[Site]:
    """A cluster whose network plugin is told that pods have subnets of their own."""
    made = Site(tmp_path_factory.mktemp("apart"), "apart", images)
    try:
        made.account.addon("vpc-cni", configurationValues=json.dumps({"env": VARIABLES}))
        made.account.nodegroup("system", 1, made.account.template("system", "m7i.large"), "AL2023_x86_64_STANDARD")
        until(lambda: made.account.status("system") == "ACTIVE", 60, "the node group is active")
        yield made
    finally:
        made.stop()


def test_no_address_without_the_zones_eniconfig_and_then_one_of_its_subnet(apart: Site) -> None:
    apart.apply(workloads.namespace("work"), pod("first"))
    found = until(lambda: apart.events("work", "first"), 30, "something is said of it")
    until(lambda: "FailedCreatePodSandBox" in dict(apart.events("work", "first")), 30, "it has no address")
    assert (
        "failed to assign an IP address to container" in dict(apart.events("work", "first"))["FailedCreatePodSandBox"]
    )
    assert found
    waiting = apart.pods("work", "first")[0]["status"]["containerStatuses"][0]["state"]["waiting"]
    assert waiting["reason"] == "ContainerCreating"
    node = apart.nodes("system")[0]["metadata"]
    zone = node["labels"]["topology.kubernetes.io/zone"]
    apart.apply(eni_config("another-zone", subnet(apart, "100.64.128.0/24", zone)))
    apart.apply(pod("second"))
    until(lambda: "FailedCreatePodSandBox" in dict(apart.events("work", "second")), 30, "nor by another zone's")
    apart.apply(eni_config(zone, subnet(apart, "100.64.0.0/24", zone)))
    until(lambda: address(apart, "first") and address(apart, "second"), 60, "both have an address")
    for name in ("first", "second"):
        assert ip_address(address(apart, name)) in ip_network("100.64.0.0/24")


def address(site: Site, name: str) -> str:
    return str(site.pods("work", name)[0].get("status", {}).get("podIP") or "")


def subnet(site: Site, block: str, zone: str) -> str:
    ec2, vpc = site.account.ec2, site.account.vpc
    known = ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"][0]["CidrBlockAssociationSet"]
    if RANGE not in [each["CidrBlock"] for each in known]:
        ec2.associate_vpc_cidr_block(VpcId=vpc, CidrBlock=RANGE)
    return str(ec2.create_subnet(VpcId=vpc, CidrBlock=block, AvailabilityZone=zone)["Subnet"]["SubnetId"])


def eni_config(name: str, subnet_id: str) -> dict[str, Any]:
    return {
        "apiVersion": "crd.k8s.amazonaws.com/v1alpha1",
        "kind": "ENIConfig",
        "metadata": {"name": name},
        "spec": {"subnet": subnet_id},
    }


def pod(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "work"},
        "spec": {"containers": [workloads.container("example.org/counting:1")]},
    }
