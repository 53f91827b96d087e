"""IAM and STS: who is calling, and what a role's trust policy allows.

Sources: IAM user guide, "IAM JSON policy elements: Principal"; STS API reference, GetCallerIdentity.
"""

import json
from fnmatch import fnmatchcase
from typing import Any

from moto.core.responses import ActionResult
from moto.iam.exceptions import DeleteConflictException, MalformedPolicyDocument
from moto.iam.models import IAMBackend
from moto.iam.policy_validation import IAMTrustPolicyDocumentValidator
from moto.iam.responses import IamResponse
from moto.sts.models import STSBackend, sts_backends

from rehearsal.cloud.account import ACCOUNT, DEPLOYER_ROLE, DEPLOYER_SESSION, PARTITION, iam
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.seen import iam as iam_policies

AMENDMENTS = Amendments()

_TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Action": "sts:AssumeRole"}
    ],
}


def deployer() -> Any:
    """The role behind every access key that IAM does not know; it belongs to the account, not to a stack."""
    for role in iam().roles.values():
        if role.name == DEPLOYER_ROLE:
            return role
    return iam().create_role(
        role_name=DEPLOYER_ROLE,
        assume_role_policy_document=json.dumps(_TRUST),
        path="/",
        permissions_boundary=None,
        description="Whoever runs the rehearsal",
        tags=[],
        max_session_duration="3600",
    )


@AMENDMENTS.around(IamResponse, "list_instance_profiles")
def list_instance_profiles(_original: Any, self: Any) -> ActionResult:
    """The profiles below a path: moto gives all, and Karpenter would remove others than its own."""
    prefix = str(self._get_param("PathPrefix") or "/")
    found = [each for each in self.backend.get_instance_profiles() if each.path.startswith(prefix)]
    return ActionResult({"InstanceProfiles": found, "IsTruncated": False})


def caller_role_arn() -> str:
    """The ARN of the deployer's role, as access entries name it."""
    return str(deployer().arn)


def role_by_arn(arn: str) -> Any | None:
    """The role of that ARN, or None."""
    return next((role for role in iam().roles.values() if role.arn == arn), None)


def principal_exists(arn: str) -> bool:
    """Whether an IAM role or user of that ARN exists, as far as this account can know."""
    users = (user.arn for user in iam().users.values())
    return role_by_arn(arn) is not None or arn in users or arn in _people()


def set_people(arns: list[str]) -> list[str]:
    """Roles and users that were in the account, or in another one, before any stack: people, whom no stack makes."""
    _people().update(arns)
    return sorted(_people())


def _people() -> set[str]:
    """Kept on moto's backend, so that a reset clears them."""
    found: set[str] = iam().__dict__.setdefault("people", set())
    return found


def session(key: str) -> Any | None:
    """The role's session that an access key was lent to; None for a user's or the deployer's own."""
    return sts_backends[ACCOUNT][PARTITION].get_assumed_role_from_access_key(key)


def policies(role_arn: str) -> list[iam_policies.Policy]:
    """The documents of a role's inline and attached policies; none where there is no such role."""
    role = role_by_arn(role_arn)
    versions = [each for policy in role.managed_policies.values() for each in policy.versions] if role else []
    texts = [*role.policies.values(), *(each.document for each in versions if each.is_default)] if role else []
    return [iam_policies.document(each) for each in texts]


def trusts(role: Any, service: str, *actions: str) -> bool:
    """Whether the role's trust policy lets an AWS service (``eks.amazonaws.com``) perform all these actions."""
    document = role.assume_role_policy_document
    policy = json.loads(document) if isinstance(document, str) else document
    return all(_allows(policy, service, action) for action in actions)


def _allows(policy: dict[str, Any], service: str, action: str) -> bool:
    for statement in _listed(policy.get("Statement")):
        principal = statement.get("Principal")
        services = _listed(principal.get("Service")) if isinstance(principal, dict) else []
        matches = any(fnmatchcase(action, pattern) for pattern in _listed(statement.get("Action")))
        if statement.get("Effect") == "Allow" and service in services and matches:
            return True
    return False


def policy_allows_service(document: str, service: str) -> bool:
    """Whether a resource policy has an Allow statement for that AWS service or for everybody."""
    for statement in _listed(json.loads(document).get("Statement")):
        principal = statement.get("Principal")
        named = _listed(principal.get("Service")) if isinstance(principal, dict) else _listed(principal)
        if statement.get("Effect") == "Allow" and (service in named or "*" in named):
            return True
    return False


def policy_may_be_changed(document: str) -> bool:
    """Whether a key's policy allows kms:PutKeyPolicy to somebody who is no service."""
    for statement in _listed(json.loads(document).get("Statement")):
        principal = statement.get("Principal")
        named = _listed(principal.get("AWS")) if isinstance(principal, dict) else _listed(principal)
        actions = [str(each).lower() for each in _listed(statement.get("Action"))]
        if (
            statement.get("Effect") == "Allow"
            and named
            and any(fnmatchcase("kms:putkeypolicy", each) for each in actions)
        ):
            return True
    return False


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


@AMENDMENTS.around(STSBackend, "get_caller_identity")
def get_caller_identity(original: Any, self: Any, access_key_id: str, region: str) -> tuple[str, str, str]:
    """A key IAM does not know is a session of the deployer's role; moto answers with a user ARN that cannot exist."""
    identity: tuple[str, str, str] = original(self, access_key_id, region)
    if identity[1].endswith(":user/moto"):
        role = deployer()
        arn = f"arn:aws:sts::{ACCOUNT}:assumed-role/{role.name}/{DEPLOYER_SESSION}"
        return f"{role.id}:{DEPLOYER_SESSION}", arn, ACCOUNT
    return identity


@AMENDMENTS.around(IAMBackend, "_init_aws_policies")
def init_aws_policies(original: Any, self: Any) -> Any:
    """AWS's own policies, in the account's partition: moto looks for keys in all six and would parse them for each."""
    return original(self) if self.partition == PARTITION else []


@AMENDMENTS.around(IAMBackend, "create_role")
def create_role(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """CreateRole refuses a malformed trust policy (MalformedPolicyDocument); moto checks it on update only."""
    document = kwargs.get("assume_role_policy_document") or (args[1] if len(args) > 1 else "")
    try:
        json.loads(document)
    except (TypeError, ValueError) as error:
        raise MalformedPolicyDocument("This policy contains invalid Json") from error
    IAMTrustPolicyDocumentValidator(document).validate()
    return original(self, *args, **kwargs)


@AMENDMENTS.around(IAMBackend, "delete_policy")
def delete_policy(original: Any, self: Any, policy_arn: str) -> None:
    """DeletePolicy refuses a policy that is attached (DeleteConflict)."""
    if self.get_policy(policy_arn).attachment_count:
        raise DeleteConflictException("Cannot delete a policy attached to entities.")
    original(self, policy_arn)
