"""A small evaluation of IAM identity and resource policies: enough to say no where AWS would.

Source: IAM user guide, "Policy evaluation logic" (an explicit deny wins, then an allow, else refused) within one
account. Conditions are evaluated as far as the request's `context` is given; on other keys an allow with a condition
counts as an allow, and a deny with one does not. A key with the value None is one that AWS knows and the request does
not have, upon which a condition fails (the guide, "IAM JSON policy elements: Condition operators").
"""

import fnmatch
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

Policy = Mapping[str, Any]
Decision = Literal["allowed", "denied", "not allowed"]
Context = Mapping[str, str | None]
_TEXTS = frozenset({"StringEquals", "StringLike"})


def document(policy: str | Policy) -> Policy:
    """A policy document that may still be JSON text. Raises ValueError if it is not valid JSON."""
    loaded: Policy = json.loads(policy) if isinstance(policy, str) else policy
    return loaded


def decide(
    action: str,
    resource: str,
    identity: Iterable[Policy],
    resource_policy: Policy | None = None,
    principal: str = "",
    context: Context | None = None,
) -> Decision:
    """Whether a principal with these identity policies may do `action` ("s3:GetObject") on `resource` (an ARN).

    `context` are condition keys with their values in this request.
    """
    told = context or {}
    own = [each for policy in identity for each in _statements(policy)]
    others = [each for each in _statements(resource_policy or {}) if _names(each.get("Principal"), principal)]
    hit = [each for each in (*own, *others) if _covers(each, action, resource) and _holds(each, told)]
    if any(each.get("Effect") == "Deny" and _judged(each, told) for each in hit):
        return "denied"
    return "allowed" if any(each.get("Effect") == "Allow" for each in hit) else "not allowed"


def decide_key(action: str, key_arn: str, identity: Iterable[Policy], key_policy: Policy, principal: str) -> Decision:
    """Whether a principal may use a KMS key: its policy names the principal, or leaves it to the IAM of an account.

    Source: KMS developer guide, "Key policies in AWS KMS" (IAM policies count only where the key's policy names the
    account) and "Allowing users in other accounts to use a KMS key" (which takes both).
    """
    own = key_arn.split(":")[4] == principal.split(":")[4]
    granting = [
        statement
        for statement in _statements(key_policy)
        if statement.get("Effect") == "Allow" and _covers(statement, action, key_arn)
    ]
    if not any(_names(statement.get("Principal"), principal) for statement in granting):
        return "denied"
    direct = any(principal in _list((statement.get("Principal") or {}).get("AWS")) for statement in granting)
    return "allowed" if direct and own else decide(action, key_arn, identity)


def _holds(statement: Mapping[str, Any], context: Context) -> bool:
    """Whether the conditions hold that can be judged."""
    return all(
        (value := context[key]) is not None and _any_match(wanted, value, case=True)
        for operator, key, wanted in _conditions(statement)
        if operator in _TEXTS and key in context
    )


def _judged(statement: Mapping[str, Any], context: Context) -> bool:
    """Whether all its conditions can be."""
    return all(operator in _TEXTS and key in context for operator, key, _ in _conditions(statement))


def _conditions(statement: Mapping[str, Any]) -> Iterable[tuple[str, str, Any]]:
    for operator, pairs in (statement.get("Condition") or {}).items():
        yield from ((operator, key, wanted) for key, wanted in pairs.items())


def trusts(trust_policy: Policy, service: str, actions: Iterable[str], context: Context | None = None) -> bool:
    """Whether a role lets a service assume it with all these actions; `context` as in `decide`."""
    return all(
        any(
            statement.get("Effect") == "Allow"
            and _any_match(statement.get("Action"), action)
            and service in _list((statement.get("Principal") or {}).get("Service"))
            and _holds(statement, context or {})
            for statement in _statements(trust_policy)
            if isinstance(statement.get("Principal"), Mapping)
        )
        for action in actions
    )


def _statements(policy: Policy) -> list[Mapping[str, Any]]:
    return _list(policy.get("Statement"))


def _covers(statement: Mapping[str, Any], action: str, resource: str) -> bool:
    if "NotAction" in statement:
        hit = not _any_match(statement["NotAction"], action)
    else:
        hit = _any_match(statement.get("Action"), action)
    if "NotResource" in statement:
        return hit and not _any_match(statement["NotResource"], resource, case=True)
    return hit and _any_match(statement.get("Resource", "*"), resource, case=True)


def _any_match(patterns: Any, value: str, case: bool = False) -> bool:
    """IAM's `*` and `?`; actions ignore case, resources do not."""
    fold = str if case else str.lower
    return any(fnmatch.fnmatchcase(fold(value), fold(str(each)).replace("[", "[[]")) for each in _list(patterns))


def _names(principals: Any, principal: str) -> bool:
    if principals == "*":
        return True
    listed = _list((principals or {}).get("AWS")) if isinstance(principals, Mapping) else []
    account_root = ":".join(principal.split(":")[:5]) + ":root"
    return any(each in ("*", principal, account_root) for each in listed)


def _list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list) else [value]
