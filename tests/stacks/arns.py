"""ARNs that a stack writes into policies, requests and scripts, and what each leads to."""

import re
from collections.abc import Iterator
from typing import Any

from tests.graph.harness import Recorded

ARN = re.compile(r"""arn:aws[a-z-]*:[a-z0-9-]*:[^:\s"']*:(?P<account>[^:\s"']*):[^\s"'\\,]+""")


def strangers(graph: Recorded) -> set[str]:
    """ARNs that lead to nothing that the stack makes, neither to a part of it nor by a star; those that AWS owns are
    left out.
    """
    own = {str(arn) for each in graph.resources.values() for arn in (each.id, each.outputs.get("arn"))}
    found = {match for each in graph.resources.values() for text in _texts(each.inputs) for match in _arns(text)}
    return {arn for arn in found if not any(_leads(arn, to) for to in own)}


def _leads(arn: str, to: str) -> bool:
    known, stem = to.startswith("arn:"), arn.rstrip("*")
    return known and (arn == to or arn.startswith((f"{to}/", f"{to}:")) or (stem != arn and to.startswith(stem)))


def _arns(text: str) -> Iterator[str]:
    return (match.group() for match in ARN.finditer(text) if match["account"] != "aws")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
