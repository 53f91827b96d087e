"""What IAM decides of a request by an identity's policies, with conditions taken strictly.

Sources: IAM user guide, "Policy evaluation logic" (an explicit deny wins, then an allow, else refused) and "IAM JSON
policy elements: Condition operators" (a key that the request does not have fails every operator but the negated ones
and those that end in IfExists). Operators that the program's documents do not use raise: nobody relies on a guess.
"""

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Request:
    """One call: `s3:GetObject` on an ARN, with the condition keys that AWS sees in it; commas part several values."""

    action: str
    resource: str = "*"
    context: Mapping[str, str] = field(default_factory=dict)


def allowed(request: Request, documents: Iterable[Mapping[str, Any]]) -> bool:
    """Whether an identity with these policies may make the request."""
    hit = [each for document in documents for each in listed(document["Statement"]) if _covers(each, request)]
    return bool(hit) and all(each["Effect"] == "Allow" for each in hit)


def listed(value: Any) -> list[Any]:
    """A value that a document may write as one or as a list of them."""
    return value if isinstance(value, list) else [value]


def _covers(statement: Mapping[str, Any], request: Request) -> bool:
    if {"NotAction", "NotResource", "Principal"} & set(statement):
        raise ValueError(f"this evaluator cannot judge what {statement} covers: extend it")
    action = any(_like(each.lower(), request.action.lower()) for each in listed(statement["Action"]))
    resource = any(_like(each, request.resource) for each in listed(statement["Resource"]))
    return action and resource and _holds(statement.get("Condition") or {}, request.context)


def _holds(condition: Mapping[str, Any], context: Mapping[str, str]) -> bool:
    asked = ((operator, key, wanted) for operator, pairs in condition.items() for key, wanted in pairs.items())
    return all(_one(operator, context.get(key), listed(wanted)) for operator, key, wanted in asked)


def _one(operator: str, found: str | None, wanted: list[str]) -> bool:
    if operator == "StringEquals":
        return found in wanted
    if operator == "StringEqualsIfExists":
        return found is None or found in wanted
    if operator == "ForAllValues:StringEquals":  # holds, too, where the request has no such key
        return found is None or {*found.split(",")} <= {*wanted}
    if operator == "StringNotEquals":
        return found not in wanted
    if operator == "StringLike":
        return found is not None and any(_like(each, found) for each in wanted)
    if operator == "Null":
        return (found is None) is (wanted == ["true"])
    raise ValueError(f"this evaluator does not know the operator {operator}: extend it")


def _like(pattern: str, value: str) -> bool:
    """`*` and `?`, and no other wildcards."""
    return re.fullmatch(fnmatch.translate(pattern.replace("[", "[[]")), value) is not None
