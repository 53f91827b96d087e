"""The stack's KMS key: Kubernetes secrets, control-plane logs, the persistent file system and the bucket."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components._base import Component


def key_policy(*, partition: str, account_id: str, region: str, log_group_prefix: str) -> dict[str, Any]:
    """Who may use the key. IAM decides for the account's principals; only the log service needs a grant of its own.

    EKS, FSx and S3 act with the caller's rights or a grant the caller makes, which the first statement covers.
    """
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "AccountByIam",
                "Effect": "Allow",
                "Principal": {"AWS": f"arn:{partition}:iam::{account_id}:root"},
                "Action": "kms:*",
                "Resource": "*",
            },
            {
                "Sid": "ControlPlaneLogs",
                "Effect": "Allow",
                "Principal": {"Service": f"logs.{region}.amazonaws.com"},
                "Action": ["kms:Decrypt*", "kms:Describe*", "kms:Encrypt*", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
                "Resource": "*",
                "Condition": {
                    "ArnLike": {
                        "kms:EncryptionContext:aws:logs:arn": (
                            f"arn:{partition}:logs:{region}:{account_id}:log-group:{log_group_prefix}*"
                        )
                    }
                },
            },
        ],
    }


@dataclass(frozen=True, kw_only=True)
class KeysArgs:
    """`log_group_prefix` limits which log groups the key serves; `deletion_days` is how long a delete can be undone."""

    partition: pulumi.Input[str]
    account_id: pulumi.Input[str]
    region: str
    log_group_prefix: str
    deletion_days: int = 7
    protect: bool = False


class Keys(Component):
    """One customer-managed key with yearly rotation, and its alias."""

    arn: pulumi.Output[str]

    def __init__(self, name: str, args: KeysArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        policy = pulumi.Output.all(partition=args.partition, account_id=args.account_id).apply(
            lambda known: key_policy(region=args.region, log_group_prefix=args.log_group_prefix, **known)
        )
        key = aws.kms.Key(
            self.named("key"),
            description="Data of the GPU cluster at rest",
            enable_key_rotation=True,
            deletion_window_in_days=args.deletion_days,
            policy=pulumi.Output.json_dumps(policy, sort_keys=True),
            tags=self.tags("key"),
            opts=self.child(protect=args.protect),
        )
        aws.kms.Alias(
            self.named("alias"),
            aws.kms.AliasArgs(name=f"alias/{self.physical('data', limit=250)}", target_key_id=key.id),
            self.child(),
        )
        self.arn = key.arn
        self.register_outputs({"arn": self.arn})
