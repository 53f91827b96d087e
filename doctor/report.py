"""Results for people, and for programs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from io import StringIO
from typing import Any

from doctor.case import Case
from doctor.results import Result, Status

_WIDTH = 118


def as_json(case: Case, results: Sequence[Result]) -> dict[str, Any]:
    """Stack, region, every result, and how many there are of each status."""
    return {
        "stack": case.stack,
        "region": case.region,
        "results": [asdict(result) for result in results],
        "counts": _counts(results),
    }


def as_table(case: Case, results: Sequence[Result]) -> str:
    """The table, worst first, and one line of counts."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=SIMPLE_HEAD, width=_WIDTH, pad_edge=False)
    for heading, width in (("check", 22), ("about", 26), ("what, and what to do", None)):
        grid.add_column(heading, width=width, overflow="fold")
    order = list(Status)
    for result in sorted(results, key=lambda result: order.index(result.status)):
        advice = f"; {result.remedy}" if result.remedy else ""
        grid.add_row(f"{result.status} {result.check}", result.subject, result.sentence + advice)
    text = StringIO()
    Console(file=text, width=_WIDTH, markup=False, highlight=False, color_system=None).print(grid)
    lines = [line.rstrip() for line in text.getvalue().splitlines() if line.strip()]
    counted = ", ".join(f"{count} {status}" for status, count in _counts(results).items())
    return "\n".join([*lines, f"{case.stack} in {case.region}: {counted}"])


def _counts(results: Sequence[Result]) -> dict[str, int]:
    found = Counter(result.status for result in results)
    return {str(status): found[status] for status in Status}
