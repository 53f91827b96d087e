"""Which AWS identity a process in a pod has, and what it may do.

The order in which an SDK looks for credentials: botocore, credentials.py, `create_credential_resolver` (environment,
then what files name, then container, then instance), which AWS CLI user guide, "Configuration settings and precedence",
says in words. No image that is played has files of credentials.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from rehearsal.cloud.seen import iam
from rehearsal.cloud.seen.aws import Association, role_name
from rehearsal.kubelet.program import Launch

AGENT = "eks-pod-identity-agent"
SERVICE = "pods.eks.amazonaws.com"
SETTLING = timedelta(seconds=3)
"""The time an association takes to be effective; AWS says "several seconds"."""


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


@dataclass(frozen=True)
class Key:
    """An access key that lies in a process' environment."""

    id: str
    secret: str = field(repr=False)


def key(launch: Launch) -> Key | None:
    """The key in the environment, where SDKs look first; None if they look further.

    Source: botocore, credentials.py, `EnvProvider` (an empty id is none; an id without a secret is an error). Raises
    CredentialsError.
    """
    found, secret = launch.env.get("AWS_ACCESS_KEY_ID"), launch.env.get("AWS_SECRET_ACCESS_KEY")
    if not found:
        return None
    if not secret:
        raise CredentialsError("Partial credentials found in env, missing: AWS_SECRET_ACCESS_KEY")
    return Key(found, secret)


def of(launch: Launch) -> Identity:
    """The role that AWS takes the process for, if it has one.

    A key in its environment goes first, and AWS has none that pods know: users of IAM are people. Then comes pod
    identity if the service account has an association, else the node's role where pods reach its metadata.

    Source: EKS user guide, "Learn how EKS Pod Identity grants pods access" (agent on the node, trust for
    pods.eks.amazonaws.com with sts:AssumeRole and sts:TagSession), "Grant Pods access to AWS resources based on tags"
    (the session's tags, which a trust policy may ask for) and "Restrict access to the instance profile" (a hop
    limit of 1 keeps pods away from it). Raises CredentialsError.
    """
    world = launch.world
    if key(launch) is not None:
        raise CredentialsError("InvalidAccessKeyId: The AWS Access Key Id you provided does not exist in our records.")
    found = world.aws.pod_identity(world.cluster, launch.namespace, launch.service_account)
    if found is None or not injected(launch.pod, found):
        return _of_node(launch)
    arn = found.role
    if not any(True for _ in world.running(launch.node, AGENT)):
        raise CredentialsError(
            "Error when retrieving credentials from container-role: Error retrieving metadata: connection to "
            "169.254.170.23 refused (no eks-pod-identity-agent on this node)"
        )
    trust = world.aws.iam.get_role(RoleName=role_name(arn))["Role"]["AssumeRolePolicyDocument"]
    tags = {"kubernetes-namespace": launch.namespace, "kubernetes-service-account": launch.service_account}
    context = {f"aws:RequestTag/{key}": value for key, value in (tags | {"eks-cluster-name": world.cluster}).items()}
    if not iam.trusts(iam.document(trust), SERVICE, ("sts:AssumeRole", "sts:TagSession"), context):
        raise CredentialsError(f"AccessDeniedException: {role_name(arn)} does not trust {SERVICE} to assume it")
    return Identity(arn)


def injected(pod: Mapping[str, Any], association: Association) -> bool:
    """Whether the pod came late enough to be given the association's variables.

    EKS writes them when the pod is made, and associations are eventually consistent: effective some seconds after the
    call that made them has answered (EKS API reference, CreatePodIdentityAssociation). A pod that came before never
    gets them, however often its containers restart; the next pod does.
    """
    made = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
    return made >= association.made + SETTLING


def _of_node(launch: Launch) -> Identity:
    host = launch.world.hosts.get(launch.node)
    direct = bool(launch.pod["spec"].get("hostNetwork"))
    # A machine of a site's own has no role, and no metadata that would give it.
    if host is None or not host.role or (host.hop_limit < 2 and not direct):
        raise CredentialsError('Unable to locate credentials. You can configure credentials by running "aws login".')
    return Identity(host.role)


def refusal(
    launch: Launch, identity: Identity, action: str, resource: str, context: iam.Context | None = None
) -> str | None:
    """Which kind of policy keeps the identity from the action on the resource, in AWS' words; None if it may.

    `context` are the condition keys of the request itself, such as the prefix of a listing.
    """
    aws = launch.world.aws
    documents = aws.role_policies(role_name(identity.arn))
    if action.startswith("kms:"):
        policy = aws.key(resource)["policy"]
        found = iam.decide_key(action, resource, documents, iam.document(policy or {}), identity.arn)
        return {"allowed": None, "denied": "resource-based"}.get(found, "identity-based")
    bucket = _bucket(resource)
    owned = {"s3:ResourceAccount": owner} if bucket and (owner := aws.bucket_owner(bucket)) else {}
    held = _policy(launch, bucket) if bucket else None
    found = iam.decide(action, resource, documents, held, identity.arn, {**owned, **(context or {})})
    return None if found == "allowed" else "identity-based"


def _bucket(resource: str) -> str | None:
    found = re.match(r"arn:aws[\w-]*:s3:::([^/]+)", resource)
    return found[1] if found else None


def _policy(launch: Launch, bucket: str) -> iam.Policy | None:
    try:
        return iam.document(launch.world.aws.s3.get_bucket_policy(Bucket=bucket)["Policy"])
    except ClientError:
        return None
