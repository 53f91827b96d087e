"""What a panel's queries answer, asked of a Prometheus."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from monitoring.dashboards.grafana import EVERYTHING
from monitoring.dashboards.model import Panel, Query

_POINTS = 240
_LEAST_STEP_S = 15
_SCRAPE_S = 30
_PATIENCE_S = 30


class NoAnswerError(Exception):
    """What was asked could not be answered; the message says by whom and why."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One curve: its name in the legend, (Unix time in seconds, value), and whether it is something to compare with."""

    name: str
    points: Sequence[tuple[float, float]]
    reference: bool = False

    @property
    def last(self) -> float:
        """The newest value."""
        return self.points[-1][1]


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """The time that is shown, in Unix seconds, and the distance of its points."""

    start: float
    end: float

    @property
    def step(self) -> int:
        """Seconds from point to point."""
        return max(_LEAST_STEP_S, round((self.end - self.start) / _POINTS))


Answer = tuple[Mapping[str, str], Sequence[tuple[float, float]]]
"""Labels of a series, and its points."""


class Source(Protocol):
    """Whoever answers PromQL: series of labels and points over a stretch."""

    def ask(self, expr: str, stretch: Stretch, /) -> Sequence[Answer]: ...

    def ask_now(self, expr: str, stretch: Stretch, /) -> Sequence[Answer]:
        """At the end of the stretch only."""
        ...


@dataclass(frozen=True, kw_only=True)
class Prometheus:
    """A Prometheus at `url`."""

    url: str

    def ask(self, expr: str, stretch: Stretch) -> Sequence[Answer]:
        """Series over time. Raises NoAnswerError where there is no answer, or the query is refused."""
        found = self._get("query_range", query=expr, start=stretch.start, end=stretch.end, step=stretch.step)
        return [(each["metric"], _points(each["values"])) for each in found]

    def ask_now(self, expr: str, stretch: Stretch, /) -> Sequence[Answer]:
        """Series of one point each, in the order of the answer. Raises as `ask` does."""
        found = self._get("query", query=expr, time=stretch.end)
        return [(each["metric"], _points([each["value"]])) for each in found]

    def _get(self, path: str, *, query: str, **more: float) -> list[dict[str, Any]]:
        expr, asked = query, urlencode({"query": query, **more})
        try:
            with urlopen(f"{self.url}/api/v1/{path}?{asked}", timeout=_PATIENCE_S) as answer:  # noqa: S310 - as told
                found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        except HTTPError as error:
            raise NoAnswerError(f"{self.url} refuses {expr!r}: {_reason(error)}") from None
        except (URLError, TimeoutError, ValueError) as error:
            raise NoAnswerError(f"no Prometheus answers at {self.url}: {error}") from None
        return found


def _points(values: Sequence[tuple[float, str]]) -> list[tuple[float, float]]:
    """Points as numbers; what is not a number, or without end, cannot be drawn."""
    points = [(float(at), float(value)) for at, value in values]
    return [point for point in points if isfinite(point[1])]


def _reason(error: HTTPError) -> str:
    try:
        told: dict[str, Any] = json.load(error)
    except ValueError:
        return str(error)
    return str(told.get("error", error))


def interpolated(expr: str, stretch: Stretch, variables: Sequence[str] = ()) -> str:
    """The query as Grafana sends it with every variable at All: $__rate_interval is four scrapes, or a step and one."""
    interval = max(4 * _SCRAPE_S, stretch.step + _SCRAPE_S)
    filled = expr.replace("$__rate_interval", f"{interval}s")
    return re.sub(rf"\$({'|'.join(variables)})\b", EVERYTHING, filled) if variables else filled


def answers(panel: Panel, source: Source, stretch: Stretch, variables: Sequence[str]) -> list[Series]:
    """All series of a panel, in the order of its queries."""
    ask = source.ask if panel.kind == "timeseries" else source.ask_now
    return [
        Series(name=_named(query, labels), points=points, reference=query.reference)
        for query in panel.queries
        for labels, points in ask(interpolated(query.expr, stretch, variables), stretch)
        if points
    ]


def _named(query: Query, labels: Mapping[str, str]) -> str:
    return re.sub(r"{{\s*(\w+)\s*}}", lambda found: labels.get(found[1], ""), query.legend)
