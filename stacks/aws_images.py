"""ECR, which a controller in the cluster reads images and signatures from."""

from dataclasses import dataclass
from typing import Any

import pulumi

from catalogue.caching import ACCOUNT_REGISTRY
from components.aws.pod_identity import PodIdentity, PodIdentityArgs, statement_document
from planner.types import AwsPlan
from stacks.aws_ground import Account

ACTIONS = (
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:GetDownloadUrlForLayer",
    "ecr:ListImageReferrers",
)
"""What reads an image, and what was pushed about it (ECR user guide, "Amazon ECR repository policies")."""


def pulling(*, partition: str, region: str, account: str, path: str) -> list[dict[str, Any]]:
    """Statements that allow to read what lies below a path of a registry."""
    below = f"repository/{path}/*" if path else "repository/*"
    images = f"arn:{partition}:ecr:{region}:{account}:{below}"
    return [
        {"Sid": "SignIn", "Effect": "Allow", "Action": "ecr:GetAuthorizationToken", "Resource": "*"},
        {"Sid": "ReadImages", "Effect": "Allow", "Action": list(ACTIONS), "Resource": images},
    ]


@dataclass(frozen=True, kw_only=True)
class EcrImages:
    """Repositories below a `path` of an account's registry, "" for all of them, by EKS Pod Identity."""

    cluster_name: pulumi.Output[str]
    partition: pulumi.Output[str]
    region: str
    account: str
    path: str

    @property
    def provider(self) -> str:
        return "amazon"

    def reader(
        self, name: str, *, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        document = self.partition.apply(
            lambda partition: statement_document(
                pulling(partition=partition, region=self.region, account=self.account, path=self.path)
            )
        )
        args = PodIdentityArgs(
            cluster_name=self.cluster_name, namespace=namespace, service_account=account, document=document
        )
        return PodIdentity(name, args, opts).service_account


def ecr_images(plan: AwsPlan, account: Account, cluster_name: pulumi.Output[str]) -> EcrImages | None:
    """None where the stack's images are not in an ECR."""
    registry = plan.supply.registry or ""
    found = ACCOUNT_REGISTRY.fullmatch(registry)
    if found is None:
        return None
    return EcrImages(
        cluster_name=cluster_name,
        partition=account.partition,
        region=found["region"],
        account=found["account"],
        path=registry.partition("/")[2],
    )
