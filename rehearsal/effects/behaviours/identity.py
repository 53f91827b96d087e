"""Which AWS identity a process in a pod has, and what it may do."""

from __future__ import annotations

import re
from dataclasses import dataclass

from botocore.exceptions import ClientError

from rehearsal.effects import iam
from rehearsal.effects.aws import role_name
from rehearsal.effects.program import Launch

AGENT = "eks-pod-identity-agent"
SERVICE = "pods.eks.amazonaws.com"


class CredentialsError(Exception):
    """The SDK finds no credentials: its own sentence."""


@dataclass(frozen=True)
class Identity:
    """An assumed role. `arn` is the role's."""

    arn: str

    def session(self) -> str:
        """The ARN that AWS's error messages show."""
        account = self.arn.split(":")[4]
        return f"arn:aws:sts::{account}:assumed-role/{role_name(self.arn)}/eks"


def of(launch: Launch) -> Identity:
    """Pod identity if the service account has an association, else the node's role where pods reach its metadata.

    Source: EKS user guide, "Learn how EKS Pod Identity grants pods access" (agent on the node, trust for
    pods.eks.amazonaws.com with sts:AssumeRole and sts:TagSession) and "Restrict access to the instance profile" (a hop
    limit of 1 keeps pods away from it). Raises CredentialsError.
    """
    world = launch.world
    arn = world.aws.pod_identity(world.cluster, launch.namespace, launch.service_account)
    if arn is None:
        return _of_node(launch)
    if not any(True for _ in world.running(launch.node, AGENT)):
        raise CredentialsError(
            "Error when retrieving credentials from container-role: Error retrieving metadata: connection to "
            "169.254.170.23 refused (no eks-pod-identity-agent on this node)"
        )
    trust = world.aws.iam.get_role(RoleName=role_name(arn))["Role"]["AssumeRolePolicyDocument"]
    if not iam.trusts(iam.document(trust), SERVICE, ("sts:AssumeRole", "sts:TagSession")):
        raise CredentialsError(f"AccessDeniedException: {role_name(arn)} does not trust {SERVICE} to assume it")
    return Identity(arn)


def _of_node(launch: Launch) -> Identity:
    host = launch.world.hosts.get(launch.node)
    direct = bool(launch.pod["spec"].get("hostNetwork"))
    if host is None or (host.hop_limit < 2 and not direct):
        raise CredentialsError('Unable to locate credentials. You can configure credentials by running "aws login".')
    return Identity(host.role)


def may(launch: Launch, identity: Identity, action: str, resource: str) -> bool:
    """Whether IAM and the bucket's policy let the identity do the action on the resource."""
    policy = _bucket_policy(launch, resource)
    documents = launch.world.aws.role_policies(role_name(identity.arn))
    return iam.decide(action, resource, documents, policy, identity.arn) == "allowed"


def _bucket_policy(launch: Launch, resource: str) -> iam.Policy | None:
    found = re.match(r"arn:aws[\w-]*:s3:::([^/]+)", resource)
    if found is None:
        return None
    try:
        return iam.document(launch.world.aws.s3.get_bucket_policy(Bucket=found[1])["Policy"])
    except ClientError:
        return None
