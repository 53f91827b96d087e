"""Buckets and their parts."""

import json
from collections.abc import Callable
from typing import Any

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import TAGGED, Case, Inputs
from rehearsal.tests.plugins.aws.world import World
from rehearsal.tests.plugins.driver import State


def lifecycle(days: int) -> list[Inputs]:
    expire = {"id": "old", "status": "Enabled", "filter": {"prefix": "tmp/"}, "expiration": {"days": days}}
    abort = {
        "id": "parts",
        "status": "Enabled",
        "filter": {},
        "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7},
    }
    return [expire, abort]


def bucket_policy(world: World, sid: str) -> str:
    """A policy that refuses plain HTTP."""
    arn = world.bucket.outputs["arn"]
    statement = {
        "Sid": sid,
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def two_versions(client: Callable[[str], Any], state: State) -> None:
    client("s3").put_bucket_versioning(Bucket=state.id, VersioningConfiguration={"Status": "Enabled"})
    for body in (b"1", b"2"):
        client("s3").put_object(Bucket=state.id, Key="model", Body=body)


CASES = (
    Case(
        w.BUCKET,
        lambda _: {"forceDestroy": True},
        *TAGGED,
        {"objectLockEnabled": True},
        ("objectLockEnabled",),
        fill=two_versions,
        force={"forceDestroy": True},
        outputs=("arn", "bucketDomainName", "bucket"),
    ),
    Case(
        w.VERSIONING,
        lambda world: {"bucket": world.bucket.id, "versioningConfiguration": {"status": "Enabled"}},
        {"versioningConfiguration": {"status": "Suspended"}},
        {"versioningConfiguration.status": "update"},
        {"bucket": "another"},
        ("bucket",),
        stays=True,
        outputs=(),
    ),
    Case(
        w.ENCRYPTION,
        lambda world: {
            "bucket": world.bucket.id,
            "rules": [
                {
                    "applyServerSideEncryptionByDefault": {
                        "sseAlgorithm": "aws:kms",
                        "kmsMasterKeyId": world.key.outputs["arn"],
                    },
                    "bucketKeyEnabled": True,
                }
            ],
        },
        {"rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}]},
        {
            "rules[0].applyServerSideEncryptionByDefault.sseAlgorithm": "update",
            "rules[0].applyServerSideEncryptionByDefault.kmsMasterKeyId": "delete",
            "rules[0].bucketKeyEnabled": "delete",
        },
        stays=True,
        outputs=(),
    ),
    Case(
        w.PUBLIC,
        lambda world: {"bucket": world.bucket.id, "blockPublicAcls": True, "blockPublicPolicy": True},
        {"restrictPublicBuckets": True},
        {"restrictPublicBuckets": "add"},
        outputs=(),
    ),
    Case(
        w.LIFECYCLE,
        lambda world: {"bucket": world.bucket.id, "rules": lifecycle(30)},
        {"rules": lifecycle(60)},
        {"rules[0].expiration.days": "update"},
        outputs=(),
    ),
    Case(
        w.BUCKET_POLICY,
        lambda world: {"bucket": world.bucket.id, "policy": bucket_policy(world, "tls")},
        lambda world: {"policy": bucket_policy(world, "tlsonly")},
        {"policy": "update"},
        outputs=(),
    ),
    Case(
        w.OWNERSHIP,
        lambda world: {"bucket": world.bucket.id, "rule": {"objectOwnership": "BucketOwnerEnforced"}},
        {"rule": {"objectOwnership": "BucketOwnerPreferred"}},
        {"rule.objectOwnership": "update"},
        outputs=(),
    ),
)
