"""What dashboards are made of: a panel says what it shows, in which unit, from where on that is bad, and what a person
sees then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

COLUMNS = 24
GOOD, WARN, BAD = "green", "orange", "red"


class Unit(StrEnum):
    """What a value is counted in, by Grafana's name for it (packages/grafana-data/src/valueFormats/categories.ts)."""

    COUNT = "short"
    PER_SECOND = "cps"
    TOKENS_PER_SECOND = "suffix: tokens/s"
    REQUESTS_PER_SECOND = "reqps"
    PART = "percentunit"
    SECONDS = "s"
    MILLISECONDS = "ms"
    BYTES = "decbytes"
    BYTES_PER_SECOND = "Bps"
    GB_PER_SECOND = "GBs"
    CELSIUS = "celsius"
    WATT = "watt"
    JOULE = "joule"
    KWH = "kwatth"
    HERTZ = "hertz"
    USD = "currencyUSD"
    USD_PER_HOUR = "suffix: USD/h"
    TOKENS_PER_USD = "suffix: tokens/USD"
    HOURS = "suffix: h"


@dataclass(frozen=True)
class Query:
    """A PromQL expression; `legend` names each of its series, with labels in double braces.

    A `reference` is what to compare with, what was planned or what is allowed: dashed, and no part of a stack.
    """

    expr: str
    legend: str
    reference: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """From where on a value is bad: at `warn` a person looks, at `bad` something is wrong; `below` turns both round.

    Raises ValueError for bounds in the wrong order.
    """

    warn: float | None = None
    bad: float | None = None
    below: bool = False

    def __post_init__(self) -> None:
        if self.warn is not None and self.bad is not None and (self.bad < self.warn) != self.below:
            raise ValueError(f"warn {self.warn:g} and bad {self.bad:g} are in the wrong order")

    def steps(self) -> list[dict[str, Any]]:
        """Grafana's steps: each colour holds from its value on, the first from minus infinity."""
        marks = [(value, colour) for value, colour in ((self.bad, BAD), (self.warn, WARN)) if value is not None]
        if not self.below:
            return [{"color": GOOD, "value": None}, *({"color": each, "value": at} for at, each in reversed(marks))]
        colours = [colour for _, colour in marks] + [GOOD]
        return [
            {"color": each, "value": at}
            for at, each in zip([None, *(value for value, _ in marks)], colours, strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A panel: a number (`stat`), bars side by side (`bargauge`), or curves over time (`timeseries`).

    `description` is one sentence on what a person sees when it is bad. The axis goes from `least` to `most` where they
    are known; curves that go beyond `most` stretch it. `nothing` is what a panel without any series says, where that is
    as it should be. `width` is in columns, `height` in rows of the grid.

    Raises ValueError for a panel without a query, wider than the grid, or with a reference that is not among curves.
    """

    title: str
    description: str
    unit: Unit
    queries: Sequence[Query]
    kind: Literal["stat", "bargauge", "timeseries"] = "timeseries"
    bounds: Bounds = field(default_factory=Bounds)
    least: float | None = 0
    most: float | None = None
    decimals: int | None = None
    stacked: bool = False
    nothing: str | None = None
    width: int = 8
    height: int = 7

    def __post_init__(self) -> None:
        if not 1 <= self.width <= COLUMNS:
            raise ValueError(f"{self.title}: {self.width} columns of {COLUMNS}")
        if not any(not query.reference for query in self.queries):
            raise ValueError(f"{self.title}: a panel shows what is measured; give it a query")
        if self.kind != "timeseries" and any(query.reference for query in self.queries):
            raise ValueError(f"{self.title}: what to compare with is drawn among curves only")

    def expressions(self) -> Iterator[str]:
        """What it asks Prometheus."""
        return (query.expr for query in self.queries)


@dataclass(frozen=True, kw_only=True)
class Section:
    """Panels under a heading."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A choice above the panels, `$name` in queries: the values of a `label` of a `metric`; at first all of them."""

    name: str
    label: str
    metric: str

    @property
    def query(self) -> str:
        """In the words of Grafana's Prometheus data source."""
        return f"label_values({self.metric}, {self.label})"
