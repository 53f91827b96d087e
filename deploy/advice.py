"""The next step for each error of a run of the engine, with the component that it arose in."""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from rehearsal.engine.events import WRITES_EVENTS as WRITES_EVENTS
from rehearsal.engine.events import Diagnostic, Urn, read
from rehearsal.engine.remedies import IN_USE, NO_ADDRESS, QUOTA, REMEDIES, UNREACHABLE, known

COMMANDS: Mapping[str, str] = {
    QUOTA: "`make doctor STACK={stack}` names the quota, with the request to type",
    IN_USE: "`make vacate STACK={stack}` removes what controllers and dead nodes left",
    NO_ADDRESS: "`make plan STACK={stack}` counts addresses; pods can have their own range (docs/how-to/network.md)",
    UNREACHABLE: 'docs/operations.md, "The way to the Kubernetes API", has the ways in',
}
"""What this program has for an error, by the patterns of the remedies."""
_MOST = 3
"""Resources that are named of those that failed alike."""


def advice(log: Path, stack: str) -> list[str]:
    """Lines for a person: of each kind of error where it arose and what to do; none where nothing is known.

    `log` is the engine's event log; a torn last line, as of a run that was killed, is left out.
    """
    found: dict[str, list[str]] = {}
    for each in read(log).errors() if log.exists() else ():
        if said := _said(each.message, stack):
            places = found.setdefault(said, [])
            if (place := _place(each)) not in places:
                places.append(place)
    lines = []
    for said, places in found.items():
        more = f", and {len(places) - _MOST} more" if len(places) > _MOST else ""
        lines += [f"  {'; '.join(places[:_MOST])}{more}", f"    {said}"]
    return ["what to do:", *lines] if lines else []


def component(urn: Urn) -> str:
    """The component that a resource is a part of, `NodePool`; empty if it is a part of none."""
    return urn.text.split("::")[2].rpartition("$")[0].rpartition("$")[2].rpartition(":")[2]


def _said(words: str, stack: str) -> str:
    said = [(REMEDIES[pattern], COMMANDS.get(pattern, "").format(stack=stack)) for pattern in known(words)]
    return ". ".join(filter(None, chain(*said)))


def _place(error: Diagnostic) -> str:
    if error.urn is None:
        return "the program"
    return ": ".join(filter(None, (component(error.urn), error.urn.label)))
