"""Results as text and as JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from io import StringIO
from typing import Any

from doctor.case import Case
from doctor.examination import nothing_answered
from doctor.results import Result, Status

_WIDTH = 118


def as_json(case: Case, results: Sequence[Result]) -> dict[str, Any]:
    """Stack, region, every result, and how many there are of each status."""
    return {"stack": case.stack, "region": case.region} | listed(results)


def listed(results: Sequence[Result]) -> dict[str, Any]:
    """Results and counts for programs."""
    return {"results": [asdict(result) for result in results], "counts": _counts(results)}


def as_table(case: Case, results: Sequence[Result]) -> str:
    """The table, and a sentence more where the account answered nothing."""
    text = table(f"{case.stack} in {case.region}", results)
    if nothing_answered(results):
        text += "\nnothing was checked: the account answered no request"
    return text


def table(about: str, results: Sequence[Result]) -> str:
    """The table, worst first, and one line of counts. What could not be asked for one reason is one row."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=SIMPLE_HEAD, width=_WIDTH, pad_edge=False)
    for heading, width in (("check", 22), ("about", 26), ("what, and what to do", None)):
        grid.add_column(heading, width=width, overflow="fold")
    order = list(Status)
    for name, subject, said in _rows(sorted(results, key=lambda result: order.index(result.status))):
        grid.add_row(name, subject, said)
    text = StringIO()
    Console(file=text, width=_WIDTH, markup=False, highlight=False, color_system=None).print(grid)
    lines = [line.rstrip() for line in text.getvalue().splitlines() if line.strip()]
    counted = ", ".join(f"{count} {status}" for status, count in _counts(results).items())
    return "\n".join([*lines, f"{about}: {counted}"])


def _rows(results: Sequence[Result]) -> Iterator[tuple[str, str, str]]:
    """Check, subject and text of each row: results that are unknown and have one remedy share theirs."""
    groups: dict[tuple[Status, str], list[Result]] = {}
    for number, each in enumerate(results):
        alike = each.remedy if each.status is Status.UNKNOWN and each.remedy else str(number)
        groups.setdefault((each.status, alike), []).append(each)
    for (status, _), group in groups.items():
        first = group[0]
        advice = f"; {first.remedy}" if first.remedy else ""
        if len(group) == 1:
            yield f"{status} {first.check}", first.subject, first.sentence + advice
            continue
        checks = list(dict.fromkeys(each.check for each in group))
        others = len({each.sentence for each in group}) - 1
        more = f" (and {others} more like it)" if others else ""
        name = f"{status} {checks[0]}" if len(checks) == 1 else f"{status} {len(checks)} checks"
        about = f"{len(group)} of them" if len(checks) == 1 else ", ".join(checks)
        yield name, about, first.sentence + more + advice


def _counts(results: Sequence[Result]) -> dict[str, int]:
    found = Counter(result.status for result in results)
    return {str(status): found[status] for status in Status}
