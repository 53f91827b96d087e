"""A stack that stands: its subnets and its file system."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from doctor.results import Status
from rehearsal.tests.cloud.conftest import Cloud, until
from tests.doctor.conftest import OTHER_TAGS, OWN_TAGS, Run, case, client

GPU, CONTROL_PLANE, SYSTEM = "gpu-use2-az1", "control-plane-use2-az2", "system-use2-az1"


@pytest.fixture
def subnets(cloud: Cloud) -> Iterator[dict[str, str]]:
    """Three subnets of the stack in the smallest VPC, and one of another stack with the same addresses; ids by name."""
    ec2 = client(cloud, "ec2")
    planned = {subnet.name: subnet for subnet in small().plan.subnets}
    networks = [ec2.create_vpc(CidrBlock="10.64.0.0/20")["Vpc"]["VpcId"] for _ in range(2)]
    made: dict[str, str] = {}
    for name, vpc, tags in (
        (GPU, networks[0], OWN_TAGS),
        (CONTROL_PLANE, networks[0], OWN_TAGS),
        (SYSTEM, networks[0], OWN_TAGS),
        (f"other {GPU}", networks[1], OTHER_TAGS),
    ):
        subnet = planned[name.removeprefix("other ")]
        made[name] = ec2.create_subnet(
            VpcId=vpc,
            CidrBlock=subnet.cidr,
            AvailabilityZone={"use2-az1": "us-east-2a", "use2-az2": "us-east-2b"}[subnet.zone_id],
            TagSpecifications=[{"ResourceType": "subnet", "Tags": tags}],
        )["Subnet"]["SubnetId"]
    yield made
    for subnet_id in made.values():
        held = ec2.describe_network_interfaces(Filters=[{"Name": "subnet-id", "Values": [subnet_id]}])
        for interface in held["NetworkInterfaces"]:
            ec2.delete_network_interface(NetworkInterfaceId=interface["NetworkInterfaceId"])
        ec2.delete_subnet(SubnetId=subnet_id)
    for vpc in networks:
        ec2.delete_vpc(VpcId=vpc)


def small(changes: Mapping[str, Any] | None = None) -> Any:
    """The dev stack in the smallest VPC there can be: its control plane subnets have 16 addresses."""
    return case({"platform.vpcCidr": "10.64.0.0/20", **(changes or {})})


def leave(cloud: Cloud, subnet_id: str, free: int) -> None:
    """Take addresses of a subnet until so many are free."""
    ec2 = client(cloud, "ec2")
    now = ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]["AvailableIpAddressCount"]
    ec2.create_network_interface(SubnetId=subnet_id, SecondaryPrivateIpAddressCount=now - free - 1)
    assert ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]["AvailableIpAddressCount"] == free


def test_a_stack_that_does_not_stand(examined: Run) -> None:
    """Said, and fine."""
    (told,) = examined("addresses", case())
    assert (told.status, told.sentence) == (Status.OK, "none stands yet")


def test_subnets_with_room(examined: Run, subnets: dict[str, str]) -> None:
    """Those of the stack only; free, usable and planned numbers."""
    told = {result.subject: result for result in examined("addresses", small())}
    assert set(told) == {GPU, CONTROL_PLANE, SYSTEM}
    assert {result.status for result in told.values()} == {Status.OK}
    planned = next(subnet for subnet in small().plan.subnets if subnet.name == GPU)
    assert told[GPU].sentence == f"2,043 of 2,043 addresses are free; the plan needs up to {planned.needed}"


@pytest.mark.parametrize(("free", "status"), [(6, Status.OK), (5, Status.FAIL)])
def test_the_control_plane_needs_six(
    examined: Run, cloud: Cloud, subnets: dict[str, str], free: int, status: Status
) -> None:
    """EKS user guide: six free addresses in each of its subnets."""
    leave(cloud, subnets[CONTROL_PLANE], free)
    told = {result.subject: result for result in examined("addresses", small())}
    assert told[CONTROL_PLANE].status is status
    assert f"{free} of 11 addresses" in told[CONTROL_PLANE].sentence
    assert told[GPU].status is Status.OK


@pytest.mark.parametrize(("short", "status"), [(0, Status.OK), (1, Status.FAIL)])
def test_a_node_more_has_room(examined: Run, cloud: Cloud, subnets: dict[str, str], short: int, status: Status) -> None:
    """The largest of the subnet's pools decides."""
    largest = small().plan.pools["system"].addresses_per_node
    leave(cloud, subnets[SYSTEM], largest - short)
    told = {result.subject: result for result in examined("addresses", small())}
    assert told[SYSTEM].status is status
    if short:
        assert f"the next node takes {largest}" in str(told[SYSTEM].remedy)


@pytest.mark.parametrize(("short", "status"), [(0, Status.OK), (1, Status.FAIL)])
def test_pods_of_a_node_more_have_room_in_their_own_range(
    examined: Run, cloud: Cloud, short: int, status: Status
) -> None:
    """Away from the GPU zone only system nodes have pods there."""
    apart = small({"platform.network": {"podCidr": "100.64.0.0/20"}})
    planned = next(subnet for subnet in apart.plan.subnets if subnet.name == "pods-use2-az2")
    ec2 = client(cloud, "ec2")
    vpc = ec2.create_vpc(CidrBlock="10.64.0.0/20")["Vpc"]["VpcId"]
    ec2.associate_vpc_cidr_block(VpcId=vpc, CidrBlock="100.64.0.0/20")
    tags = [{"ResourceType": "subnet", "Tags": OWN_TAGS}]
    place = {"VpcId": vpc, "CidrBlock": planned.cidr, "AvailabilityZone": "us-east-2b", "TagSpecifications": tags}
    made = ec2.create_subnet(**place)["Subnet"]["SubnetId"]
    largest = apart.plan.pools["system"].pod_addresses_per_node
    leave(cloud, made, largest - short)
    told = {result.subject: result for result in examined("addresses", apart)}
    (held,) = ec2.describe_network_interfaces(Filters=[{"Name": "subnet-id", "Values": [made]}])["NetworkInterfaces"]
    ec2.delete_network_interface(NetworkInterfaceId=held["NetworkInterfaceId"])
    ec2.delete_subnet(SubnetId=made)
    ec2.delete_vpc(VpcId=vpc)
    assert told[planned.name].status is status
    if short:
        assert f"the next node takes {largest}" in str(told[planned.name].remedy)


def test_a_subnet_in_another_zone_than_planned(examined: Run, subnets: dict[str, str]) -> None:
    """The stack file was changed after the deployment."""
    told = {result.subject: result for result in examined("addresses", small({"platform.gpuZone": "use2-az2"}))}
    moved = told["gpu-use2-az2"]
    assert moved.status is Status.WARN
    assert "it stands in use2-az1" in moved.sentence


@pytest.fixture
def file_system(cloud: Cloud) -> Iterator[str]:
    """The stack's file system as its file has it, and one of another stack."""
    ec2, fsx = client(cloud, "ec2"), client(cloud, "fsx")
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.9.0.0/24")["Subnet"]["SubnetId"]
    ids = [
        fsx.create_file_system(
            FileSystemType="LUSTRE",
            LustreConfiguration={"DeploymentType": "SCRATCH_2"},
            StorageCapacity=capacity,
            SubnetIds=[subnet],
            Tags=tags,
        )["FileSystem"]["FileSystemId"]
        for capacity, tags in ((1200, OWN_TAGS), (4800, OTHER_TAGS))
    ]
    until(lambda: {each["Lifecycle"] for each in fsx.describe_file_systems()["FileSystems"]} == {"AVAILABLE"})
    yield ids[0]
    for each in ids:
        fsx.delete_file_system(FileSystemId=each)
    until(lambda: fsx.describe_file_systems()["FileSystems"] == [])
    ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=vpc)


def test_no_file_system_yet(examined: Run) -> None:
    """Said, and fine."""
    (told,) = examined("file-system", case())
    assert (told.status, told.sentence) == (Status.OK, "none stands yet")


def test_the_file_system_of_the_stack(examined: Run, file_system: str) -> None:
    """The other stack's is not looked at."""
    (told,) = examined("file-system", case())
    assert (told.status, told.subject) == (Status.OK, file_system)
    assert told.sentence == "SCRATCH_2, 1,200 GiB, AVAILABLE"


def test_another_file_system_than_the_stack_file_has(examined: Run, file_system: str) -> None:
    """An update may replace it, with what is on it."""
    persistent = {"deploymentType": "PERSISTENT_2", "capacityGib": 2400, "throughputMbpsPerTib": 125}
    (told,) = examined("file-system", case({"storage.lustre": persistent}))
    assert told.status is Status.WARN
    assert "deployment type: SCRATCH_2 stands, PERSISTENT_2 is in the stack file" in told.sentence
    assert "capacity in GiB: 1200 stands, 2400" in told.sentence
    assert "pulumi preview" in str(told.remedy)
