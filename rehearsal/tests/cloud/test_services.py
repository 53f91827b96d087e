"""KMS, S3, IAM and Logs: the members moto drops and the refusals it lacks."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.tests.cloud.conftest import REGION, Cloud, refused

TRUST = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}]}


@pytest.fixture(scope="module")
def kms(cloud: Cloud) -> Any:
    """KMS of the test region."""
    return cloud.client("kms")


def test_rotation_keeps_its_period(kms: Any) -> None:
    """365 days unless given."""
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    assert "RotationPeriodInDays" not in kms.get_key_rotation_status(KeyId=key)
    kms.enable_key_rotation(KeyId=key)
    assert kms.get_key_rotation_status(KeyId=key)["RotationPeriodInDays"] == 365
    kms.enable_key_rotation(KeyId=key, RotationPeriodInDays=120)
    assert kms.get_key_rotation_status(KeyId=key)["RotationPeriodInDays"] == 120
    kms.schedule_key_deletion(KeyId=key)


def test_a_key_on_its_way_out(cloud: Cloud, kms: Any) -> None:
    """Says so, takes an ARN, refuses work, and is not counted as left over."""
    key = kms.create_key()["KeyMetadata"]
    assert key["KeyId"] in cloud.inventory()["kms:key"]
    kms.create_alias(AliasName="alias/leaving", TargetKeyId=key["KeyId"])
    refused(kms.schedule_key_deletion, "ValidationException", KeyId=key["KeyId"], PendingWindowInDays=3)
    reply = kms.schedule_key_deletion(KeyId=key["Arn"], PendingWindowInDays=7)
    assert (reply["KeyState"], reply["PendingWindowInDays"]) == ("PendingDeletion", 7)
    assert kms.describe_key(KeyId=key["KeyId"])["KeyMetadata"]["KeyState"] == "PendingDeletion"
    refused(kms.enable_key_rotation, "KMSInvalidStateException", KeyId=key["KeyId"])
    refused(kms.create_alias, "KMSInvalidStateException", AliasName="alias/again", TargetKeyId=key["KeyId"])
    refused(kms.tag_resource, "KMSInvalidStateException", KeyId=key["KeyId"], Tags=[{"TagKey": "a", "TagValue": "b"}])
    left = cloud.inventory()
    assert key["KeyId"] not in left.get("kms:key", [])
    assert "alias/leaving" in left["kms:alias"]
    kms.delete_alias(AliasName="alias/leaving")


OF_THE_ACCOUNT = {
    "Effect": "Allow",
    "Principal": {"AWS": "arn:aws:iam::123456789012:root"},
    "Action": "kms:*",
    "Resource": "*",
}


def test_a_key_that_nobody_could_manage_is_refused(kms: Any) -> None:
    """As it is made, and when its policy changes; unless the caller says that it is meant."""
    service = {**OF_THE_ACCOUNT, "Principal": {"Service": "logs.us-east-1.amazonaws.com"}}
    user = {**OF_THE_ACCOUNT, "Action": ["kms:Encrypt", "kms:Decrypt"]}
    for statements in ([service], [service, user], []):
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        refused(kms.create_key, "MalformedPolicyDocumentException", "in the future", Policy=policy)
    key = kms.create_key(Policy=json.dumps({"Version": "2012-10-17", "Statement": [OF_THE_ACCOUNT]}))
    named = {"KeyId": key["KeyMetadata"]["KeyId"], "PolicyName": "default", "Policy": policy}
    refused(kms.put_key_policy, "MalformedPolicyDocumentException", "in the future", **named)
    kms.put_key_policy(**named, BypassPolicyLockoutSafetyCheck=True)
    kms.schedule_key_deletion(KeyId=named["KeyId"])


def test_a_new_bucket_is_closed_and_encrypted(cloud: Cloud) -> None:
    """As all are since 2023; deleting the encryption goes back to that."""
    s3, name = cloud.client("s3"), {"Bucket": "gpucluster-new"}
    s3.create_bucket(**name)
    blocks = s3.get_public_access_block(**name)["PublicAccessBlockConfiguration"]
    assert set(blocks.values()) == {True}
    owner = s3.get_bucket_ownership_controls(**name)["OwnershipControls"]["Rules"]
    assert owner == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}, "BucketKeyEnabled": True}
    s3.put_bucket_encryption(**name, ServerSideEncryptionConfiguration={"Rules": [rule]})
    s3.delete_bucket_encryption(**name)
    default = s3.get_bucket_encryption(**name)["ServerSideEncryptionConfiguration"]["Rules"][0]
    assert default["ApplyServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    s3.delete_bucket(**name)


def test_a_policy_that_refuses_what_comes_without_tls_refuses_nobody(cloud: Cloud) -> None:
    """Clients use TLS in life and need not here; what a policy refuses of everybody, it refuses."""
    s3, name = cloud.client("s3"), {"Bucket": "gpucluster-tls"}
    s3.create_bucket(**name)
    without_tls = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": ["arn:aws:s3:::gpucluster-tls", "arn:aws:s3:::gpucluster-tls/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    s3.put_bucket_policy(**name, Policy=json.dumps({"Version": "2012-10-17", "Statement": [without_tls]}))
    s3.put_object(**name, Key="a", Body=b"1")
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": "arn:aws:s3:::gpucluster-tls/*"}
    s3.put_bucket_policy(**name, Policy=json.dumps({"Version": "2012-10-17", "Statement": [deny]}))
    with pytest.raises(ClientError, match="403"):
        s3.put_object(**name, Key="a", Body=b"2")
    assert s3.get_object(**name, Key="a")["Body"].read() == b"1"
    s3.delete_object(**name, Key="a")
    s3.delete_bucket(**name)


def test_a_bucket_with_old_versions_stays(cloud: Cloud) -> None:
    """A deleted object of a versioned bucket is still there."""
    s3, name = cloud.client("s3"), {"Bucket": "gpucluster-versions"}
    s3.create_bucket(**name)
    s3.put_bucket_versioning(**name, VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(**name, Key="a", Body=b"1")
    s3.delete_object(**name, Key="a")
    refused(s3.delete_bucket, "BucketNotEmpty", **name)
    versions = s3.list_object_versions(**name)
    for row in versions["Versions"] + versions["DeleteMarkers"]:
        s3.delete_object(**name, Key=row["Key"], VersionId=row["VersionId"])
    assert "gpucluster-versions" in cloud.inventory()["s3:bucket"]
    s3.delete_bucket(**name)


def test_lifecycle_rules_read_back(cloud: Cloud) -> None:
    """With NewerNoncurrentVersions, or refresh sees drift."""
    s3, name = cloud.client("s3"), {"Bucket": "gpucluster-rules"}
    s3.create_bucket(**name)
    rule = {
        "ID": "old",
        "Status": "Enabled",
        "Filter": {"Prefix": ""},
        "NoncurrentVersionExpiration": {"NoncurrentDays": 30, "NewerNoncurrentVersions": 3},
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7},
    }
    s3.put_bucket_lifecycle_configuration(**name, LifecycleConfiguration={"Rules": [rule]})
    assert s3.get_bucket_lifecycle_configuration(**name)["Rules"] == [rule]
    s3.delete_bucket(**name)


@pytest.mark.parametrize("document", ["not json", '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow"}]}'])
def test_a_trust_policy_is_read(cloud: Cloud, document: str) -> None:
    """Moto takes anything on creation."""
    iam = cloud.client("iam")
    refused(iam.create_role, "MalformedPolicyDocument", RoleName="broken", AssumeRolePolicyDocument=document)


def test_roles_and_policies_go_in_order(cloud: Cloud) -> None:
    """DeleteConflict while a policy is attached, inline, or attached elsewhere."""
    iam = cloud.client("iam")
    iam.create_role(RoleName="ordered", AssumeRolePolicyDocument=json.dumps(TRUST))
    statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    policy = iam.create_policy(PolicyName="ordered", PolicyDocument=document)["Policy"]["Arn"]
    iam.attach_role_policy(RoleName="ordered", PolicyArn=policy)
    iam.put_role_policy(RoleName="ordered", PolicyName="inline", PolicyDocument=document)
    left = cloud.inventory()
    assert ("ordered" in left["iam:role"], "ordered" in left["iam:policy"]) == (True, True)
    refused(iam.delete_role, "DeleteConflict", "detach", RoleName="ordered")
    refused(iam.delete_policy, "DeleteConflict", PolicyArn=policy)
    iam.detach_role_policy(RoleName="ordered", PolicyArn=policy)
    refused(iam.delete_role, "DeleteConflict", "delete policies", RoleName="ordered")
    iam.delete_role_policy(RoleName="ordered", PolicyName="inline")
    iam.delete_role(RoleName="ordered")
    iam.delete_policy(PolicyArn=policy)


def test_a_log_groups_key_must_let_the_service_in(cloud: Cloud, kms: Any) -> None:
    """The trap of every first encrypted log group; and retention is one of a list."""
    logs = cloud.client("logs")
    closed = kms.create_key()["KeyMetadata"]["Arn"]
    refused(logs.create_log_group, "InvalidParameterException", logGroupName="/g", kmsKeyId=closed)
    statement = {"Effect": "Allow", "Principal": {"Service": "logs.us-east-1.amazonaws.com"}, "Action": "kms:*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [OF_THE_ACCOUNT, {**statement, "Resource": "*"}]})
    opened = kms.create_key(Policy=policy)["KeyMetadata"]["Arn"]
    logs.create_log_group(logGroupName="/g", kmsKeyId=opened)
    assert logs.describe_log_groups(logGroupNamePrefix="/g")["logGroups"][0]["kmsKeyId"] == opened
    refused(logs.put_retention_policy, "InvalidParameterException", logGroupName="/g", retentionInDays=31)
    logs.put_retention_policy(logGroupName="/g", retentionInDays=30)
    logs.disassociate_kms_key(logGroupName="/g")
    assert "kmsKeyId" not in logs.describe_log_groups(logGroupNamePrefix="/g")["logGroups"][0]
    refused(logs.associate_kms_key, "InvalidParameterException", logGroupName="/g", kmsKeyId=closed)
    logs.associate_kms_key(logGroupName="/g", kmsKeyId=opened)
    assert logs.describe_log_groups(logGroupNamePrefix="/g")["logGroups"][0]["kmsKeyId"] == opened
    refused(logs.associate_kms_key, "ResourceNotFoundException", logGroupName="/other", kmsKeyId=opened)
    logs.delete_log_group(logGroupName="/g")
    for key in (closed, opened):
        kms.schedule_key_deletion(KeyId=key)


def test_a_parameter_that_was_there_has_its_version_and_no_other(cloud: Cloud) -> None:
    ssm = cloud.client("ssm")
    for value in ("ami-1", "ami-2"):
        assert cloud.call("PUT", f"parameters/{REGION}", {"/was/there:7": value}) == ["/was/there"]
    cloud.call("PUT", f"parameters/{REGION}", {"/was/there:3": "ami-0"})
    assert ssm.get_parameter(Name="/was/there:7")["Parameter"]["Value"] == "ami-1"
    assert ssm.get_parameter(Name="/was/there")["Parameter"]["Version"] == 7
    refused(ssm.get_parameter, "ParameterVersionNotFound", Name="/was/there:8")
    ssm.delete_parameter(Name="/was/there")


def test_parameters_of_aws_are_nobodys_to_leave_behind(cloud: Cloud) -> None:
    """They come with the first question about one."""
    ssm = cloud.client("ssm")
    release = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/recommended/release_version"
    assert ssm.get_parameter(Name=release)["Parameter"]["Value"]
    ssm.put_parameter(Name="/own/parameter", Value="1", Type="String")
    assert cloud.inventory()["ssm:parameter"] == ["/own/parameter"]
    ssm.delete_parameter(Name="/own/parameter")
    assert "ssm:parameter" not in cloud.inventory()
