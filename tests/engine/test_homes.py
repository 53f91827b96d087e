"""Files of people on EFS, in a stack that stands in somebody else's VPC: what is made, who mounts it, and that all
but the VPC goes.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.doctor.test_existing_vpc import Vpc, vpc_in

from .rehearsed import Rehearsed, rehearsed, until
from .trees import Tree

pytestmark = [pytest.mark.engine, pytest.mark.scale]

NAMESPACE = "training"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    directory = tmp_path_factory.mktemp("homes")
    with rehearsed("dev", Tree.copy(directory / "tree"), directory / "state") as opened:
        yield opened


@pytest.fixture(scope="module")
def vpc(site: Rehearsed) -> Vpc:
    """Made by its owner, with a way out."""
    return vpc_in(site.aws("ec2"))


@pytest.fixture(scope="module")
def homes(site: Rehearsed, vpc: Vpc) -> Rehearsed:
    """The dev stack with homes, in that VPC."""
    stack = site.tree.stack("dev").set("gpucluster:storage.home", {"expectedGib": 50})
    stack.set("gpucluster:platform.vpcCidr", "10.80.0.0/16")
    stack.set("gpucluster:platform.network", {"existing": vpc.named(leadsOut=True)})
    site.up().require()
    return site


def start(site: Rehearsed, name: str) -> None:
    """A pod with its namespace's files."""
    container = {"name": "shell", "image": "public.ecr.aws/docker/library/alpine:3.22", "command": ["true"]}
    mounts = [{"name": "home", "mountPath": "/home/me"}]
    spec: dict[str, Any] = {
        "containers": [{**container, "volumeMounts": mounts}],
        "volumes": [{"name": "home", "persistentVolumeClaim": {"claimName": "home"}}],
        "restartPolicy": "Never",
    }
    metadata = {"name": name, "namespace": NAMESPACE}
    site.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def phase(site: Rehearsed, name: str) -> str:
    found = site.kube.get("v1", "Pod", name, NAMESPACE) or {}
    return str((found.get("status") or {}).get("phase"))


def test_a_pod_of_the_runs_namespace_mounts_its_directory(homes: Rehearsed) -> None:
    """The driver is registered, the zone has a mount target, and group and policy let the node in."""
    start(homes, "one")
    until(lambda: phase(homes, "one") in ("Running", "Succeeded"), "a pod with its files to run")


def test_nothing_changes_by_itself(homes: Rehearsed) -> None:
    homes.assert_quiet()


def test_nodes_stand_in_the_vpc_that_was_there(homes: Rehearsed, vpc: Vpc) -> None:
    ec2 = homes.aws("ec2")
    found = [each for held in ec2.describe_instances()["Reservations"] for each in held["Instances"]]
    running = {each["SubnetId"] for each in found if each["State"]["Name"] == "running"}
    assert vpc.subnets["gpu-use2-az1"] in running
    assert running <= set(vpc.subnets.values())
    assert homes.view().gangs[0].running == 2


def test_a_node_that_the_group_keeps_out_mounts_nothing(homes: Rehearsed) -> None:
    """Without the rule for TCP 2049 a pod waits, and its event names the port; what brings the rule back starts it."""
    ec2 = homes.aws("ec2")
    filters = [{"Name": "group-name", "Values": ["gpucluster-dev-home"]}]
    (group,) = ec2.describe_security_groups(Filters=filters)["SecurityGroups"]
    ec2.revoke_security_group_ingress(GroupId=group["GroupId"], IpPermissions=group["IpPermissions"])
    start(homes, "two")
    until(lambda: "TCP 2049 is closed" in homes.kubectl("-n", NAMESPACE, "get", "events"), "an event about TCP 2049")
    assert phase(homes, "two") == "Pending"
    homes.refresh().require()
    homes.up().require()
    until(lambda: phase(homes, "two") in ("Running", "Succeeded"), "the pod to start")


def test_a_destroy_leaves_no_file_system(homes: Rehearsed) -> None:
    homes.kubectl("-n", NAMESPACE, "delete", "pod", "one", "two")
    homes.destroy().require()
    assert homes.aws("efs").describe_file_systems()["FileSystems"] == []


def test_a_destroy_leaves_the_vpc_as_it_was(homes: Rehearsed, vpc: Vpc) -> None:
    """What the stack put into it has gone: another group or interface would be in its owner's way."""
    ec2, of_vpc = homes.aws("ec2"), [{"Name": "vpc-id", "Values": [vpc.vpc]}]
    subnets = {each["SubnetId"] for each in ec2.describe_subnets(Filters=of_vpc)["Subnets"]}
    assert subnets == set(vpc.subnets.values())
    groups = {each["GroupName"] for each in ec2.describe_security_groups(Filters=of_vpc)["SecurityGroups"]}
    assert groups == {"default"}
    (table,) = ec2.describe_route_tables(Filters=of_vpc)["RouteTables"]
    assert table["RouteTableId"] == vpc.table
    assert any(each.get("NatGatewayId") for each in table["Routes"])
