"""A panel drawn: curves, numbers, or bars. Sizes in CSS pixels."""

import time
from collections.abc import Iterator, Sequence
from math import ceil, floor, log10

from monitoring.dashboards.model import Bounds, Panel, Unit
from monitoring.picture.data import Series, Stretch
from monitoring.picture.units import written
from planner.faces.page.elements import SERIES, Child, Markup, box, drawing, element, label, line, together

_LEFT, _RIGHT, _TOP, _BOTTOM = 92.0, 10.0, 8.0, 20.0
_TICKS, _LETTER = 4, 6.4
_TIMES = (15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200)
_NARROW = 450
_LEGEND = 12
_BAR, _GAP = 16.0, 6.0
_LEVELS = {"green": "good", "orange": "warning", "red": "error"}


def drawn(id_: str, panel: Panel, series: Sequence[Series], stretch: Stretch, size: tuple[float, float]) -> Markup:
    """The inside of a panel of `size`, without its title."""
    if not series:
        return element("p", panel.nothing or "No data", class_="none")
    if panel.kind == "stat":
        return _stat(panel, series)
    if panel.kind == "bargauge":
        return _bars(id_, panel, series, size)
    return together((_curves(id_, panel, series, stretch, size), _legend(panel, series)))


def level(value: float, bounds: Bounds) -> str:
    """The colour of a value: good, warning or error."""
    reached = [step for step in bounds.steps() if step["value"] is None or value >= step["value"]]
    return _LEVELS[reached[-1]["color"]]


def _stat(panel: Panel, series: Sequence[Series]) -> Markup:
    return element(
        "div",
        *(
            together(
                (
                    element("b", written(each.last, panel.unit, panel.decimals), class_=level(each.last, panel.bounds)),
                    element("span", each.name, class_="soft") if len(series) > 1 else Markup(),
                )
            )
            for each in series
        ),
        class_="stat",
    )


def _bars(id_: str, panel: Panel, series: Sequence[Series], size: tuple[float, float]) -> Markup:
    """The newest value of each series as a bar beside its name."""
    width, height = size
    shown = list(series)[: max(1, int(height // (_BAR + _GAP)))]
    most = panel.most or max((each.last for each in shown), default=1.0) or 1.0
    left = min(0.55 * width, 14 + _LETTER * max(len(each.name) for each in shown))
    room = width - left - 78
    shapes: list[Child] = []
    for index, each in enumerate(shown):
        top = index * (_BAR + _GAP)
        filled = room * min(1.0, max(0.0, each.last / most))
        shapes += [
            label(left - 8, top + 12, each.name, "end"),
            box(left, top, room, _BAR, class_="free"),
            box(left, top, filled, _BAR, class_=f"fill {level(each.last, panel.bounds)}"),
            label(width - 2, top + 12, written(each.last, panel.unit, panel.decimals), "end"),
        ]
    return drawing(id_, panel.title, panel.description, size, *shapes, width=width, height=height)


def _scale(panel: Panel, series: Sequence[Series], tops: Sequence[float]) -> tuple[float, float]:
    """The ends of the axis: what the panel says, else round numbers around what is drawn."""
    values = [value for each in series for _, value in each.points]
    low = panel.least if panel.least is not None else min(values)
    high = max([*values, *tops, *([panel.most] if panel.most is not None else [])])
    if low >= 0 and panel.least is not None:
        low = min(low, 0.0)
    if panel.least is not None and panel.most is not None and high <= panel.most:
        return low, high
    span = high - low or abs(high) or 1.0
    power = 10.0 ** floor(log10(span / _TICKS))
    steps = [each * power for each in (1, 2, 2.5, 5, 10)]
    if panel.unit is Unit.SECONDS and span > _TIMES[0]:
        steps = [*_TIMES, *(86_400 * each for each in steps)]
    step = next(each for each in steps if each * _TICKS >= span * (1 - 1e-9))
    bottom = floor(low / step) * step
    return bottom, bottom + _TICKS * step if bottom + _TICKS * step >= high else bottom + ceil(
        (high - bottom) / step
    ) * step


def _curves(id_: str, panel: Panel, series: Sequence[Series], stretch: Stretch, size: tuple[float, float]) -> Markup:
    width, height = size
    lines = _stacked(series) if panel.stacked else [(each, each.points) for each in series]
    tops = [value for _, points in lines for _, value in points]
    low, high = _scale(panel, series, tops)
    ticks = [low + (high - low) * tick / _TICKS for tick in range(_TICKS + 1)]
    left = max(_LEFT, 8 + _LETTER * max(len(written(each, panel.unit)) for each in ticks))

    def across(at: float) -> float:
        return left + (at - stretch.start) / (stretch.end - stretch.start) * (width - left - _RIGHT)

    def up(value: float) -> float:
        return height - _BOTTOM - (value - low) / (high - low) * (height - _TOP - _BOTTOM)

    shapes: list[Child] = []
    for tick, value in enumerate(ticks):
        shapes.append(line(left, up(value), width - _RIGHT, up(value), class_="grid" if tick else "axis"))
        shapes.append(label(left - 6, up(value) + 4, written(value, panel.unit), "end", class_="soft"))
    for tick in range(0, _TICKS + 1, 2 if width < _NARROW else 1):
        at = stretch.start + (stretch.end - stretch.start) * tick / _TICKS
        anchor = "start" if tick == 0 else "end" if tick == _TICKS else "middle"
        shapes.append(label(across(at), height - 4, _clock(at, stretch), anchor, class_="soft"))
    for bound, colour in ((panel.bounds.warn, "warning"), (panel.bounds.bad, "error")):
        if bound is not None and low <= bound <= high:
            shapes.append(line(left, up(bound), width - _RIGHT, up(bound), class_=f"bound {colour}"))
    for index, (each, points) in enumerate(lines):
        style = "reference" if each.reference else f"curve s{index % SERIES}"
        places = [(across(at), up(value)) for at, value in points]
        shapes += [element("path", d=path, class_=style) for path in _paths(places, points, stretch)]
        if panel.stacked and not each.reference:
            under = [(across(at), up(top - value)) for (at, value), (_, top) in zip(each.points, points, strict=True)]
            area = _polyline([*places, *reversed(under)])
            shapes.append(element("path", d=f"{area}Z", class_=f"band c{index % SERIES}"))
    return drawing(id_, panel.title, panel.description, size, *shapes, width=width, height=height)


def _stacked(series: Sequence[Series]) -> list[tuple[Series, Sequence[tuple[float, float]]]]:
    """Each measured series on top of those before it; references stay where they are."""
    below: dict[float, float] = {}
    placed: list[tuple[Series, Sequence[tuple[float, float]]]] = []
    for each in series:
        if each.reference:
            placed.append((each, each.points))
            continue
        points = [(at, value + below.get(at, 0.0)) for at, value in each.points]
        below |= dict(points)
        placed.append((each, points))
    return placed


def _paths(
    places: Sequence[tuple[float, float]], points: Sequence[tuple[float, float]], stretch: Stretch
) -> Iterator[str]:
    """Polylines that end where data is missing; a lone point is a short dash."""
    part: list[tuple[float, float]] = []
    for index, place in enumerate(places):
        if part and points[index][0] - points[index - 1][0] > 1.5 * stretch.step:
            yield _polyline(part)
            part = []
        part.append(place)
    if part:
        yield _polyline(part)


def _polyline(part: Sequence[tuple[float, float]]) -> str:
    ended = [*part, (part[-1][0] + 2, part[-1][1])] if len(part) == 1 else part
    return "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in ended)


def _clock(at: float, stretch: Stretch) -> str:
    long = stretch.end - stretch.start > 2 * 86_400
    return time.strftime("%d.%m. %H:%M" if long else "%H:%M", time.gmtime(at))


def _legend(panel: Panel, series: Sequence[Series]) -> Markup:
    """Names with the colours of their curves and their newest values."""
    shown = [
        element(
            "li",
            element("span", class_="dashes" if each.reference else f"swatch c{index % SERIES}"),
            f"{each.name}  {written(each.last, panel.unit, panel.decimals)}",
        )
        for index, each in enumerate(series[:_LEGEND])
    ]
    more = [element("li", f"and {len(series) - _LEGEND} more")] if len(series) > _LEGEND else []
    return element("ul", *shown, *more, class_="legend")
