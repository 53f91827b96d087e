"""Every provider of the program, explicit: the stack files switch the default ones off."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.aws.cluster import Cluster
from planner.stack import AwsDeployment, Ownership

ROLE = "aws:iam/role:Role"
PROJECT_TAG = "gpucluster:project"
STACK_TAG = "gpucluster:stack"
"""The tag by which a stack's resources, and what they cost, are told from others'."""


def mandatory_tags(ownership: Ownership) -> dict[str, str]:
    """Tags of everything that can carry tags: which stack it is of, who owns it, who pays, until when."""
    return lasting_tags(ownership) | ({"expiry": ownership.expiry.isoformat()} if ownership.expiry else {})


def lasting_tags(ownership: Ownership) -> dict[str, str]:
    """The tags that another last day does not change: those of what can only be replaced, such as a storage class."""
    return {
        PROJECT_TAG: pulumi.get_project(),
        STACK_TAG: pulumi.get_stack(),
        "owner": ownership.owner,
        "cost-centre": ownership.cost_centre,
    }


def aws_provider(where: AwsDeployment, ownership: Ownership) -> aws.Provider:
    """The stack's account and region. With `accountId` set, another account is refused before anything is made."""
    role = [aws.ProviderAssumeRoleArgs(role_arn=where.role_arn)] if where.role_arn else None
    return aws.Provider(
        "aws",
        region=where.region,
        profile=where.profile,
        assume_roles=role,
        allowed_account_ids=[where.account_id] if where.account_id else None,
        default_tags=aws.ProviderDefaultTagsArgs(tags=mandatory_tags(ownership)),
    )


def bounded(boundary: str) -> pulumi.ResourceTransformation:
    """Gives every role of the stack the permissions boundary, whichever component makes it.

    Source: IAM user guide, "Permissions boundaries for IAM entities": accounts that demand one refuse CreateRole
    without it.
    """

    def bind(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if args.type_ != ROLE:
            return None
        return pulumi.ResourceTransformationResult({**args.props, "permissions_boundary": boundary}, args.opts)

    return bind


def kubernetes_provider(cluster: Cluster, parent: pulumi.Resource) -> k8s.Provider:
    """The cluster's API. Its identity is the cluster's ARN: a kubeconfig written otherwise is the same cluster."""
    return k8s.Provider(
        "kubernetes",
        kubeconfig=cluster.kubeconfig,
        cluster_identifier=cluster.arn,
        enable_server_side_apply=True,
        opts=pulumi.ResourceOptions(parent=parent),
    )
