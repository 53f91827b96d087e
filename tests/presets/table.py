"""The table of whole rehearsals in docs/rehearsal.md: a row for each stack, replaced when it is rehearsed again."""

import re
from collections.abc import Mapping

from tests.graph.stackfiles import ROOT
from tests.presets import stacks
from tests.presets.rehearsing import Rehearsed

PAGE = ROOT / "docs" / "rehearsal.md"
BEGIN, END = "<!-- rehearsed: written by python -m tests.presets -->", "<!-- /rehearsed -->"
HEAD = (
    "| stack or preset | machines | resources | what ran in it | up, s | second preview, s | down, s | peak, GiB |",
    "|---|---|---|---|---|---|---|---|",
)


WHY_LETTERS = 200
_LOG = re.compile(r" \(log: [^)]*\)")


def row(found: Rehearsed, why: str = "") -> str:
    """One line of the table; `why` is what it did not pass at."""
    racked = f", {found.hosts} hosts over SSH" if found.hosts else ""
    ran = found.ran or "the platform alone"
    changed = stacks.CHANGED.get(found.name)
    cells = (
        f"`{found.name}`",
        f"{found.nodes} nodes with {found.gpus} GPUs{racked}",
        f"{found.resources}",
        ran + (f" ({changed})" if changed else "") + (f"; {_short(why)}" if why else ""),
        *("" if seconds is None else f"{seconds:.0f}" for seconds in (found.up, found.preview, found.down)),
        f"{found.peak_gib:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def failed(name: str, why: str, came: Rehearsed | None) -> str:
    """The line of a stack that did not pass: how far it came, and why no further."""
    return missing(name, _short(why)) if came is None else row(came, why)


def missing(name: str, why: str = "not by this command yet") -> str:
    """The line of a stack of which nothing is known."""
    return f"| `{name}` | | | {why} | | | | |"


def _short(why: str) -> str:
    """A sentence that fits into a cell."""
    words = " ".join(_LOG.sub("", why).replace("|", "/").split())
    return f"does not pass: {words if len(words) <= WHY_LETTERS else words[:WHY_LETTERS] + '…'}"


def rows(page: str) -> dict[str, str]:
    """The lines of the table by the stack's name."""
    lines = page.partition(BEGIN)[2].partition(END)[0].splitlines()
    return {line.split("`")[1]: line for line in lines if line.startswith("| `")}


def changed(page: str, new: Mapping[str, str]) -> str:
    """The page with other rows, one for all that is shipped."""
    before, _, rest = page.partition(BEGIN)
    lines = {**rows(page), **new}
    every = [lines.get(name) or missing(name) for name in stacks.NAMES]
    return "\n".join([f"{before}{BEGIN}", *HEAD, *every, END]) + rest.partition(END)[2]


def write(new: Mapping[str, str]) -> None:
    """Rewrite the page with other rows."""
    PAGE.write_text(changed(PAGE.read_text(encoding="utf-8"), new), encoding="utf-8")
