"""Log groups, and that of a control plane, which may exist before its cluster.

EKS' service-linked role delivers a cluster's last events after the cluster is gone, and makes the group again if it was
deleted meanwhile: no policy of ours can forbid it (terraform-aws-eks, issues 920, 2486 and 2763). The next cluster of
the name would then end in ResourceAlreadyExistsException. Only its name shows that such a group is ours, so it is never
emptied: the engine imports it, and updates it to what the program declares.
"""

import pulumi
import pulumi_aws as aws

from components._base import Component


def log_group_name(cluster: str) -> str:
    """Name that EKS writes control-plane logs to; it makes the group itself, unencrypted, if we do not."""
    return f"{log_group_prefix(cluster)}cluster"


def log_group_prefix(cluster: str) -> str:
    """How the names of all of the cluster's log groups begin."""
    return f"/aws/eks/{cluster}/"


def log_group(owner: Component, role: str, name: str, days: int, key_arn: pulumi.Input[str]) -> aws.cloudwatch.LogGroup:
    """Register the log group `name` as the child `role` of `owner`; it keeps lines for `days`."""
    args = aws.cloudwatch.LogGroupArgs(name=name, retention_in_days=days, kms_key_id=key_arn, tags=owner.tags(role))
    return aws.cloudwatch.LogGroup(owner.named(role), args, owner.child())


def left_behind(cluster: str, parent: pulumi.Resource) -> str | None:
    """The log group of a cluster that is gone, to be imported; a group that is in the state already stays as it is."""
    options, group = pulumi.InvokeOptions(parent=parent), log_group_name(cluster)
    if cluster in (aws.eks.get_clusters(opts=options).names or ()):
        return None
    found = aws.cloudwatch.get_log_groups(log_group_name_prefix=group, opts=options)
    return group if group in (found.log_group_names or ()) else None
