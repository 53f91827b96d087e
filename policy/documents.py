"""IAM policy documents: who may assume a role, and what its documents allow."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from policy.graph import UNKNOWN, Graph, Resource
from policy.references import behind

ROLE = "aws:iam/role:Role"
MANAGED = {
    "AmazonS3FullAccess": ("s3:*",),
    "AmazonS3ReadOnlyAccess": ("s3:Get*", "s3:List*"),
    "AdministratorAccess": ("*",),
}
"""What a few policies of AWS allow, on every resource."""

Statement = Mapping[str, Any]


def as_list(value: Any) -> list[Any]:
    """A list of what a document gives alone or as a list."""
    return value if isinstance(value, list) else [] if value is None else [value]


def statements(document: Any) -> list[Statement]:
    """Statements of a document. Raises ValueError if it is not JSON, as IAM does."""
    content = json.loads(document) if isinstance(document, str) else document or {}
    return [each for each in as_list(content.get("Statement")) if isinstance(each, dict)]


def trusted(role: Resource) -> dict[str, set[str]] | None:
    """Actions by the service that may take them on a role; None where nobody can tell yet."""
    document = role.inputs.get("assumeRolePolicy")
    if document == UNKNOWN:
        return None
    found: dict[str, set[str]] = {}
    for each in statements(document):
        principal = each.get("Principal")
        if each.get("Effect") == "Allow" and isinstance(principal, dict):
            for service in as_list(principal.get("Service")):
                found.setdefault(service, set()).update(as_list(each.get("Action")))
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Rights:
    """What a role's documents say. `partly` where one of them is not known, or not of this program."""

    statements: tuple[Statement, ...]
    policies: frozenset[str]
    partly: bool

    def allow(self, action: str, resource: str, prefix: str | None = None) -> bool:
        """Whether an action is allowed on an ARN; of `s3:ListBucket` also whether below the prefix."""
        by_name = any(fnmatchcase(action, each) for name in self.policies for each in MANAGED.get(name, ()))
        return by_name or any(
            each.get("Effect") == "Allow"
            and any(fnmatchcase(action.lower(), str(one).lower()) for one in as_list(each.get("Action")))
            and any(fnmatchcase(resource, str(one)) for one in as_list(each.get("Resource")))
            and (prefix is None or _prefix_let(each, prefix))
            for each in self.statements
        )


def _prefix_let(statement: Statement, prefix: str) -> bool:
    for test in (statement.get("Condition") or {}).values():
        if "s3:prefix" in test:
            return any(
                fnmatchcase(one, str(each)) for each in as_list(test["s3:prefix"]) for one in (prefix, f"{prefix}/")
            )
    return True


def rights(graph: Graph, role: Resource) -> Rights:
    """What the documents of a role allow: its own, those beside it and those of AWS that are attached."""
    own = [each.get("policy") for each in role.inputs.get("inlinePolicies") or []]
    own += [
        each.inputs.get("policy")
        for each in graph.of_type("aws:iam/rolePolicy:RolePolicy")
        if _is_of(graph, each, role)
    ]
    arns = list(attached(graph, role))
    texts = [*own, *(text for arn in arns for text in _written_here(graph, arn))]
    return Rights(
        statements=tuple(one for text in texts if text != UNKNOWN for one in statements(text)),
        policies=frozenset(str(arn).rsplit("/", 1)[-1] for arn in arns),
        partly=UNKNOWN in texts or UNKNOWN in arns,
    )


def attached(graph: Graph, role: Resource) -> Iterator[str]:
    """ARNs of the policies that are attached to a role."""
    yield from role.inputs.get("managedPolicyArns") or []
    for each in attachments(graph, role):
        yield each.inputs.get("policyArn") or ""


def attachments(graph: Graph, role: Resource) -> list[Resource]:
    """The resources that attach a policy to a role."""
    kind = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
    return [each for each in graph.of_type(kind) if _is_of(graph, each, role)]


def _is_of(graph: Graph, each: Resource, role: Resource) -> bool:
    return role in behind(graph, each, "role", each.inputs.get("role"), ROLE)


def _written_here(graph: Graph, arn: str) -> list[Any]:
    policies = graph.of_type("aws:iam/policy:Policy")
    return [each.inputs.get("policy") for each in policies if arn == each.id or arn == each.outputs.get("arn")]
