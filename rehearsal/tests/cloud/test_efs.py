"""EFS beyond what the provider's types ask: interfaces of mount targets, policies, throughput."""

import json
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import Cloud, refused
from rehearsal.tests.cloud.world import Network, make_network


@pytest.fixture(scope="module")
def efs(cloud: Cloud) -> Any:
    """EFS of the test region."""
    return cloud.client("efs")


def test_a_mount_target_has_an_interface_of_the_services_own_and_takes_it_along(cloud: Cloud, efs: Any) -> None:
    ec2 = cloud.client("ec2")
    own: Network = make_network(cloud)
    group = ec2.create_security_group(GroupName="home", Description="d", VpcId=own.vpc)["GroupId"]
    system = efs.create_file_system(CreationToken="one", Encrypted=True)["FileSystemId"]
    target = efs.create_mount_target(FileSystemId=system, SubnetId=own.subnets[0], SecurityGroups=[group])
    (interface,) = ec2.describe_network_interfaces(NetworkInterfaceIds=[target["NetworkInterfaceId"]])[
        "NetworkInterfaces"
    ]
    assert interface["PrivateIpAddress"] == target["IpAddress"]
    assert [each["GroupId"] for each in interface["Groups"]] == [group]
    refused(ec2.delete_network_interface, "AuthFailure", NetworkInterfaceId=interface["NetworkInterfaceId"])
    refused(efs.create_mount_target, "MountTargetConflict", FileSystemId=system, SubnetId=own.subnets[0])
    refused(efs.delete_file_system, "FileSystemInUse", FileSystemId=system)
    efs.delete_mount_target(MountTargetId=target["MountTargetId"])
    efs.delete_file_system(FileSystemId=system)
    ec2.delete_security_group(GroupId=group)
    for each in own.subnets:
        ec2.delete_subnet(SubnetId=each)
    ec2.delete_vpc(VpcId=own.vpc)


def test_policies_and_throughput_change(efs: Any) -> None:
    system = efs.create_file_system(CreationToken="two", ThroughputMode="elastic")["FileSystemId"]
    refused(efs.describe_file_system_policy, "PolicyNotFound", FileSystemId=system)
    policy = json.dumps({"Version": "2012-10-17", "Statement": []})
    efs.put_file_system_policy(FileSystemId=system, Policy=policy)
    assert efs.describe_file_system_policy(FileSystemId=system)["Policy"] == policy
    efs.delete_file_system_policy(FileSystemId=system)
    refused(efs.describe_file_system_policy, "PolicyNotFound", FileSystemId=system)
    assert efs.describe_backup_policy(FileSystemId=system)["BackupPolicy"] == {"Status": "DISABLED"}
    efs.put_backup_policy(FileSystemId=system, BackupPolicy={"Status": "ENABLED"})
    assert efs.describe_backup_policy(FileSystemId=system)["BackupPolicy"] == {"Status": "ENABLED"}
    refused(efs.update_file_system, "BadRequest", FileSystemId=system, ThroughputMode="provisioned")
    assert efs.update_file_system(FileSystemId=system, ThroughputMode="bursting")["ThroughputMode"] == "bursting"
    efs.delete_file_system(FileSystemId=system)
