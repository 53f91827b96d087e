"""Which simulated role stands for each role that a stack makes, and whether it may nothing that is not tried there."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from policy.graph import Graph
from tests.graph.iam import listed
from tests.graph.test_roles import RUN, TABLE, documents
from tests.graph.test_roles_by_setting import ROLES

READER = "dataset-web-text-identity"
WRITERS = (
    "run-.+",
    "follow-up-.+",
    "gate-.+-history",
    "(katib|mlflow|pipelines)-backup",
    "mlflow",
    "ml-pipeline",
    "ml-pipeline-ui",
    "pipeline-runner",
    r"team-pipelines-[\w-]+?-(ml-pipeline|ml-pipeline-ui|pipeline-runner|backup)",
)
STANDS: Mapping[str, str] = {
    **{f"{name}-identity": RUN for name in WRITERS},
    "(adapter|dataset|models|weights)-.+-identity": READER,
    "pod-logs-identity": "pod-logs-identity",
    "flow-logs": "flow-logs",
    "keeper-role": "keeper-role",
    "keeper-caller": "keeper-caller",
    "karpenter-account-identity": "karpenter",
    "certificates-identity": "certificates",
    "secrets-identity": "secrets",
    "signatures-identity": "signatures",
    "file-system-rates-identity": "rates",
    "(karpenter-)?nodes": "nodes",
}
"""By the name of a role behind its cluster's: the row of test_roles.py or test_roles_by_setting.py.

Those that one function writes, for another bucket or prefix, have one row.
"""

Shape = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def unsimulated(graph: Graph, stack: str) -> list[str]:
    """What nobody tries, in a sentence with the role's name: roles without a row, rights that its row has not."""
    found = []
    for role, statements in _roles(graph):
        name = role.removeprefix(f"gpucluster-{stack}-")
        row = next((row for pattern, row in STANDS.items() if re.fullmatch(pattern, name)), None)
        if row is None:
            found.append(f"the role {name} is simulated by no row of tests/graph/test_roles*.py")
            continue
        found += [f"the role {name} may {shape}, which the row {row} has not" for shape in _beyond(statements, row)]
    return found


def _beyond(statements: list[Any], row: str) -> list[str]:
    return [
        f"{', '.join(shape[1])} on {', '.join(shape[2])} if {', '.join(shape[3]) or 'anything'}"
        for shape in sorted({_shape(each) for each in statements} - _tried()[row])
    ]


def _roles(graph: Graph) -> Iterator[tuple[str, list[Any]]]:
    for each in graph.resources.values():
        if each.token == "aws:iam/rolePolicy:RolePolicy":
            given = each.inputs["policy"]
            document = json.loads(given) if isinstance(given, str) else given
            yield str(each.inputs["role"]), listed(document["Statement"])


@cache
def _tried() -> Mapping[str, frozenset[Shape]]:
    """The statements that each row simulates."""
    own = {row[1]: [each for one in documents(row[0], row[1]) for each in listed(one["Statement"])] for row in TABLE}
    asked = {name: list(statements) for name, (statements, _, _) in ROLES.items()}
    return {name: frozenset(map(_shape, statements)) for name, statements in {**own, **asked}.items()}


def _shape(statement: Mapping[str, Any]) -> Shape:
    """Effect, actions, forms of resources and of conditions: names are left out, and how deep a prefix is."""
    conditions = sorted(
        {f"{operator} {_key(key)}" for operator, keys in statement.get("Condition", {}).items() for key in keys}
    )
    resources = sorted({_form(each) for each in listed(statement["Resource"])})
    return statement["Effect"], tuple(sorted(listed(statement["Action"]))), tuple(resources), tuple(conditions)


def _key(key: str) -> str:
    """A condition's key without the cluster's name in a tag's."""
    return re.sub(r"(kubernetes\.io/cluster/).+", r"\1x", key)


def _form(resource: str) -> str:
    """`arn:x:s3:::x/x/*`: an ARN with its service and its wildcards alone.

    Recorded graphs have a `queue/` in those of SQS, which AWS has not (tests/graph/outputs.py).
    """
    service = re.match(r"arn:[^:]*:([^:]*):", resource)
    plain = re.sub(r"[^:/*?]+", "x", resource.replace(":queue/", ":"))
    return f"{service[1] if service else ''} {re.sub(r'(/x)+', '/x', plain)}"
