"""What a query reads: the names of its selectors and the numbers it holds."""

from collections.abc import Iterator
from typing import Any

import promql_parser


def nodes(query: str) -> Iterator[Any]:
    """Every node of the parsed query. Raises ValueError where it does not parse."""
    found: list[Any] = []
    promql_parser.walk(promql_parser.parse(query), found.append)
    yield from found


def selectors(query: str) -> Iterator[promql_parser.VectorSelector]:
    """The series it selects, in ranges too."""
    for node in nodes(query):
        if isinstance(node, promql_parser.VectorSelector):
            yield node
        elif isinstance(node, promql_parser.MatrixSelector):
            yield node.vector_selector


def metrics(query: str) -> set[str]:
    """The metrics that it names; a selector by labels alone names none."""
    return {selector.name for selector in selectors(query) if selector.name}


def numbers(query: str) -> set[float]:
    """The numbers in it, durations left out."""
    return {node.val for node in nodes(query) if isinstance(node, promql_parser.NumberLiteral)}
