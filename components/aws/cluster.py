"""The EKS control plane: its role, its logs, who may enter, and the kubeconfig that `pulumi` and people use.

Access is by access entries alone: no aws-auth ConfigMap, no rights for whoever happened to create the cluster. Managed
node groups get their entries from EKS itself; an entry of ours for a node role would collide with it.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components._base import Component, physical_name

CLUSTER_POLICY = "arn:{0}:iam::aws:policy/AmazonEKSClusterPolicy"
ADMIN_POLICY = "arn:{0}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
CLUSTER_NAME_LIMIT = 100


def trust_policy(service: str, *actions: str) -> str:
    """Trust policy that lets an AWS service take a role."""
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {"Effect": "Allow", "Principal": {"Service": service}, "Action": list(actions) or "sts:AssumeRole"}
            ],
        },
        sort_keys=True,
    )


def log_group_name(cluster: str) -> str:
    """Name that EKS writes control-plane logs to; it makes the group itself, unencrypted, if we do not."""
    return f"/aws/eks/{cluster}/cluster"


def entry_role(arn: str) -> str:
    """Role name of an administrator's access entry: readable, and unique where two principals share a last name."""
    last = arn.rsplit("/", 1)[-1].lower()
    return f"admin-{''.join(c if c.isalnum() else '-' for c in last)}-{hashlib.sha256(arn.encode()).hexdigest()[:6]}"


def kubeconfig(
    *, name: str, endpoint: str, authority: str, region: str, profile: str | None = None, role_arn: str | None = None
) -> str:
    """A kubeconfig (JSON, which is YAML) whose credentials `aws eks get-token` makes for 15 minutes at a time."""
    arguments = ["eks", "get-token", "--cluster-name", name, "--region", region, "--output", "json"]
    if role_arn:
        arguments += ["--role-arn", role_arn]
    user: dict[str, Any] = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "aws",
        "args": arguments,
        "interactiveMode": "Never",
        "env": [{"name": "AWS_PROFILE", "value": profile}] if profile else None,
    }
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": {"server": endpoint, "certificate-authority-data": authority}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
            "users": [{"name": name, "user": {"exec": user}}],
        },
        sort_keys=True,
    )


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    """`subnet_ids` lie in two zones or more. No `public_access_cidrs` means no endpoint outside the VPC.

    `profile` and `role_arn` are how the deployer reaches AWS; the kubeconfig goes the same way.
    """

    name: str
    region: str
    partition: pulumi.Input[str]
    version: str
    subnet_ids: Sequence[pulumi.Input[str]]
    key_arn: pulumi.Input[str]
    deployer_arn: pulumi.Input[str]
    admin_arns: Sequence[str] = ()
    public_access_cidrs: Sequence[str] = ()
    profile: str | None = None
    role_arn: str | None = None
    log_retention_days: int = 30
    protect: bool = False


class Cluster(Component):
    """An EKS cluster. `access` is the last step after which the deployer may talk to its API server."""

    arn: pulumi.Output[str]
    name: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    access: pulumi.Resource

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        role, policy = self._create_role(args)
        cluster = self._create_control_plane(args, role, [policy, self._create_log_group(args)])
        self.arn = cluster.arn
        self.name = cluster.name
        self.endpoint = cluster.endpoint
        self.security_group_id = cluster.vpc_config.cluster_security_group_id.apply(str)
        self.access = self._admit("deployer", args, args.deployer_arn)
        for arn in args.admin_arns:
            if arn != args.deployer_arn:
                self._admit(entry_role(arn), args, arn)
        self.kubeconfig = pulumi.Output.secret(self._kubeconfig(args, cluster))
        self.register_outputs({"name": self.name, "endpoint": self.endpoint, "kubeconfig": self.kubeconfig})

    def _create_log_group(self, args: ClusterArgs) -> aws.cloudwatch.LogGroup:
        return aws.cloudwatch.LogGroup(
            self.named("logs"),
            aws.cloudwatch.LogGroupArgs(
                name=log_group_name(args.name),
                retention_in_days=args.log_retention_days,
                kms_key_id=args.key_arn,
                tags=self.tags("logs"),
            ),
            self.child(),
        )

    def _create_role(self, args: ClusterArgs) -> tuple[aws.iam.Role, aws.iam.RolePolicyAttachment]:
        role = aws.iam.Role(
            self.named("role"),
            aws.iam.RoleArgs(
                name=physical_name(args.name, "control-plane", limit=64),
                assume_role_policy=trust_policy("eks.amazonaws.com"),
                tags=self.tags("role"),
            ),
            self.child(),
        )
        policy = aws.iam.RolePolicyAttachment(
            self.named("role-policy"),
            aws.iam.RolePolicyAttachmentArgs(
                role=role.name, policy_arn=pulumi.Output.format(CLUSTER_POLICY, args.partition)
            ),
            self.child(),
        )
        return role, policy

    def _create_control_plane(
        self, args: ClusterArgs, role: aws.iam.Role, before: list[pulumi.Resource]
    ) -> aws.eks.Cluster:
        return aws.eks.Cluster(
            self.named("control-plane"),
            aws.eks.ClusterArgs(
                name=args.name,
                version=args.version,
                role_arn=role.arn,
                vpc_config=aws.eks.ClusterVpcConfigArgs(
                    subnet_ids=list(args.subnet_ids),
                    endpoint_private_access=True,
                    endpoint_public_access=bool(args.public_access_cidrs),
                    public_access_cidrs=sorted(args.public_access_cidrs) or None,
                ),
                access_config=aws.eks.ClusterAccessConfigArgs(
                    authentication_mode="API", bootstrap_cluster_creator_admin_permissions=False
                ),
                bootstrap_self_managed_addons=False,
                enabled_cluster_log_types=["api", "audit", "authenticator"],
                encryption_config=aws.eks.ClusterEncryptionConfigArgs(
                    provider=aws.eks.ClusterEncryptionConfigProviderArgs(key_arn=args.key_arn), resources=["secrets"]
                ),
                upgrade_policy=aws.eks.ClusterUpgradePolicyArgs(support_type="STANDARD"),
                tags=self.tags("control-plane"),
            ),
            self.child(
                protect=args.protect,
                depends_on=before,
                custom_timeouts=pulumi.CustomTimeouts(create="30m", update="90m", delete="30m"),
            ),
        )

    def _admit(self, role: str, args: ClusterArgs, principal_arn: pulumi.Input[str]) -> pulumi.Resource:
        """Make `principal_arn` an administrator of the whole cluster."""
        entry = aws.eks.AccessEntry(
            self.named(role),
            aws.eks.AccessEntryArgs(
                cluster_name=self.name, principal_arn=principal_arn, type="STANDARD", tags=self.tags(role)
            ),
            self.child(),
        )
        return aws.eks.AccessPolicyAssociation(
            self.named(f"{role}-policy"),
            aws.eks.AccessPolicyAssociationArgs(
                cluster_name=self.name,
                principal_arn=entry.principal_arn,
                policy_arn=pulumi.Output.format(ADMIN_POLICY, args.partition),
                access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
            ),
            self.child(),
        )

    def _kubeconfig(self, args: ClusterArgs, cluster: aws.eks.Cluster) -> pulumi.Output[str]:
        return pulumi.Output.all(
            name=cluster.name, endpoint=cluster.endpoint, authority=cluster.certificate_authority.data
        ).apply(lambda known: kubeconfig(region=args.region, profile=args.profile, role_arn=args.role_arn, **known))
