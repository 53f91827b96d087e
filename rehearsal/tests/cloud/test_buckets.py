"""Whose a bucket is, and what a key that is disabled or doomed stops: S3, EBS, FSx, EKS (LF03, LF11)."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.engine import seeds
from rehearsal.particulars import Stored
from rehearsal.tests.cloud.conftest import REGION, Cloud, refused, until
from rehearsal.tests.cloud.test_fsx import group, persistent, request
from rehearsal.tests.cloud.world import Network, cluster_request, gone, make_role

__all__ = ["group"]

STRANGER, OWN = "999999999999", "123456789012"
KEY_ARN = f"arn:aws:kms:{REGION}:{OWN}:key/1111aaaa-12ab-34cd-56ef-1234567890ab"


@pytest.fixture(scope="module")
def s3(cloud: Cloud) -> Any:
    return cloud.client("s3")


@pytest.fixture
def key(cloud: Cloud) -> Iterator[Any]:
    """A key that is enabled again when the test ends, and on its way out."""
    kms = cloud.client("kms")
    made = kms.create_key()["KeyMetadata"]
    yield made
    if kms.describe_key(KeyId=made["KeyId"])["KeyMetadata"]["KeyState"] != "PendingDeletion":
        kms.schedule_key_deletion(KeyId=made["KeyId"], PendingWindowInDays=7)


def test_a_strangers_bucket_answers_403_and_its_name_is_taken_lf03(cloud: Cloud, s3: Any) -> None:
    cloud.call("PUT", f"buckets/{REGION}/strangers-models", {"owner": STRANGER})
    refused(s3.head_bucket, "403", Bucket="strangers-models")
    refused(s3.list_objects_v2, "AccessDenied", Bucket="strangers-models")
    refused(s3.put_object, "AccessDenied", Bucket="strangers-models", Key="x", Body=b"")
    refused(s3.create_bucket, "BucketAlreadyExists", Bucket="strangers-models")
    assert cloud.call("GET", "bucket-owners/strangers-models") == {"owner": STRANGER}
    assert cloud.call("GET", "bucket-owners/nobodys-models") == {"owner": None}


def test_a_shared_bucket_may_be_read_and_no_more_lf03(cloud: Cloud, s3: Any) -> None:
    cloud.call("PUT", f"buckets/{REGION}/shared-models", {"owner": STRANGER, "shared": True})
    assert s3.list_objects_v2(Bucket="shared-models")["KeyCount"] == 0
    refused(s3.put_object, "AccessDenied", Bucket="shared-models", Key="x", Body=b"")
    refused(s3.get_bucket_encryption, "AccessDenied", Bucket="shared-models")


def test_what_lies_in_a_shared_bucket_is_its_owners_lf03(cloud: Cloud, s3: Any) -> None:
    cloud.call("PUT", f"buckets/{REGION}/lent-models", {"owner": STRANGER, "shared": True})
    wanted = [Stored("lent-models", "llama/config.json", b"{}"), Stored("seeded-models", "x", b"")]
    made = seeds.sow(s3, wanted, REGION, {"lent-models": STRANGER})
    assert made == ["s3://lent-models/llama/config.json", "s3://seeded-models/x"]
    assert s3.get_object(Bucket="lent-models", Key="llama/config.json")["Body"].read() == b"{}"
    assert cloud.call("GET", "bucket-owners/seeded-models") == {"owner": OWN}


def test_the_expected_owner_is_asked_for_lf03(cloud: Cloud, s3: Any) -> None:
    """S3 user guide, "Verifying bucket ownership with bucket owner condition"."""
    cloud.call("PUT", f"buckets/{REGION}/own-models", {})
    s3.head_bucket(Bucket="own-models", ExpectedBucketOwner=OWN)
    refused(s3.head_bucket, "403", Bucket="own-models", ExpectedBucketOwner=STRANGER)


def test_a_bucket_with_a_key_encrypts_with_it_lf11(cloud: Cloud, s3: Any) -> None:
    cloud.call("PUT", f"buckets/{REGION}/sealed-models", {"keyArn": KEY_ARN})
    s3.put_object(Bucket="sealed-models", Key="config.json", Body=b"{}")
    told = s3.get_object(Bucket="sealed-models", Key="config.json")
    assert (told["ServerSideEncryption"], told["SSEKMSKeyId"]) == ("aws:kms", KEY_ARN)
    assert cloud.call("GET", f"keys/{REGION}/{OWN}/{KEY_ARN.rpartition('/')[2]}")["state"] == "Enabled"


@pytest.mark.parametrize(
    ("stop", "code", "words"),
    [
        ("disable_key", "KMS.DisabledException", "is disabled."),
        ("schedule_key_deletion", "KMS.KMSInvalidStateException", "is pending deletion."),
    ],
)
def test_objects_cannot_be_read_or_written_with_a_dead_key(
    cloud: Cloud, s3: Any, key: Any, stop: str, code: str, words: str
) -> None:
    """S3 hands on what KMS says, and works again when the key does."""
    name, kms = f"keyed-{stop.replace('_', '-')}", cloud.client("kms")
    s3.create_bucket(Bucket=name)
    by_default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key["Arn"]}
    rules = {"Rules": [{"ApplyServerSideEncryptionByDefault": by_default}]}
    s3.put_bucket_encryption(Bucket=name, ServerSideEncryptionConfiguration=rules)
    s3.put_object(Bucket=name, Key="a", Body=b"1")
    getattr(kms, stop)(KeyId=key["KeyId"])
    refused(s3.get_object, code, words, Bucket=name, Key="a")
    refused(s3.put_object, code, words, Bucket=name, Key="b", Body=b"2")
    if stop == "disable_key":
        kms.enable_key(KeyId=key["KeyId"])
        assert s3.get_object(Bucket=name, Key="a")["Body"].read() == b"1"


@pytest.mark.parametrize("stop", ["disable_key", "schedule_key_deletion"])
def test_a_volume_is_not_made_with_a_dead_key(cloud: Cloud, key: Any, stop: str) -> None:
    ec2 = cloud.client("ec2")
    order = {"AvailabilityZone": f"{REGION}a", "Size": 1, "Encrypted": True, "KmsKeyId": key["Arn"]}
    ec2.delete_volume(VolumeId=ec2.create_volume(**order)["VolumeId"])
    getattr(cloud.client("kms"), stop)(KeyId=key["KeyId"])
    refused(ec2.create_volume, "InvalidKmsKey.InvalidState", "incorrect state", **order)


def test_a_disabled_key_encrypts_nothing(cloud: Cloud, key: Any) -> None:
    kms = cloud.client("kms")
    kms.disable_key(KeyId=key["KeyId"])
    refused(kms.encrypt, "DisabledException", "is disabled.", KeyId=key["KeyId"], Plaintext=b"x")
    refused(kms.generate_data_key, "DisabledException", KeyId=key["KeyId"], KeySpec="AES_256")


def test_a_file_system_with_a_dead_key_is_misconfigured_until_it_is_back(
    cloud: Cloud, network: Network, group: str, key: Any
) -> None:
    fsx, kms = cloud.client("fsx"), cloud.client("kms")
    order = request(network, 1200, persistent(125), SecurityGroupIds=[group], KmsKeyId=key["Arn"])
    system = fsx.create_file_system(**order)["FileSystem"]["FileSystemId"]

    def shown() -> dict[str, Any]:
        found: dict[str, Any] = fsx.describe_file_systems(FileSystemIds=[system])["FileSystems"][0]
        return found

    until(lambda: shown()["Lifecycle"] == "AVAILABLE")
    kms.disable_key(KeyId=key["KeyId"])
    assert shown()["Lifecycle"] == "MISCONFIGURED"
    assert f"{key['Arn']} is disabled." in shown()["FailureDetails"]["Message"]
    refused(fsx.update_file_system, "BadRequest", "MISCONFIGURED", FileSystemId=system, StorageCapacity=2400)
    kms.enable_key(KeyId=key["KeyId"])
    assert shown()["Lifecycle"] == "AVAILABLE"
    fsx.delete_file_system(FileSystemId=system)

    def deleted() -> bool:
        try:
            shown()
        except ClientError:
            return True
        return False

    until(deleted)


def test_a_cluster_with_a_dead_key_says_so(cloud: Cloud, network: Network, key: Any) -> None:
    """EKS API reference, ClusterIssue."""
    eks, kms = cloud.client("eks"), cloud.client("kms")
    role = make_role(cloud, "keyed-cluster", "eks.amazonaws.com")
    sealed = [{"resources": ["secrets"], "provider": {"keyArn": key["Arn"]}}]
    eks.create_cluster(**cluster_request("keyed", role, network, encryptionConfig=sealed))
    until(lambda: eks.describe_cluster(name="keyed")["cluster"]["status"] == "ACTIVE")
    assert eks.describe_cluster(name="keyed")["cluster"]["health"]["issues"] == []
    for stop, code in (("disable_key", "KmsKeyDisabled"), ("schedule_key_deletion", "KmsKeyMarkedForDeletion")):
        getattr(kms, stop)(KeyId=key["KeyId"])
        (issue,) = eks.describe_cluster(name="keyed")["cluster"]["health"]["issues"]
        assert (issue["code"], issue["resourceIds"]) == (code, [key["Arn"]])
    gone(cloud, "keyed")
    cloud.client("iam").delete_role(RoleName="keyed-cluster")
