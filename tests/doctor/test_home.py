"""The file system of people's own files, as the account has it."""

from collections.abc import Iterator
from typing import Any

import pytest

from doctor.results import Status
from rehearsal.tests.cloud.conftest import Cloud
from tests.doctor.conftest import OTHER_TAGS, OWN_TAGS, Run, case, client

HOME = {"storage.home": {"expectedGib": 10}}


def make_home(cloud: Cloud, tags: Any = OWN_TAGS, *, encrypted: bool = True) -> str:
    """A file system without mount targets."""
    token = f"home-{len(client(cloud, 'efs').describe_file_systems()['FileSystems'])}-{encrypted}"
    made = client(cloud, "efs").create_file_system(CreationToken=token, Encrypted=encrypted, Tags=tags)
    return str(made["FileSystemId"])


@pytest.fixture
def subnets(cloud: Cloud) -> Iterator[list[str]]:
    """One in each zone of the stack."""
    ec2, efs = client(cloud, "ec2"), client(cloud, "efs")
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    made = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.9.{index}.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"]
        for index, zone in enumerate(("us-east-2a", "us-east-2b"))
    ]
    yield made
    for system in efs.describe_file_systems()["FileSystems"]:
        for target in efs.describe_mount_targets(FileSystemId=system["FileSystemId"])["MountTargets"]:
            efs.delete_mount_target(MountTargetId=target["MountTargetId"])
        efs.delete_file_system(FileSystemId=system["FileSystemId"])
    for each in made:
        ec2.delete_subnet(SubnetId=each)
    ec2.delete_vpc(VpcId=vpc)


def test_a_stack_without_homes_is_asked_nothing(examined: Run) -> None:
    assert examined("home", case()) == []


def test_none_yet_is_fine(examined: Run, cloud: Cloud, subnets: list[str]) -> None:
    """Another stack's is not looked at."""
    make_home(cloud, OTHER_TAGS)
    (told,) = examined("home", case(HOME))
    assert (told.status, told.sentence) == (Status.OK, "none stands yet")


@pytest.mark.parametrize(
    ("encrypted", "status", "said"),
    [(True, Status.OK, "available, mounted in 2 zones"), (False, Status.FAIL, "it is not encrypted")],
)
def test_one_that_every_zone_mounts(
    examined: Run, cloud: Cloud, subnets: list[str], encrypted: bool, status: Status, said: str
) -> None:
    home = make_home(cloud, encrypted=encrypted)
    for each in subnets:
        client(cloud, "efs").create_mount_target(FileSystemId=home, SubnetId=each)
    (told,) = examined("home", case(HOME))
    assert (told.status, told.subject, told.sentence) == (status, home, said)


def test_a_zone_without_a_mount_target(examined: Run, cloud: Cloud, subnets: list[str]) -> None:
    home = make_home(cloud)
    client(cloud, "efs").create_mount_target(FileSystemId=home, SubnetId=subnets[0])
    (told,) = examined("home", case(HOME))
    assert told.status is Status.FAIL
    assert "no mount target in use2-az2" in told.sentence
