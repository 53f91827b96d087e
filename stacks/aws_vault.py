"""Secrets Manager, which a controller in the cluster reads: named secrets, and no others."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from components.aws.pod_identity import PodIdentity, PodIdentityArgs, statement_document
from components.aws.secret_rotation import SecretRotation, SecretRotationArgs
from planner.external_secrets import rotations
from planner.said import ExternalSecret


def reading(*, partition: str, region: str, account: str, secrets: Sequence[ExternalSecret]) -> list[dict[str, Any]]:
    """Statements that allow to read these secrets, with the keys that seal them.

    A secret that is named has an ARN with six more characters, which question marks stand for: a star would take in
    names that only begin so. Sources: Secrets Manager user guide, "Identity-based policies", wildcards, and "Secret
    encryption and decryption", encryption context; external-secrets v2.9.0, providers/v1/aws/secretsmanager: one call.
    """
    arns = sorted({_arn(each.id, partition, region, account) for each in secrets})
    sealed: dict[str, set[str]] = {}
    for each in secrets:
        if each.key_arn:
            sealed.setdefault(each.key_arn, set()).add(_arn(each.id, partition, region, account))
    suffix = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
    return [
        {"Sid": "ReadSecrets", "Effect": "Allow", "Action": "secretsmanager:GetSecretValue", "Resource": arns},
        *(
            {
                "Sid": f"Unseal{index}",
                "Effect": "Allow",
                "Action": "kms:Decrypt",
                "Resource": key,
                "Condition": {
                    "StringEquals": {"kms:ViaService": f"secretsmanager.{region}.{suffix}"},
                    "StringLike": {"kms:EncryptionContext:SecretARN": sorted(of)},
                },
            }
            for index, (key, of) in enumerate(sorted(sealed.items()))
        ),
    ]


def _arn(secret: str, partition: str, region: str, account: str) -> str:
    return (
        secret
        if secret.startswith("arn:")
        else f"arn:{partition}:secretsmanager:{region}:{account}:secret:{secret}-??????"
    )


@dataclass(frozen=True, kw_only=True)
class SecretsManager:
    """The controller has the right by EKS Pod Identity; a store without `auth` asks with the controller's own.

    Source: external-secrets v2.9.0, docs/provider/aws-access.md, "EKS Pod Identity".
    """

    cluster_name: pulumi.Output[str]
    partition: pulumi.Output[str]
    region: str
    account_id: pulumi.Output[str]

    @property
    def provider(self) -> Mapping[str, Any]:
        return {"aws": {"service": "SecretsManager", "region": self.region}}

    def reader(
        self,
        name: str,
        *,
        secrets: Sequence[ExternalSecret],
        namespace: pulumi.Input[str],
        account: str,
        opts: pulumi.ResourceOptions,
    ) -> pulumi.Output[str]:
        document = pulumi.Output.all(self.partition, self.account_id).apply(
            lambda known: statement_document(
                reading(partition=str(known[0]), region=self.region, account=str(known[1]), secrets=secrets)
            )
        )
        args = PodIdentityArgs(
            cluster_name=self.cluster_name, namespace=namespace, service_account=account, document=document
        )
        return PodIdentity(name, args, opts).service_account


def rotate(secrets: Mapping[str, ExternalSecret], opts: pulumi.ResourceOptions) -> None:
    """Register the schedules of secrets, given by their keys of the stack file."""
    for key, (arn, schedule) in rotations(secrets).items():
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", key).lower()
        args = SecretRotationArgs(secret_arn=arn, function_arn=schedule.function, days=schedule.days)
        SecretRotation(f"rotation-{name}", args, opts)
