"""What of the toolchain a stack needs, told from the resources it registers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from rehearsal.toolchain.build import ensure, missing
from rehearsal.toolchain.definitions import SETS, crds, generated
from rehearsal.toolchain.families import BASE, FAMILIES
from rehearsal.toolchain.go import Report
from rehearsal.toolchain.pythons import PYTHONS

DEFINITIONS = "definitions"


@dataclass(frozen=True)
class Needs:
    """Families of binaries, sets of CRDs, and programs in Python, by name."""

    families: tuple[str, ...]
    sets: tuple[str, ...]
    pythons: tuple[str, ...] = ()

    def lacking(self) -> "Needs":
        """What of it is not there yet."""
        sets = tuple(name for name in self.sets if not generated(name))
        families = [name for name in self.families if sets or DEFINITIONS not in FAMILIES[name].wanted_by]
        return Needs(tuple(missing(families)), sets, tuple(each for each in self.pythons if not PYTHONS[each].there()))

    def provide(self, report: Report) -> None:
        """Build and generate what is lacking. Raises BuildError."""
        lacking = self.lacking()
        if lacking.families:
            ensure(lacking.families, report)
        for name in lacking.sets:
            crds(name, report)
        for name in lacking.pythons:
            PYTHONS[name].python(report)

    def __bool__(self) -> bool:
        return bool(self.families or self.sets or self.pythons)


OPTIONAL = Needs(tuple(name for name in FAMILIES if name not in BASE), tuple(SETS), tuple(PYTHONS))
"""All that some stacks need and others do not."""


def of(resources: Iterable[tuple[str, Mapping[str, Any]]]) -> Needs:
    """What resources, each a type token and its inputs, need besides what every rehearsal does.

    A text that is not known yet (in a preview) names nothing.
    """
    marks = {mark for token, inputs in resources for mark in _marks(token, inputs)}
    sets = _wanted(SETS, marks)
    marks |= {DEFINITIONS} if sets else set()
    return Needs(_wanted(FAMILIES, marks), sets, _wanted(PYTHONS, marks))


def _wanted(table: Mapping[str, Any], marks: Iterable[str]) -> tuple[str, ...]:
    """Names of the rows that one of the marks wants."""
    return tuple(
        name
        for name, row in table.items()
        if any(fnmatchcase(mark, pattern) for pattern in row.wanted_by for mark in marks)
    )


def _marks(token: str, inputs: Mapping[str, Any]) -> Iterator[str]:
    """`chart:NAME` of a Helm release and `image:NAME` of every container in an object, whatever its kind."""
    if not token.startswith("kubernetes:"):
        return
    if token.startswith("kubernetes:helm.sh/") and isinstance(chart := inputs.get("chart"), str):
        yield f"chart:{_last(chart)}"
    yield from (f"image:{_last(image)}" for image in _images(inputs))


def _images(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _images(each)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if key == "image" and isinstance(each, str):
                yield each
            else:
                yield from _images(each)


def _last(reference: str) -> str:
    """The last part of a chart's or image's address, without tag and digest."""
    return reference.partition("@")[0].rstrip("/").rpartition("/")[2].partition(":")[0]
