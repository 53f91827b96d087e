"""A VPC that somebody else made, looked at before a stack is put into it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from doctor.results import Result, Status
from rehearsal.tests.cloud.conftest import Cloud, running
from tests.doctor.conftest import Run, case, client

ZONES = {"use2-az1": "us-east-2a", "use2-az2": "us-east-2b"}
WANTED = (
    ("gpu", "use2-az1", "10.80.128.0/17"),
    ("node", "use2-az1", "10.80.16.0/20"),
    ("node", "use2-az2", "10.80.32.0/20"),
)


@dataclass
class Vpc:
    """A VPC with three private subnets, all in the main route table, which leads to a NAT gateway and to S3."""

    ec2: Any
    vpc: str = ""
    table: str = ""
    gateway: str = ""
    subnets: dict[str, str] = field(default_factory=dict)

    def named(self, **more: Any) -> dict[str, Any]:
        """What a stack file says of it."""
        rows = [
            {"id": self.subnets[f"{kind}-{zone}"], "role": role, "zone": zone, "cidr": cidr}
            for kind, zone, cidr in WANTED
            for role in (["gpu"] if kind == "gpu" else ["system", "control-plane"])
        ]
        return {"vpcId": self.vpc, "subnets": rows, **more}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """An account of these tests alone, so that nothing they leave is in another's way."""
    with running(tmp_path_factory.mktemp("cloud"), "--alone") as made:
        yield made


@pytest.fixture
def vpc(cloud: Cloud) -> Vpc:
    return vpc_in(client(cloud, "ec2"))


def vpc_in(ec2: Any) -> Vpc:
    """One that has what a stack needs."""
    made = Vpc(ec2, ec2.create_vpc(CidrBlock="10.80.0.0/16")["Vpc"]["VpcId"])
    ec2.modify_vpc_attribute(VpcId=made.vpc, EnableDnsHostnames={"Value": True})
    for kind, zone, cidr in WANTED:
        subnet = ec2.create_subnet(VpcId=made.vpc, CidrBlock=cidr, AvailabilityZone=ZONES[zone])["Subnet"]
        made.subnets[f"{kind}-{zone}"] = subnet["SubnetId"]
    of_vpc = [{"Name": "vpc-id", "Values": [made.vpc]}]
    made.table = ec2.describe_route_tables(Filters=of_vpc)["RouteTables"][0]["RouteTableId"]
    made.gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=made.gateway, VpcId=made.vpc)
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = ec2.create_nat_gateway(SubnetId=made.subnets["node-use2-az1"], AllocationId=address)["NatGateway"]
    ec2.create_route(RouteTableId=made.table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=nat["NatGatewayId"])
    s3 = {"VpcId": made.vpc, "ServiceName": "com.amazonaws.us-east-2.s3", "VpcEndpointType": "Gateway"}
    ec2.create_vpc_endpoint(**s3, RouteTableIds=[made.table])
    return made


def told(examined: Run, vpc: Vpc, *, made: tuple[str, ...] = (), **more: Any) -> dict[str, Result]:
    """Results by subject; `made` are endpoints that the stack is to have."""
    network = {"existing": vpc.named(**more), "endpoints": list(made)}
    changes = {"platform.vpcCidr": "10.80.0.0/16", "platform.network": network}
    return {each.subject: each for each in examined("network", case(changes))}


def test_a_vpc_of_the_stacks_own_is_not_asked_for(examined: Run) -> None:
    assert list(examined("network", case())) == []


def test_a_vpc_that_has_what_is_needed(examined: Run, vpc: Vpc) -> None:
    found = told(examined, vpc)
    assert set(found) == {vpc.vpc, *vpc.subnets.values()}
    assert [each for each in found.values() if each.status is not Status.OK] == []
    assert "as system and control-plane" in found[vpc.subnets["node-use2-az2"]].sentence


def test_a_vpc_that_is_not_there(examined: Run, vpc: Vpc) -> None:
    vpc.vpc = "vpc-0123456789abcdef0"
    (only,) = told(examined, vpc).values()
    assert (only.status, only.subject) == (Status.FAIL, vpc.vpc)
    assert "platform.network.existing.vpcId" in str(only.remedy)


def test_names_by_dns_are_off(examined: Run, vpc: Vpc) -> None:
    vpc.ec2.modify_vpc_attribute(VpcId=vpc.vpc, EnableDnsHostnames={"Value": False})
    found = told(examined, vpc)[vpc.vpc]
    assert found.status is Status.FAIL
    assert "enableDnsHostnames is off" in found.sentence
    assert "--enable-dns-hostnames" in str(found.remedy)


def test_a_subnet_is_elsewhere_and_another_does_not_exist(examined: Run, vpc: Vpc) -> None:
    one, other = vpc.subnets["node-use2-az1"], vpc.subnets["node-use2-az2"]
    vpc.subnets |= {"node-use2-az1": other, "node-use2-az2": "subnet-0123456789abcdef0"}
    found = told(examined, vpc)
    assert one not in found
    assert found[other].status is found["subnet-0123456789abcdef0"].status is Status.FAIL
    assert "its zone is use2-az2, and use2-az1 stands in the stack file" in found[other].sentence
    assert "its range is 10.80.32.0/20" in found[other].sentence


def test_others_have_taken_the_addresses(examined: Run, vpc: Vpc) -> None:
    """The plan's count for both roles of the subnet, held against what is free."""
    subnet = vpc.subnets["node-use2-az2"]
    placed = case().plan.subnets
    needed = sum(each.needed for each in placed if each.name in ("system-use2-az2", "control-plane-use2-az2"))
    vpc.ec2.create_network_interface(SubnetId=subnet, SecondaryPrivateIpAddressCount=4091 - needed - 1)
    assert told(examined, vpc)[subnet].status is Status.OK
    vpc.ec2.create_network_interface(SubnetId=subnet)
    found = told(examined, vpc)[subnet]
    assert found.status is Status.WARN
    assert f"{needed - 1:,} addresses are free, and the plan needs up to {needed:,}" in found.sentence


def test_no_way_out_and_none_to_s3(examined: Run, vpc: Vpc) -> None:
    """Where the file says that nothing leads out, what fails is the way to S3."""
    own = vpc.ec2.create_route_table(VpcId=vpc.vpc)["RouteTable"]["RouteTableId"]
    gpu = vpc.subnets["gpu-use2-az1"]
    vpc.ec2.associate_route_table(RouteTableId=own, SubnetId=gpu)
    found = told(examined, vpc)
    assert found[gpu].status is Status.FAIL
    assert "of ways to the Internet its routes have none" in found[gpu].sentence
    assert found[vpc.subnets["node-use2-az1"]].status is Status.OK
    closed: dict[str, Any] = {"leadsOut": False, "endpoints": ["ec2", "ecr.api", "ecr.dkr", "sts", "eks-auth", "logs"]}
    inside = told(examined, vpc, **closed)
    assert inside[gpu].status is Status.FAIL
    assert "so S3 is not reached" in inside[gpu].sentence
    assert inside["ec2"].status is Status.FAIL
    assert "move ec2 to gpucluster:platform.network.endpoints" in str(inside["ec2"].remedy)


def test_an_internet_gateway_is_no_way_out_of_a_private_subnet(examined: Run, vpc: Vpc) -> None:
    vpc.ec2.replace_route(RouteTableId=vpc.table, DestinationCidrBlock="0.0.0.0/0", GatewayId=vpc.gateway)
    found = told(examined, vpc)[vpc.subnets["gpu-use2-az1"]]
    assert found.status is Status.FAIL
    assert "nodes without public addresses cannot use" in found.sentence


def test_an_endpoint_that_the_vpc_has_is_not_made_again(examined: Run, vpc: Vpc) -> None:
    sts = {"VpcId": vpc.vpc, "ServiceName": "com.amazonaws.us-east-2.sts", "VpcEndpointType": "Interface"}
    subnet = vpc.subnets["node-use2-az1"]
    vpc.ec2.create_vpc_endpoint(**sts, SubnetIds=[subnet], PrivateDnsEnabled=True)
    assert told(examined, vpc, made=("sts",))["sts"].status is Status.FAIL
    assert told(examined, vpc, endpoints=["sts"])["sts"].status is Status.OK


def test_a_permission_that_is_missing(examined: Run, cloud: Cloud, vpc: Vpc) -> None:
    """The check does not know, and names the action to grant."""
    cloud.call("POST", "faults", {"action": "DescribeRouteTables", "code": "UnauthorizedOperation", "status": 403})
    found = told(examined, vpc)["us-east-2"]
    assert found.status is Status.UNKNOWN
    assert "grant ec2:DescribeRouteTables" in str(found.remedy)
