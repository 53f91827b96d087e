"""The role of nodes: what EKS asks of it, and no right beyond. The network plugin has a role of its own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components._base import Component
from components.aws.cluster import trust_policy

NODE_POLICIES = {
    "worker": "AmazonEKSWorkerNodePolicy",
    "registry": "AmazonEC2ContainerRegistryPullOnly",
}
SESSION_POLICY = "AmazonSSMManagedInstanceCore"
"""Lets the SSM agent, which the EKS AMIs carry, register the node for Session Manager."""


@dataclass(frozen=True, kw_only=True)
class NodeRoleArgs:
    """With `session_manager` people may open shells on nodes, as far as IAM lets them. `cached` are ARNs of
    repositories that ECR makes when a node first pulls an image through its cache, `fetched` folders of buckets,
    BUCKET/FOLDER, whose files nodes read at their first boot, `login` the secret by which they sign in to a mirror.
    `purpose` is the end of its name.
    """

    partition: pulumi.Input[str]
    session_manager: bool
    cached: Sequence[pulumi.Input[str]] = ()
    fetched: Sequence[str] = ()
    login: str | None = None
    purpose: str = "nodes"


class NodeRole(Component):
    """The role of nodes. `arn` resolves when its policies are attached, `name` before."""

    arn: pulumi.Output[str]
    name: pulumi.Output[str]

    def __init__(self, name: str, args: NodeRoleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        role = aws.iam.Role(
            self.named("role"),
            name=self.physical(args.purpose, limit=64),
            assume_role_policy=trust_policy("ec2.amazonaws.com"),
            tags=self.tags("role"),
            opts=self.child(),
        )
        policies = NODE_POLICIES | ({"session": SESSION_POLICY} if args.session_manager else {})
        attached = [
            aws.iam.RolePolicyAttachment(
                self.named(f"policy-{purpose}"),
                role=role.name,
                policy_arn=pulumi.Output.format("arn:{0}:iam::aws:policy/{1}", args.partition, policy),
                opts=self.child(),
            ).id
            for purpose, policy in sorted(policies.items())
        ]
        if args.cached:
            attached.append(
                aws.iam.RolePolicy(
                    self.named("cache"),
                    aws.iam.RolePolicyArgs(role=role.name, policy=pulumi.Output.all(*args.cached).apply(_may_cache)),
                    self.child(),
                ).id
            )
        if args.fetched:
            attached.append(
                aws.iam.RolePolicy(
                    self.named("fetched"),
                    role=role.name,
                    policy=pulumi.Output.from_input(args.partition).apply(
                        lambda partition: _may_fetch(partition, args.fetched)
                    ),
                    opts=self.child(),
                ).id
            )
        if args.login:
            may = {"Effect": "Allow", "Action": ["secretsmanager:GetSecretValue"], "Resource": [args.login]}
            attached.append(
                aws.iam.RolePolicy(
                    self.named("login"),
                    role=role.name,
                    policy=json.dumps({"Version": "2012-10-17", "Statement": [may]}),
                    opts=self.child(),
                ).id
            )
        self.name = role.name
        self.arn = pulumi.Output.all(role.arn, *attached).apply(lambda known: str(known[0]))
        self.register_outputs({"arn": self.arn})


def _may_cache(repositories: Sequence[str]) -> str:
    """Rights to fetch an image through the cache and to make the repository that it gets.

    Source: ECR user guide, IAM permissions required to sync an upstream registry with an Amazon ECR private registry.
    """
    actions = ["ecr:BatchImportUpstreamImage", "ecr:CreateRepository"]
    statement = {"Effect": "Allow", "Action": actions, "Resource": sorted(repositories)}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _may_fetch(partition: str, folders: Sequence[str]) -> str:
    resources = [f"arn:{partition}:s3:::{each}/*" for each in sorted(folders)]
    statement = {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": resources}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
