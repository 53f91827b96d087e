"""The server itself: identity, ids, faults, counters, unknown operations, threads."""

import re
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import psutil
import pytest

from rehearsal.tests.cloud.conftest import REGION, Cloud, refused, start, until


def test_it_starts_fast_and_small(tmp_path: Path) -> None:
    """`make up` waits for it: seconds are of the processor, for other work must not fail this; memory is resident."""
    process, cloud = start(tmp_path)
    try:
        assert cloud.call("GET", "health") == {}
        used = psutil.Process(process.pid)
        assert _cpu(used) < 3
        assert used.memory_info().rss < 220 * 2**20
        started = _cpu(used)
        assert cloud.client("sts").get_caller_identity()
        assert _cpu(used) - started < started / 4
    finally:
        process.terminate()
        process.wait(10)


def _cpu(process: psutil.Process) -> float:
    """Seconds of the processor that it has taken so far."""
    return sum(process.cpu_times()[:2])


def test_the_caller_is_a_session_of_a_role_that_exists(cloud: Cloud) -> None:
    """Moto's own answer is a user ARN of STS, which no access entry could name."""
    arn = cloud.client("sts").get_caller_identity()["Arn"]
    assert arn == "arn:aws:sts::123456789012:assumed-role/deployer/rehearsal"
    role = cloud.client("iam").get_role(RoleName="deployer")["Role"]
    assert role["Arn"] == "arn:aws:iam::123456789012:role/deployer"


def test_another_identity_is_itself(cloud: Cloud) -> None:
    """A user's own key is not taken for the deployer."""
    iam = cloud.client("iam")
    iam.create_user(UserName="intern")
    key = iam.create_access_key(UserName="intern")["AccessKey"]
    keys = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    sts = boto3.client("sts", region_name=REGION, endpoint_url=cloud.url, **keys)
    assert sts.get_caller_identity()["Arn"] == "arn:aws:iam::123456789012:user/intern"
    iam.delete_access_key(UserName="intern", AccessKeyId=key["AccessKeyId"])
    iam.delete_user(UserName="intern")


def test_managed_policies_exist_and_others_do_not(cloud: Cloud) -> None:
    """Attaching a misspelled AWS policy must fail as in life."""
    iam = cloud.client("iam")
    assert iam.get_policy(PolicyArn="arn:aws:iam::aws:policy/AmazonEKSWorkerNodeMinimalPolicy")
    refused(iam.get_policy, "NoSuchEntity", PolicyArn="arn:aws:iam::aws:policy/AmazonEKSWorkerNodeMinimalPolice")


def test_ids_are_unique_and_seventeen_hex_digits(cloud: Cloud) -> None:
    """As AWS writes them; the plugin's import paths depend on the form."""
    ec2 = cloud.client("ec2")
    groups = [ec2.create_placement_group(GroupName=f"ids-{n}")["PlacementGroup"]["GroupId"] for n in range(8)]
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    assert len(set(groups)) == 8
    assert all(re.fullmatch(r"(pg|vpc)-[0-9a-f]{17}", each) for each in [*groups, vpc])
    for number in range(8):
        ec2.delete_placement_group(GroupName=f"ids-{number}")
    ec2.delete_vpc(VpcId=vpc)


def test_a_seed_makes_ids_repeat(led_cloud: Cloud) -> None:
    """For snapshots: the ids of what is written here come from moto's one source of chance too."""
    ec2, seen = led_cloud.client("ec2"), []
    ec2.describe_vpcs()  # a region's default network is made when the region is first used, and draws ids too
    for _ in range(2):
        url, headers = f"{led_cloud.url}/moto-api/seed?a=7", led_cloud.account.headers
        with urllib.request.urlopen(urllib.request.Request(url, b"", headers), timeout=10) as reply:  # noqa: S310
            assert reply.status == 200
        seen.append(ec2.create_placement_group(GroupName="seeded")["PlacementGroup"]["GroupId"])
        ec2.delete_placement_group(GroupName="seeded")
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("service", "operation", "name", "arguments"),
    [
        ("ec2", "describe_vpcs", "DescribeVpcs", {}),
        ("iam", "list_roles", "ListRoles", {}),
        ("eks", "list_clusters", "ListClusters", {}),
        ("fsx", "describe_file_systems", "DescribeFileSystems", {}),
        ("s3", "list_buckets", "ListBuckets", {}),
        ("s3", "get_bucket_policy", "GetBucketPolicy", {"Bucket": "some-bucket"}),
    ],
)
def test_a_fault_strikes_its_operation_in_every_protocol(
    cloud: Cloud, service: str, operation: str, name: str, arguments: dict[str, Any]
) -> None:
    """Code and message reach boto3 whatever the protocol; after its times the operation is served again."""
    call = getattr(cloud.client(service), operation)
    cloud.call("POST", "faults", {"action": name, "code": "RequestLimitExceeded", "status": 503, "times": 2})
    refused(call, "RequestLimitExceeded", "Ordered by the rehearsal", **arguments)
    refused(call, "RequestLimitExceeded", **arguments)
    assert cloud.call("GET", "faults") == []
    if operation != "get_bucket_policy":
        assert call(**arguments)["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_a_fault_by_time_ends_and_others_are_spared(cloud: Cloud) -> None:
    """`seconds` bounds it; the pattern must fit the whole name."""
    sts = cloud.client("sts")
    cloud.call("POST", "faults", {"action": "Get", "code": "ServiceUnavailable", "status": 500})
    assert sts.get_caller_identity()["Account"] == "123456789012"
    cloud.call("DELETE", "faults")
    cloud.call("POST", "faults", {"action": "Get.*", "code": "InternalError", "status": 500, "seconds": 0.2})
    refused(sts.get_caller_identity, "InternalError")
    until(lambda: cloud.call("GET", "faults") == [])
    assert sts.get_caller_identity()["Account"] == "123456789012"


def test_a_fault_of_each_third_call_spares_the_others(cloud: Cloud) -> None:
    """As long as it stands; how many calls it looked at is told."""
    sts = cloud.client("sts")
    cloud.call("POST", "faults", {"action": "Get.*", "code": "InternalError", "status": 500, "every": 3})
    for _ in range(2):
        assert sts.get_caller_identity()["Account"] == "123456789012"
        assert sts.get_caller_identity()["Account"] == "123456789012"
        refused(sts.get_caller_identity, "InternalError")
    assert [each["matched"] for each in cloud.call("GET", "faults")] == [6]
    cloud.call("DELETE", "faults")


def test_a_bad_fault_is_explained(cloud: Cloud) -> None:
    """The answer says what is missing."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        cloud.call("POST", "faults", {"code": "X"})
    assert caught.value.code == 400
    assert "action" in caught.value.read().decode()
    caught.value.close()


def test_requests_are_counted_by_operation(cloud: Cloud) -> None:
    """What a rehearsal's table shows, and what a test of retries counts."""
    before = cloud.call("GET", "requests").get("fsx.DescribeFileSystems", 0)
    cloud.client("fsx").describe_file_systems()
    cloud.client("fsx").describe_file_systems()
    assert cloud.call("GET", "requests")["fsx.DescribeFileSystems"] == before + 2


def test_an_operation_nobody_wrote_is_named(cloud: Cloud) -> None:
    """Moto answers with an HTML page, which boto3 cannot read."""
    refused(cloud.client("ec2").describe_fast_launch_images, "NotImplemented", "ec2.DescribeFastLaunchImages")
    refused(cloud.client("eks").list_insights, "NotImplemented", "eks.ListInsights", clusterName="none")


def test_sixteen_connections_at_once(cloud: Cloud) -> None:
    """As the AWS plugin calls it: nothing is lost, no address is given twice, no error comes of it."""
    ec2 = cloud.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.8.0.0/24")["Subnet"]["SubnetId"]

    def make(number: int) -> tuple[str, str, str]:
        group = ec2.create_security_group(GroupName=f"g{number}", Description="d", VpcId=vpc)["GroupId"]
        interface = ec2.create_network_interface(SubnetId=subnet, Groups=[group])["NetworkInterface"]
        return group, interface["NetworkInterfaceId"], interface["PrivateIpAddress"]

    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(make, range(64)))
    assert len({address for _, _, address in made}) == 64
    found = ec2.describe_network_interfaces(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["NetworkInterfaces"]
    assert {each["NetworkInterfaceId"] for each in found} == {interface for _, interface, _ in made}

    def unmake(row: tuple[str, str, str]) -> None:
        ec2.delete_network_interface(NetworkInterfaceId=row[1])
        ec2.delete_security_group(GroupId=row[0])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(unmake, made))
    ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=vpc)
