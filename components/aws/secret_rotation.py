"""When Secrets Manager calls the function that makes a secret's next value (Y07)."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class SecretRotationArgs:
    """The secret, by its whole ARN, which stands before and stays after; `function_arn` is called each `days` days."""

    secret_arn: str
    function_arn: str
    days: int


class SecretRotation(Component):
    """The schedule. It changes no value at once: the first rotation is at the schedule's next window."""

    def __init__(self, name: str, args: SecretRotationArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        aws.secretsmanager.SecretRotation(
            self.named("schedule"),
            aws.secretsmanager.SecretRotationArgs(
                secret_id=args.secret_arn,
                rotation_lambda_arn=args.function_arn,
                rotate_immediately=False,
                rotation_rules=aws.secretsmanager.SecretRotationRotationRulesArgs(automatically_after_days=args.days),
            ),
            self.child(),
        )
        self.register_outputs({})
