"""The stack's object store: checkpoints and artefacts, versioned, encrypted, private (R07, Y06)."""

import json
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components._base import Component

CHECKPOINTS = "checkpoints/"


def tls_only(arn: str) -> dict[str, Any]:
    """Bucket policy that refuses every request without TLS."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "TlsOnly",
                "Effect": "Deny",
                "Principal": "*",
                "Action": "s3:*",
                "Resource": [arn, f"{arn}/*"],
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            }
        ],
    }


@dataclass(frozen=True, kw_only=True)
class BucketArgs:
    """`purpose` stands in the bucket's name, which must be unique in the world and ends in `account_id`. Checkpoints
    expire after `checkpoint_days`, and with `cold` move to a storage class after so many days. A bucket without
    checkpoints has no `checkpoint_days`; all that is in it expires after `expire_days`, if after any.

    `disposable` lets a destroy empty the bucket; without it a bucket with objects stays and the destroy says so.
    """

    account_id: pulumi.Input[str]
    key_arn: pulumi.Input[str]
    checkpoint_days: int | None = None
    purpose: str = "artefacts"
    expire_days: int | None = None
    cold: tuple[int, str] | None = None
    disposable: bool = False
    protect: bool = False


class Bucket(Component):
    """An S3 bucket whose name resolves when encryption, privacy and policy are in force."""

    bucket_name: pulumi.Output[str]

    def __init__(self, name: str, args: BucketArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        stem = self.physical(args.purpose, limit=63 - 13)
        bucket = aws.s3.Bucket(
            self.named("bucket"),
            bucket=pulumi.Output.format("{0}-{1}", stem, args.account_id),
            force_destroy=args.disposable,
            tags=self.tags("bucket"),
            opts=self.child(protect=args.protect),
        )
        private = self._make_private(bucket)
        encrypted = self._encrypt(bucket, args.key_arn)
        self._keep_versions(bucket, args)
        policy = aws.s3.BucketPolicy(
            self.named("policy"),
            bucket=bucket.bucket,
            policy=bucket.arn.apply(lambda arn: json.dumps(tls_only(arn), sort_keys=True)),
            # S3 answers OperationAborted while another call changes the bucket's access.
            opts=self.child(depends_on=[private]),
        )
        self.bucket_name = pulumi.Output.all(bucket.bucket, policy.id, encrypted.id).apply(lambda known: str(known[0]))
        self.register_outputs({"bucketName": self.bucket_name})

    def _make_private(self, bucket: aws.s3.Bucket) -> aws.s3.BucketPublicAccessBlock:
        owned = aws.s3.BucketOwnershipControls(
            self.named("ownership"),
            bucket=bucket.bucket,
            rule=aws.s3.BucketOwnershipControlsRuleArgs(object_ownership="BucketOwnerEnforced"),
            opts=self.child(),
        )
        return aws.s3.BucketPublicAccessBlock(
            self.named("private"),
            bucket=bucket.bucket,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=self.child(depends_on=[owned]),
        )

    def _encrypt(self, bucket: aws.s3.Bucket, key_arn: pulumi.Input[str]) -> pulumi.CustomResource:
        by_default = aws.s3.BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs(
            sse_algorithm="aws:kms", kms_master_key_id=key_arn
        )
        return aws.s3.BucketServerSideEncryptionConfiguration(
            self.named("encryption"),
            bucket=bucket.bucket,
            rules=[
                aws.s3.BucketServerSideEncryptionConfigurationRuleArgs(
                    apply_server_side_encryption_by_default=by_default, bucket_key_enabled=True
                )
            ],
            opts=self.child(),
        )

    def _keep_versions(self, bucket: aws.s3.Bucket, args: BucketArgs) -> None:
        versioning = aws.s3.BucketVersioning(
            self.named("versioning"),
            bucket=bucket.bucket,
            versioning_configuration=aws.s3.BucketVersioningVersioningConfigurationArgs(status="Enabled"),
            opts=self.child(),
        )
        rule = aws.s3.BucketLifecycleConfigurationRuleArgs
        transition = aws.s3.BucketLifecycleConfigurationRuleTransitionArgs
        days = args.expire_days if args.checkpoint_days is None else args.checkpoint_days
        aws.s3.BucketLifecycleConfiguration(
            self.named("lifecycle"),
            bucket=bucket.bucket,
            rules=[
                rule(
                    id="everything" if args.checkpoint_days is None else "checkpoints",
                    status="Enabled",
                    filter=aws.s3.BucketLifecycleConfigurationRuleFilterArgs(
                        prefix="" if args.checkpoint_days is None else CHECKPOINTS
                    ),
                    expiration=aws.s3.BucketLifecycleConfigurationRuleExpirationArgs(days=days) if days else None,
                    transitions=[transition(days=args.cold[0], storage_class=args.cold[1])] if args.cold else None,
                    noncurrent_version_expiration=(
                        aws.s3.BucketLifecycleConfigurationRuleNoncurrentVersionExpirationArgs(noncurrent_days=7)
                    ),
                ),
                rule(
                    id="unfinished-uploads",
                    status="Enabled",
                    filter=aws.s3.BucketLifecycleConfigurationRuleFilterArgs(prefix=""),
                    abort_incomplete_multipart_upload=(
                        aws.s3.BucketLifecycleConfigurationRuleAbortIncompleteMultipartUploadArgs(
                            days_after_initiation=7
                        )
                    ),
                ),
            ],
            opts=self.child(depends_on=[versioning]),
        )
