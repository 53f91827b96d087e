"""Every provider of the program, explicit: the stack files switch the default ones off."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components.aws.cluster import Cluster
from settings.aws import Aws
from settings.model import Lifecycle


def mandatory_tags(lifecycle: Lifecycle) -> dict[str, str]:
    """Tags of everything that can carry tags: which stack it is of, who owns it, who pays, until when."""
    tags = {
        "gpucluster:project": pulumi.get_project(),
        "gpucluster:stack": pulumi.get_stack(),
        "owner": lifecycle.owner,
        "cost-centre": lifecycle.cost_centre,
    }
    return tags | ({"expiry": lifecycle.expiry.isoformat()} if lifecycle.expiry else {})


def aws_provider(platform: Aws, lifecycle: Lifecycle) -> aws.Provider:
    """The stack's account and region. With `accountId` set, another account is refused before anything is made."""
    role = [aws.ProviderAssumeRoleArgs(role_arn=platform.role_arn)] if platform.role_arn else None
    return aws.Provider(
        "aws",
        region=platform.region,
        profile=platform.profile,
        assume_roles=role,
        allowed_account_ids=[platform.account_id] if platform.account_id else None,
        default_tags=aws.ProviderDefaultTagsArgs(tags=mandatory_tags(lifecycle)),
    )


def kubernetes_provider(cluster: Cluster, parent: pulumi.Resource) -> k8s.Provider:
    """The cluster's API. Its identity is the cluster's ARN: a kubeconfig written otherwise is the same cluster."""
    return k8s.Provider(
        "kubernetes",
        kubeconfig=cluster.kubeconfig,
        cluster_identifier=cluster.arn,
        enable_server_side_apply=True,
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[cluster.access]),
    )
