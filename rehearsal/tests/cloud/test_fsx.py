"""FSx for Lustre: sizes and tiers, network, life cycle, updates."""

from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import Cloud, refused, until
from rehearsal.tests.cloud.world import Network

SCRATCH = {"DeploymentType": "SCRATCH_2"}
METADATA = {"Mode": "AUTOMATIC"}


def persistent(throughput: int, **more: Any) -> dict[str, Any]:
    """A PERSISTENT_2 configuration; `throughput` in MB/s per TiB."""
    return {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": throughput, **more}


@pytest.fixture(scope="module")
def fsx(cloud: Cloud) -> Any:
    """FSx of the test region."""
    return cloud.client("fsx")


@pytest.fixture(scope="module")
def group(cloud: Cloud, network: Network) -> Iterator[str]:
    """A group that lets Lustre in."""
    ec2 = cloud.client("ec2")
    made = str(ec2.create_security_group(GroupName="lustre", Description="d", VpcId=network.vpc)["GroupId"])
    rule = {"IpProtocol": "tcp", "FromPort": 988, "ToPort": 988, "UserIdGroupPairs": [{"GroupId": made}]}
    ec2.authorize_security_group_ingress(GroupId=made, IpPermissions=[rule])
    yield made
    ec2.delete_security_group(GroupId=made)


def request(network: Network, capacity: int, lustre: dict[str, Any], **more: Any) -> dict[str, Any]:
    """CreateFileSystem's members; `capacity` in GiB."""
    subnets = [network.subnets[0]]
    common = {"FileSystemType": "LUSTRE", "StorageType": "SSD", "SubnetIds": subnets, "FileSystemTypeVersion": "2.15"}
    return {**common, "StorageCapacity": capacity, "LustreConfiguration": lustre, **more}


def lifecycle(fsx: Any, system: str) -> str:
    """Where it stands; empty when it is not found."""
    found = [each for each in fsx.describe_file_systems()["FileSystems"] if each["FileSystemId"] == system]
    return str(found[0]["Lifecycle"]) if found else ""


def test_a_file_system_lives_grows_and_dies(cloud: Cloud, fsx: Any, network: Network, group: str) -> None:
    """CREATING, AVAILABLE, UPDATING, DELETING, not found; its interfaces hold the subnet and the group."""
    ec2 = cloud.client("ec2")
    tags = [{"Key": "stack", "Value": "dev"}]
    made = fsx.create_file_system(**request(network, 1200, SCRATCH, SecurityGroupIds=[group], Tags=tags))["FileSystem"]
    system = made["FileSystemId"]
    assert made["Lifecycle"] == "CREATING"
    assert (made["VpcId"], made["OwnerId"], made["FileSystemTypeVersion"]) == (network.vpc, "123456789012", "2.15")
    assert made["DNSName"] == f"{system}.fsx.us-east-1.amazonaws.com"
    assert len(made["LustreConfiguration"]["MountName"]) == 8
    refused(fsx.update_file_system, "BadRequest", "CREATING", FileSystemId=system, StorageCapacity=2400)
    until(lambda: lifecycle(fsx, system) == "AVAILABLE")
    refused(ec2.delete_subnet, "DependencyViolation", SubnetId=network.subnets[0])
    refused(ec2.delete_security_group, "DependencyViolation", GroupId=group)

    refused(fsx.update_file_system, "BadRequest", "increased only", FileSystemId=system, StorageCapacity=1200)
    refused(fsx.update_file_system, "BadRequest", "multiples of 2400", FileSystemId=system, StorageCapacity=3600)
    update = fsx.update_file_system(FileSystemId=system, StorageCapacity=2400)["FileSystem"]
    assert (update["Lifecycle"], update["StorageCapacity"]) == ("UPDATING", 1200)
    assert update["AdministrativeActions"][0]["Status"] == "IN_PROGRESS"
    until(lambda: lifecycle(fsx, system) == "AVAILABLE")
    grown = fsx.describe_file_systems(FileSystemIds=[system])["FileSystems"][0]
    assert (grown["StorageCapacity"], grown["AdministrativeActions"][0]["Status"]) == (2400, "COMPLETED")
    refused(fsx.update_file_system, "BadRequest", "six hours", FileSystemId=system, StorageCapacity=4800)

    fsx.tag_resource(ResourceARN=made["ResourceARN"], Tags=[{"Key": "owner", "Value": "us"}])
    fsx.untag_resource(ResourceARN=made["ResourceARN"], TagKeys=["stack"])
    assert fsx.list_tags_for_resource(ResourceARN=made["ResourceARN"])["Tags"] == [{"Key": "owner", "Value": "us"}]
    fsx.delete_file_system(FileSystemId=system)
    assert lifecycle(fsx, system) == "DELETING"
    until(lambda: lifecycle(fsx, system) == "")
    refused(fsx.describe_file_systems, "FileSystemNotFound", FileSystemIds=[system])
    refused(fsx.delete_file_system, "FileSystemNotFound", FileSystemId=system)


@pytest.mark.parametrize(
    ("capacity", "lustre", "code", "words"),
    [
        (1800, SCRATCH, "BadRequest", "multiples of 2400"),
        (3600, SCRATCH, "BadRequest", "multiples of 2400"),
        (1200, {**SCRATCH, "PerUnitStorageThroughput": 200}, "BadRequest", "not supported"),
        (1200, persistent(200), "InvalidPerUnitStorageThroughput", "125"),
        (1200, {"DeploymentType": "PERSISTENT_2"}, "InvalidPerUnitStorageThroughput", "125"),
        (4800, persistent(1000, EfaEnabled=True), "BadRequest", "metadata configuration"),
        (2400, persistent(1000, EfaEnabled=True, MetadataConfiguration=METADATA), "BadRequest", "4800"),
        (9600, persistent(250, EfaEnabled=True, MetadataConfiguration=METADATA), "BadRequest", "19200"),
        (1200, {**SCRATCH, "MetadataConfiguration": METADATA}, "BadRequest", "PERSISTENT_2 only"),
        (
            1200,
            persistent(125, MetadataConfiguration={"Mode": "USER_PROVISIONED", "Iops": 2000}),
            "BadRequest",
            "IOPS 2000",
        ),
        (1200, {**SCRATCH, "AutomaticBackupRetentionDays": 7}, "BadRequest", "Automatic backups"),
        (1200, persistent(125, ImportPath="s3://bucket"), "BadRequest", "data repository association"),
        (1200, {"DeploymentType": "SCRATCH_3"}, "BadRequest", "enum value set"),
    ],
)
def test_a_file_system_that_cannot_be_is_refused(
    fsx: Any, network: Network, capacity: int, lustre: dict[str, Any], code: str, words: str
) -> None:
    """ST18 and FSx' EFA table; moto takes any size and any tier."""
    refused(fsx.create_file_system, code, words, **request(network, capacity, lustre))


def test_versions_fit_the_deployment_type(fsx: Any, network: Network) -> None:
    """PERSISTENT_2 has no 2.10."""
    old = request(network, 1200, persistent(125), FileSystemTypeVersion="2.10")
    refused(fsx.create_file_system, "BadRequest", "2.12 or 2.15", **old)


def test_its_network_must_be_there_first(cloud: Cloud, fsx: Any, network: Network) -> None:
    """One subnet that exists, and groups that let Lustre's servers talk before the file system is made."""
    ec2 = cloud.client("ec2")
    nowhere = request(network, 1200, SCRATCH, SubnetIds=["subnet-0123456789abcdef0"])
    refused(fsx.create_file_system, "InvalidNetworkSettings", "does not exist", **nowhere)
    two = request(network, 1200, SCRATCH, SubnetIds=list(network.subnets))
    refused(fsx.create_file_system, "BadRequest", "Exactly one subnet", **two)
    closed = ec2.create_security_group(GroupName="closed", Description="d", VpcId=network.vpc)["GroupId"]
    shut = request(network, 1200, SCRATCH, SecurityGroupIds=[closed])
    refused(fsx.create_file_system, "InvalidNetworkSettings", "port 988", **shut)
    rule = {"IpProtocol": "tcp", "FromPort": 988, "ToPort": 988, "IpRanges": [{"CidrIp": "10.0.0.0/16"}]}
    ec2.authorize_security_group_ingress(GroupId=closed, IpPermissions=[rule])
    efa = persistent(1000, EfaEnabled=True, MetadataConfiguration=METADATA)
    with_efa = request(network, 4800, efa, SecurityGroupIds=[closed])
    refused(fsx.create_file_system, "InvalidNetworkSettings", "which EFA needs", **with_efa)
    ec2.delete_security_group(GroupId=closed)


def test_efa_fixes_the_throughput(cloud: Cloud, fsx: Any, network: Network) -> None:
    """With EFA it cannot change; without, it can, but not together with the capacity."""
    ec2 = cloud.client("ec2")
    group = ec2.create_security_group(GroupName="efa-fs", Description="d", VpcId=network.vpc)["GroupId"]
    everything = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[everything])
    ec2.authorize_security_group_egress(GroupId=group, IpPermissions=[everything])
    efa = persistent(1000, EfaEnabled=True, MetadataConfiguration=METADATA)
    fast = fsx.create_file_system(**request(network, 4800, efa, SecurityGroupIds=[group]))["FileSystem"]["FileSystemId"]
    plain = fsx.create_file_system(**request(network, 1200, persistent(125)))["FileSystem"]["FileSystemId"]
    until(lambda: {lifecycle(fsx, fast), lifecycle(fsx, plain)} == {"AVAILABLE"})
    change = {"PerUnitStorageThroughput": 500}
    refused(fsx.update_file_system, "BadRequest", "EFA-enabled", FileSystemId=fast, LustreConfiguration=change)
    both = {"FileSystemId": plain, "StorageCapacity": 2400, "LustreConfiguration": change}
    refused(fsx.update_file_system, "BadRequest", "in one request", **both)
    fsx.update_file_system(FileSystemId=plain, LustreConfiguration=change)
    until(lambda: lifecycle(fsx, plain) == "AVAILABLE")
    shown = fsx.describe_file_systems(FileSystemIds=[plain])["FileSystems"][0]["LustreConfiguration"]
    assert (shown["PerUnitStorageThroughput"], shown["DeploymentType"]) == (500, "PERSISTENT_2")
    for system in (fast, plain):
        fsx.delete_file_system(FileSystemId=system)
    until(lambda: {lifecycle(fsx, fast), lifecycle(fsx, plain)} == {""})
    ec2.delete_security_group(GroupId=group)


def test_a_key_must_be_usable(cloud: Cloud, fsx: Any, network: Network) -> None:
    """Not on its way out, and not for scratch."""
    kms = cloud.client("kms")
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    refused(fsx.create_file_system, "BadRequest", "persistent", **request(network, 1200, SCRATCH, KmsKeyId=key))
    kms.schedule_key_deletion(KeyId=key, PendingWindowInDays=7)
    leaving = request(network, 1200, persistent(125), KmsKeyId=key)
    refused(fsx.create_file_system, "BadRequest", "PendingDeletion", **leaving)
