"""The EKS control plane: its role, its logs, who may enter, and the kubeconfig that `pulumi` and people use.

Access is by access entries alone: no aws-auth ConfigMap, no rights for whoever happened to create the cluster. Managed
node groups get their entries from EKS itself; an entry of ours for a node role would collide with it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components._base import Component, physical_name
from components.aws.admission import admitted
from components.aws.logs import left_behind, log_group_name

CLUSTER_POLICY = "arn:{0}:iam::aws:policy/AmazonEKSClusterPolicy"
INTERFACES_POLICY = "arn:{0}:iam::aws:policy/AmazonEKSVPCResourceController"
"""What the control plane needs to make interfaces for pods with security groups of their own."""
ADMIN_POLICY = "arn:{0}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
CLUSTER_NAME_LIMIT = 100
WAYS_ROUND = (
    "This change would replace the cluster and delete everything on it, so nothing was touched. Revert the change;"
    " or run pulumi destroy, then pulumi up; or build the new cluster as another stack (pulumi stack init NAME),"
    " move the workloads, and destroy this one."
)
"""What a person can do who wants what only a new control plane gives."""


def trust_policy(service: str, *actions: str, condition: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """Trust policy that lets an AWS service take a role, where the `condition` holds."""
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": list(actions) or "sts:AssumeRole",
        **({"Condition": condition} if condition else {}),
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}, sort_keys=True)


def control_plane_trust(*, partition: str, account_id: str, region: str, name: str) -> str:
    """Trust for EKS on behalf of this cluster: a cluster of somebody else's cannot have the role used for it.

    Source: EKS user guide, "Cross-service confused deputy prevention in Amazon EKS".
    """
    cluster = f"arn:{partition}:eks:{region}:{account_id}:cluster/{name}"
    here = {"ArnLike": {"aws:SourceArn": cluster}, "StringEquals": {"aws:SourceAccount": account_id}}
    return trust_policy("eks.amazonaws.com", condition=here)


def role_name(cluster: str) -> str:
    """Name of the control plane's role."""
    return physical_name(cluster, "control-plane", limit=64)


def refuse_another(_: object) -> None:
    """Raises RuntimeError, with what to do instead."""
    raise RuntimeError(WAYS_ROUND)


def _no_other() -> dict[str, Any]:
    """Options of a control plane that is there: whatever would replace it must make the new one first, which a hook
    refuses, in a preview too. Hooks before a deletion would come too late: its dependents go before it.
    """
    hook = pulumi.ResourceHook("control-plane-stays", refuse_another, pulumi.ResourceHookOptions(on_dry_run=True))
    return {"delete_before_replace": False, "hooks": pulumi.ResourceHookBinding(before_create=[hook])}


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
    """`subnet_ids` lie in two zones or more. No `public_access_cidrs` means no endpoint outside the VPC; the one inside
    answers the nodes and `private_access_cidrs`, which are those of `private_access_from`.

    `profile` and `role_arn` are how the deployer reaches AWS; the kubeconfig goes the same way. `standing` says that
    the control plane is there already, so that making one is a mistake (LF18).
    With a `log_key_arn`, of a key that is not the stack's, the control plane's log stays when the stack goes.
    """

    name: str
    region: str
    partition: pulumi.Input[str]
    account_id: pulumi.Input[str]
    version: str
    subnet_ids: Sequence[pulumi.Input[str]]
    key_arn: pulumi.Input[str]
    deployer_arn: pulumi.Input[str]
    admin_arns: Sequence[str] = ()
    public_access_cidrs: Sequence[str] = ()
    private_access_cidrs: Sequence[str] = ()
    private_access_from: str | None = None
    profile: str | None = None
    role_arn: str | None = None
    standing: bool = False
    log_retention_days: int = 30
    log_key_arn: str | None = None
    protect: bool = False
    pod_groups: bool = False


class Cluster(Component):
    """An EKS cluster. `kubeconfig` resolves when the API server has let the deployer in, `authority` is the certificate
    of its authority in base64, and `services` the range of its Services.
    """

    arn: pulumi.Output[str]
    name: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    authority: pulumi.Output[str]
    services: pulumi.Output[str]
    security_group_id: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    access: aws.eks.AccessPolicyAssociation

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        role = self._create_role(args)
        rights = [self._allow("role-policy", role, CLUSTER_POLICY, args)]
        rights += [self._allow("interfaces-policy", role, INTERFACES_POLICY, args)] if args.pod_groups else []
        cluster = self._create_control_plane(args, role, [*rights, self._create_log_group(args)])
        self.arn = cluster.arn
        self.name = cluster.name
        self.endpoint = cluster.endpoint
        self.authority = cluster.certificate_authority.data.apply(str)
        self.services = cluster.kubernetes_network_config.service_ipv4_cidr.apply(str)
        self.security_group_id = cluster.vpc_config.cluster_security_group_id.apply(str)
        self._ways_in = [self._open(args, cidr) for cidr in args.private_access_cidrs]
        self.access = self._admit("deployer", args, args.deployer_arn)
        for arn in args.admin_arns:
            if arn != args.deployer_arn:
                self._admit(entry_role(arn), args, arn)
        self.kubeconfig = pulumi.Output.secret(self._kubeconfig(args, cluster))
        self.register_outputs({"name": self.name, "endpoint": self.endpoint, "kubeconfig": self.kubeconfig})

    def _create_log_group(self, args: ClusterArgs) -> aws.cloudwatch.LogGroup:
        return aws.cloudwatch.LogGroup(
            self.named("logs"),
            name=log_group_name(args.name),
            retention_in_days=args.log_retention_days,
            kms_key_id=args.log_key_arn or args.key_arn,
            tags=self.tags("logs"),
            opts=self.child(
                import_=left_behind(args.name, self), retain_on_delete=True if args.log_key_arn is not None else None
            ),
        )

    def _create_role(self, args: ClusterArgs) -> aws.iam.Role:
        return aws.iam.Role(
            self.named("role"),
            name=role_name(args.name),
            assume_role_policy=pulumi.Output.all(partition=args.partition, account_id=args.account_id).apply(
                lambda known: control_plane_trust(region=args.region, name=args.name, **known)
            ),
            tags=self.tags("role"),
            opts=self.child(),
        )

    def _allow(self, name: str, role: aws.iam.Role, policy: str, args: ClusterArgs) -> pulumi.Resource:
        return aws.iam.RolePolicyAttachment(
            self.named(name),
            role=role.name,
            policy_arn=pulumi.Output.format(policy, args.partition),
            opts=self.child(),
        )

    def _create_control_plane(
        self, args: ClusterArgs, role: aws.iam.Role, before: list[pulumi.Resource]
    ) -> aws.eks.Cluster:
        return aws.eks.Cluster(
            self.named("control-plane"),
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
            # EKS' own: the console, and whoever has another state, are refused as well.
            deletion_protection=args.protect,
            upgrade_policy=aws.eks.ClusterUpgradePolicyArgs(support_type="STANDARD"),
            tags=self.tags("control-plane"),
            opts=self.child(
                protect=args.protect,
                depends_on=before,
                custom_timeouts=pulumi.CustomTimeouts(create="30m", update="90m", delete="30m"),
                **(_no_other() if args.standing else {}),
            ),
        )

    def _open(self, args: ClusterArgs, cidr: str) -> pulumi.Resource:
        """Let a network ask the private endpoint: its interfaces carry the cluster's security group."""
        role = f"api-from-{cidr.replace('.', '-').replace('/', '-')}"
        return aws.vpc.SecurityGroupIngressRule(
            self.named(role),
            security_group_id=self.security_group_id,
            cidr_ipv4=cidr,
            ip_protocol="tcp",
            from_port=443,
            to_port=443,
            description=f"Kubernetes API from {args.private_access_from or cidr}",
            tags=self.tags(role),
            opts=self.child(),
        )

    def _admit(self, role: str, args: ClusterArgs, principal_arn: pulumi.Input[str]) -> aws.eks.AccessPolicyAssociation:
        """Make `principal_arn` an administrator of the whole cluster."""
        entry = aws.eks.AccessEntry(
            self.named(role),
            cluster_name=self.name,
            principal_arn=principal_arn,
            type="STANDARD",
            tags=self.tags(role),
            # What needs the entry needs the way as well, to the last request of a destroy.
            opts=self.child(depends_on=self._ways_in),
        )
        return aws.eks.AccessPolicyAssociation(
            self.named(f"{role}-policy"),
            cluster_name=self.name,
            principal_arn=entry.principal_arn,
            policy_arn=pulumi.Output.format(ADMIN_POLICY, args.partition),
            access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
            opts=self.child(),
        )

    def _kubeconfig(self, args: ClusterArgs, cluster: aws.eks.Cluster) -> pulumi.Output[str]:
        written = pulumi.Output.all(
            name=cluster.name, endpoint=cluster.endpoint, authority=cluster.certificate_authority.data
        ).apply(lambda known: kubeconfig(region=args.region, profile=args.profile, role_arn=args.role_arn, **known))
        return pulumi.Output.all(written, self.access.modified_at).apply(lambda known: admitted(*known))
