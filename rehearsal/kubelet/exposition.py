"""Metrics as exporters write them: families of samples, and their text.

Source: Prometheus, "Exposition formats", text format 0.0.4: one block a family, HELP and TYPE before the samples;
backslash, line feed and (in values of labels) the double quote are escaped; histograms are cumulative and end in +Inf.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["counter", "gauge", "histogram", "summary", "untyped"]
Labels = Mapping[str, str]


@dataclass(frozen=True)
class Sample:
    """One value. `suffix` is what a histogram's parts add to the name of their family."""

    labels: Labels
    value: float
    suffix: str = ""


@dataclass(frozen=True)
class Family:
    """All samples of one name. A counter's name ends in `_total` where its exporter's does."""

    name: str
    kind: Kind
    help: str
    samples: Sequence[Sample]


def family(name: str, kind: Kind, help: str, *values: tuple[Labels, float]) -> Family:
    """A family of plain values."""
    return Family(name, kind, help, [Sample(labels, value) for labels, value in values])


@dataclass
class Histogram:
    """Counts by upper bound, as a client library keeps them."""

    bounds: Sequence[float]
    sum: float = 0.0
    counts: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counts = self.counts or [0.0] * (len(self.bounds) + 1)

    @property
    def count(self) -> float:
        return sum(self.counts)

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value, several times if need be."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    def family(self, name: str, help: str, labels: Labels) -> Family:
        """The samples of this histogram."""
        found, below = [], 0.0
        for bound, count in zip([*self.bounds, math.inf], self.counts, strict=True):
            below += count
            found.append(Sample({**labels, "le": number(bound)}, below, "_bucket"))
        return Family(
            name, "histogram", help, [*found, Sample(labels, below, "_count"), Sample(labels, self.sum, "_sum")]
        )


def text(families: Iterable[Family]) -> str:
    """The page. A family without a sample is left out, as exporters do."""
    return "".join(_block(each) for each in families if each.samples)


def _block(each: Family) -> str:
    help = each.help.replace("\\", "\\\\").replace("\n", "\\n")
    head = f"# HELP {each.name} {help}\n# TYPE {each.name} {each.kind}\n"
    return head + "".join(f"{each.name}{one.suffix}{_labels(one.labels)} {number(one.value)}\n" for one in each.samples)


def _labels(labels: Labels) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def number(value: float) -> str:
    """A number of the format: whole ones without a fraction."""
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(float(value))
