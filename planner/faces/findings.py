"""Findings as a table."""

from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING

from planner.findings import Finding, Severity

if TYPE_CHECKING:
    from rich.table import Table

_WIDTH = 118
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow"}


def findings_table(findings: Sequence[Finding]) -> "Table":
    """All findings, errors first and accepted ones last."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=SIMPLE_HEAD, show_lines=True, expand=True, pad_edge=False)
    grid.add_column("finding", no_wrap=True)
    grid.add_column("where, what, and what to do", overflow="fold", ratio=1)
    for finding in sorted(findings, key=lambda finding: (finding.waiver is not None, finding.severity)):
        state = f"waived {finding.severity}" if finding.waiver else str(finding.severity)
        advice = f"suppressed: {finding.waiver}" if finding.waiver else finding.remedy
        style = "dim" if finding.waiver else _STYLES[finding.severity]
        said = Text(f"{finding.path}\n", "bold") + Text(f"{finding.sentence}; {advice}")
        grid.add_row(Text(f"{state}\n{finding.rule}", style), said)
    return grid


def table(findings: Sequence[Finding]) -> str:
    """All findings in one table of fixed width without colours; empty if there are none."""
    if not findings:
        return ""
    from rich.console import Console

    text = StringIO()
    Console(file=text, width=_WIDTH, color_system=None).print(findings_table(findings))
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines() if line.strip())
