"""Further ranges of a VPC."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import refused


@pytest.fixture
def vpc(ec2: Any) -> Iterator[Callable[[str], str]]:
    """Makes VPCs, which go after the test."""
    made: list[str] = []

    def create(cidr: str) -> str:
        made.append(ec2.create_vpc(CidrBlock=cidr)["Vpc"]["VpcId"])
        return made[-1]

    yield create
    for each in made:
        ec2.delete_vpc(VpcId=each)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("10.64.0.0/16", "192.168.0.0/16"),
        ("10.64.0.0/16", "172.16.0.0/16"),
        ("10.64.0.0/16", "198.19.0.0/16"),
        ("10.64.0.0/16", "10.64.128.0/20"),
        ("10.1.0.0/16", "10.0.128.0/17"),
        ("172.16.0.0/16", "172.31.0.0/16"),
        ("172.16.0.0/16", "10.0.0.0/16"),
        ("192.168.0.0/16", "10.0.0.0/16"),
        ("100.64.0.0/16", "10.0.0.0/16"),
        ("10.64.0.0/16", "100.64.0.0/15"),
    ],
)
def test_ec2_adds_no_range_of_another_kind(ec2: Any, vpc: Callable[[str], str], first: str, second: str) -> None:
    refused(ec2.associate_vpc_cidr_block, "InvalidVpc.Range", second, VpcId=vpc(first), CidrBlock=second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("10.64.0.0/16", "100.64.0.0/16"),
        ("10.64.0.0/16", "10.65.0.0/16"),
        ("172.16.0.0/16", "172.20.0.0/16"),
        ("192.168.0.0/16", "100.127.0.0/20"),
    ],
)
def test_subnets_are_of_either_range_and_keep_it(ec2: Any, vpc: Callable[[str], str], first: str, second: str) -> None:
    made = vpc(first)
    refused(ec2.create_subnet, "InvalidSubnet.Range", VpcId=made, CidrBlock=second)
    added = ec2.associate_vpc_cidr_block(VpcId=made, CidrBlock=second)["CidrBlockAssociation"]["AssociationId"]
    subnet = ec2.create_subnet(VpcId=made, CidrBlock=second)["Subnet"]["SubnetId"]
    refused(ec2.disassociate_vpc_cidr_block, "InvalidCidrBlock.InUse", second, AssociationId=added)
    ec2.delete_subnet(SubnetId=subnet)
    ec2.disassociate_vpc_cidr_block(AssociationId=added)
