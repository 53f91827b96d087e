"""A role for one Kubernetes service account, through EKS Pod Identity: no keys, no OIDC provider, no annotations.

An association is effective some seconds after it was made (EKS API reference, CreatePodIdentityAssociation), and EKS
gives a pod its credentials when the pod is made, or never: a gang whose containers restart in place would train without
them to its end. So who makes pods under a new association is told of it a little later.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pulumi
import pulumi_aws as aws

from components._base import Component
from components.aws.cluster import trust_policy

NEW = timedelta(minutes=2)
SETTLING_SECONDS = 10.0


async def effective(service_account: str, role_made_at: str) -> str:
    """The account, once its association is effective; that of a role made long ago (RFC 3339) is. Previews do not wait.

    In a first `up` the role is older than the cluster, and pods come minutes after the association, with their nodes.
    """
    if datetime.now(UTC) - datetime.fromisoformat(role_made_at) < NEW and not pulumi.runtime.is_dry_run():
        await asyncio.sleep(SETTLING_SECONDS)
    return service_account


def statement_document(statements: Sequence[Mapping[str, Any]]) -> str:
    """IAM policy document of `statements`."""
    return json.dumps({"Version": "2012-10-17", "Statement": [dict(one) for one in statements]}, sort_keys=True)


def pod_trust(cluster: str, namespace: str, service_account: str) -> str:
    """Trust for pods of one account of one cluster, by the tags of the session that EKS asks for.

    Without them, who may make an association in any cluster of AWS' account could hand the role to pods of it.
    Sources: EKS user guide, "Create IAM role with trust policy required by EKS Pod Identity" and "Grant Pods access to
    AWS resources based on tags", which lists the tags.
    """
    tags = {
        "aws:RequestTag/eks-cluster-name": cluster,
        "aws:RequestTag/kubernetes-namespace": namespace,
        "aws:RequestTag/kubernetes-service-account": service_account,
    }
    return trust_policy("pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession", condition={"StringEquals": tags})


def through_s3(*, key_arn: str, bucket_arn: str) -> dict[str, Any]:
    """Condition under which a key opens objects of a bucket, by requests that S3 makes, and nothing else it seals.

    With bucket keys the encryption context is the bucket's ARN, without them the object's.
    Sources: KMS developer guide, kms:ViaService and kms:EncryptionContext; S3 user guide, "Reducing the cost of SSE-KMS
    with Amazon S3 Bucket Keys".
    """
    _, partition, _, region, *_ = key_arn.split(":")
    suffix = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
    return {
        "StringEquals": {"kms:ViaService": f"s3.{region}.{suffix}"},
        "StringLike": {"kms:EncryptionContext:aws:s3:arn": [bucket_arn, f"{bucket_arn}/*"]},
    }


def read_prefix(
    *, partition: str, bucket: str, prefix: str, owner: str, key_arn: str | None = None
) -> list[dict[str, Any]]:
    """Statements that allow listing and reading below `prefix` of a bucket, and nothing beside it.

    A listing says the slash, as the AWS CLI does (awscli, customizations/s3/fileformat.py, s3_format): without it S3
    would name what begins alike too, such as another run's checkpoints.
    Only while the account `owner` has it: a bucket's name is anybody's once it is deleted, or was never taken (LF03).
    With `key_arn` its objects are encrypted with that key, and reading them is decrypting with it (LF11).
    """
    owned = {"StringEquals": {"s3:ResourceAccount": owner}}
    bucket_arn = f"arn:{partition}:s3:::{bucket}"
    key = {"Sid": "DecryptObjects", "Effect": "Allow", "Action": "kms:Decrypt", "Resource": key_arn}
    return [
        {
            "Sid": "ListPrefix",
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": bucket_arn,
            "Condition": {**owned, "StringLike": {"s3:prefix": [f"{prefix}/*"]}},
        },
        {
            "Sid": "ReadObjects",
            "Effect": "Allow",
            "Action": "s3:GetObject",
            "Resource": f"{bucket_arn}/{prefix}/*",
            "Condition": owned,
        },
        *([{**key, "Condition": through_s3(key_arn=key_arn, bucket_arn=bucket_arn)}] if key_arn else []),
    ]


def write_prefix(*, partition: str, bucket: str, prefix: str, owner: str, key_arn: str) -> list[dict[str, Any]]:
    """Statements that allow reading and writing below `prefix` of the bucket of `owner`, encrypted with `key_arn`."""
    objects = {
        "Sid": "WriteObjects",
        "Effect": "Allow",
        "Action": ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:PutObject"],
        "Resource": f"arn:{partition}:s3:::{bucket}/{prefix}/*",
        "Condition": {"StringEquals": {"s3:ResourceAccount": owner}},
    }
    key = {
        "Sid": "UseKey",
        "Effect": "Allow",
        "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
        "Resource": key_arn,
        "Condition": through_s3(key_arn=key_arn, bucket_arn=f"arn:{partition}:s3:::{bucket}"),
    }
    return [*read_prefix(partition=partition, bucket=bucket, prefix=prefix, owner=owner), objects, key]


@dataclass(frozen=True, kw_only=True)
class PodIdentityArgs:
    """`policy_arns` are managed policies by the role each plays; `document` is an inline policy, JSON."""

    cluster_name: pulumi.Input[str]
    namespace: pulumi.Input[str]
    service_account: str
    policy_arns: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    document: pulumi.Input[str] | None = None


class PodIdentity(Component):
    """Role and association. `service_account` resolves once pods under it get the role's credentials."""

    service_account: pulumi.Output[str]
    role_arn: pulumi.Output[str]
    association: aws.eks.PodIdentityAssociation

    def __init__(self, name: str, args: PodIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        role = aws.iam.Role(
            self.named("role"),
            name=self.physical(name, limit=64),
            assume_role_policy=pulumi.Output.all(args.cluster_name, args.namespace).apply(
                lambda known: pod_trust(str(known[0]), str(known[1]), args.service_account)
            ),
            tags=self.tags("role"),
            opts=self.child(),
        )
        rights: list[pulumi.Resource] = [
            aws.iam.RolePolicyAttachment(
                self.named(f"policy-{purpose}"),
                aws.iam.RolePolicyAttachmentArgs(role=role.name, policy_arn=arn),
                self.child(),
            )
            for purpose, arn in sorted(args.policy_arns.items())
        ]
        if args.document is not None:
            rights.append(
                aws.iam.RolePolicy(
                    self.named("policy"),
                    aws.iam.RolePolicyArgs(role=role.name, name=name, policy=args.document),
                    self.child(),
                )
            )
        self.association = aws.eks.PodIdentityAssociation(
            self.named("association"),
            cluster_name=args.cluster_name,
            namespace=args.namespace,
            service_account=args.service_account,
            role_arn=role.arn,
            tags=self.tags("association"),
            opts=self.child(depends_on=rights),
        )
        self.role_arn = role.arn
        made = pulumi.Output.all(self.association.service_account, role.create_date)
        self.service_account = made.apply(lambda known: effective(*known))
        self.register_outputs({"serviceAccount": self.service_account})
