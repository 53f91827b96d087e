"""Where the fabric's reports come from: a machine on the fabric, or files that a person saved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from doctor.machines.reading import UnreadError
from planner.site import HostPlan, SitePlan

SCRIPT = Path(__file__).parents[2] / "node" / "doctor" / "fabric.sh"
ANSWER_SECONDS = 600.0
"""Both tools ask every device of the fabric, one after the other."""
TRIED = 3
"""Machines that are asked until one answers: each sees the whole fabric."""

Run = Callable[[SitePlan, HostPlan, str, float], str]
"""What a script prints on a machine. Raises UnreadError."""


@dataclass(frozen=True)
class Reports:
    """Reports of ibnetdiscover, ibqueryerrors and sminfo; None where there is none. `why` is what the tools said
    instead.
    """

    links: str | None
    down: str | None
    manager: str | None = None
    why: str = ""


def ask(site: SitePlan, hosts: Sequence[HostPlan], run: Run) -> Reports:
    """The reports of the first machine that has one of the links."""
    why: list[str] = []
    for host in hosts[:TRIED]:
        try:
            reports = told(run(site, host, SCRIPT.read_text("utf-8"), ANSWER_SECONDS))
        except UnreadError as error:
            why.append(f"{host.name}: {error}")
            continue
        if reports.links is not None:
            return reports
        why.append(f"{host.name}: {reports.why}")
    return Reports(None, None, why="; ".join(why))


def told(text: str) -> Reports:
    """The script's lines."""
    lines = [line.partition(" ")[::2] for line in text.splitlines()]

    def report(word: str) -> str | None:
        said = [rest for name, rest in lines if name == word]
        return "\n".join(said) + "\n" if said else None

    why = "; ".join(rest for name, rest in lines if name == "why")
    return Reports(report("link"), report("down"), report("manager"), why)


def saved(links: Path, down: Path | None) -> Reports:
    """The same from files. Raises OSError."""
    return Reports(links.read_text("utf-8", "replace"), down.read_text("utf-8", "replace") if down else None)
