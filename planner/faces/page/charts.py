"""Charts: curves over common axes, and bars of memory by part, a step by phase, prices with their ranges."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import floor, log10

from planner.faces.forecast import exchange_row, phases, seconds
from planner.faces.layout import Part, quantity
from planner.faces.page.elements import (
    SERIES,
    Child,
    Markup,
    box,
    drawing,
    element,
    label,
    line,
    scrolling,
    table,
    together,
)
from planner.faces.page.racks import legend
from planner.step import StepTime

_RANGED = ", with the range of its prices"
_WIDTH, _HEIGHT = 380.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 12.0, 26.0, 36.0


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A line of points (x, y). `band` is what each y may be, as (x, low, high); `dots` are points that are marked."""

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()
    dots: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A value of x that is pointed at."""

    name: str
    x: float


@dataclass(frozen=True, kw_only=True)
class Axis:
    """What an axis shows, how its numbers are written, whether equal steps are equal factors, how many there are."""

    name: str
    written: Callable[[float], str] = quantity
    logarithmic: bool = False
    steps: int = 4


def curves(
    id_: str, title: str, said: str, lines: Sequence[Curve], x: Axis, y: Axis, marks: Sequence[Mark] = ()
) -> Markup:
    """Curves over common axes; y begins at 0."""
    across = [point[0] for each in lines for point in each.points]
    tops = [high for each in lines for *_, high in (*each.points, *each.band)]
    up = _ceiling(max(tops))
    low, high = min(across), max(across)

    def part(value: float) -> float:
        if x.logarithmic:
            return (log10(value) - log10(low)) / (log10(high) - log10(low))
        return (value - low) / (high - low)

    def at(value: float) -> float:
        return _LEFT + part(value) * (_WIDTH - _LEFT - _RIGHT)

    def above(value: float) -> float:
        return _HEIGHT - _BOTTOM - value / up * (_HEIGHT - _TOP - _BOTTOM)

    shapes: list[Child] = [*_grid(up, y, above), *_ticks(low, high, x, at)]
    for index, each in enumerate(lines):
        if each.band:
            shapes.append(_band(each, index, at, above))
        path = "M" + " L".join(f"{at(left):.1f} {above(top):.1f}" for left, top in each.points)
        ends = " ".join(f"{left:g},{top:.6g}" for left, top in each.points)
        shapes.append(element("path", d=path, class_=f"curve s{index}", data_curve=each.name, data_points=ends))
        shapes.extend(_dot(each.name, index, at(left), above(top), left) for left, top in each.dots)
    shown = [mark for mark in marks if low <= mark.x <= high]
    for index, mark in enumerate(shown):
        shapes.append(
            line(
                at(mark.x),
                _TOP,
                at(mark.x),
                _HEIGHT - _BOTTOM,
                class_=f"mark{' odd' if index % 2 else ''} s{(index + len(lines)) % SERIES}",
                data_x=f"{mark.x:.6g}",
            )
        )
    svg = drawing(id_, title, said, (_WIDTH, _HEIGHT), *shapes)
    names = {f"{each.name}{_RANGED if each.band else ''}": index for index, each in enumerate(lines)}
    names |= {f"{mark.name}: {x.written(mark.x)}": (index + len(lines)) % SERIES for index, mark in enumerate(shown)}
    return element("figure", element("figcaption", title), svg, legend(names), class_="chart")


def _band(curve: Curve, index: int, at: Callable[[float], float], above: Callable[[float], float]) -> Markup:
    """What lies between the curve's least and most values."""
    there = [(left, low) for left, low, _ in curve.band]
    back = [(left, high) for left, _, high in reversed(curve.band)]
    path = "M" + " L".join(f"{at(left):.1f} {above(value):.1f}" for left, value in (*there, *back)) + "Z"
    ends = " ".join(f"{left:g},{low:.6g},{high:.6g}" for left, low, high in curve.band)
    return element("path", d=path, class_=f"band c{index}", data_band=curve.name, data_points=ends)


def _dot(name: str, index: int, x: float, y: float, value: float) -> Markup:
    place = {"cx": f"{x:.1f}", "cy": f"{y:.1f}"}
    return element("circle", r="4", class_=f"c{index}", data_dot=name, data_x=f"{value:.6g}", **place)


def _grid(top: float, axis: Axis, above: Callable[[float], float]) -> Iterator[Markup]:
    for tick in range(axis.steps + 1):
        value = top * tick / axis.steps
        yield line(_LEFT, above(value), _WIDTH - _RIGHT, above(value), class_="grid" if tick else "axis")
        yield label(_LEFT - 6, above(value) + 4, axis.written(value), "end", class_="soft")
    yield label(0, 11, axis.name, "start", class_="soft")


def _ticks(low: float, high: float, axis: Axis, at: Callable[[float], float]) -> Iterator[Markup]:
    for tick in range(axis.steps + 1):
        part = tick / axis.steps
        value = low * (high / low) ** part if axis.logarithmic else low + (high - low) * part
        anchor = "end" if tick == axis.steps else "middle"
        yield line(at(value), _HEIGHT - _BOTTOM, at(value), _HEIGHT - _BOTTOM + 4, class_="axis")
        yield label(at(value), _HEIGHT - _BOTTOM + 16, axis.written(value), anchor, class_="soft")
    yield label(_WIDTH - _RIGHT, _HEIGHT - 4, axis.name, "end", class_="soft")


def _ceiling(value: float) -> float:
    """The next number that divides well into the ticks."""
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if value <= step * power * (1 + 1e-9))


def short(value: float) -> str:
    """A large number in few letters: 1.2M."""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{quantity(round(value / size, 1))}{letter}"
    return quantity(round(value, 2))


def wide(svg: Markup, said: str) -> Markup:
    """A drawing that keeps its size and scrolls on a narrow screen."""
    return element("div", scrolling(svg, said), class_="wide")


_BAR = 1000.0


def memory_bar(id_: str, of: str, parts: Sequence[Part], capacity_gb: float) -> Markup:
    """Memory by part; what does not fit runs past the mark of the capacity."""
    shown = [part for part in parts if part.gb > 0]
    used = sum(part.gb for part in shown)
    most = max(used, capacity_gb)
    shapes: list[Child] = [box(0, 0, _BAR * capacity_gb / most, 40, class_="free")]
    shapes += _stacked([(part.name, part.gb, f"{part.gb:.1f} GB") for part in shown], most, "data_gb")
    mark = min(_BAR * capacity_gb / most, _BAR - 2)
    shapes.append(line(mark, 0, mark, 40, class_="limit", vector_effect="non-scaling-stroke"))
    beyond = f"; {used - capacity_gb:.1f} GB too many" if used > capacity_gb else ""
    said = f"{used:.1f} of {quantity(capacity_gb)} GB {of}{beyond}"
    svg = drawing(
        id_,
        f"Memory of {of}",
        f"{said}. " + ", ".join(f"{part.name} {part.gb:.1f}" for part in shown),
        (_BAR, 40),
        *shapes,
        preserveAspectRatio="none",
        data_capacity_gb=capacity_gb,
    )
    names = {f"{part.name} {part.gb:.1f}": index % SERIES for index, part in enumerate(shown)}
    caption = element("figcaption", said, class_="error" if beyond else None)
    return element("figure", caption, svg, legend(names), class_="bar")


def step_bar(id_: str, step: StepTime) -> Markup:
    """A step by phase, the communication that nothing hides lighter; below it each phase's numbers and formula."""
    rows = phases(step)
    shown = [row for row in rows if row[1] > 0]
    shapes = [*_stacked([(name, took, seconds(took)) for name, took, *_ in shown], step.seconds, "data_seconds")]
    end = 0.0
    for name, took, _, _, exposed, _ in shown:
        end += took
        if exposed:
            left, width = _BAR * (end - exposed) / step.seconds, _BAR * exposed / step.seconds
            tip = element("title", f"{name}: {seconds(exposed)} in which the step waits for communication")
            shapes.append(box(left, 26, width, 10, tip, class_="exposed", data_exposed=name))
    alone = ", drawn lighter" if step.communication_share else ""
    said = (
        f"A step of {seconds(step.seconds)}, {step.communication_share:.0%} of the step waits for communication{alone}"
    )
    names = {f"{name} {seconds(took)}": index % SERIES for index, (name, took, *_) in enumerate(shown)}
    words = f"{said}: {', '.join(names)}."
    svg = drawing(id_, "Time of a step", words, (_BAR, 40), *shapes, preserveAspectRatio="none")
    cells = ((name, *map(seconds, times), formula) for name, *times, formula in rows)
    headings = ("phase", "takes", "computes", "communicates", "exposed", "formula")
    listed = table("A step by phase, an estimate", headings, cells, range(1, 5))
    return together((element("figure", element("figcaption", said), svg, legend(names), class_="bar"), listed))


def step_traffic(step: StepTime) -> Markup:
    """What each kind of parallelism sends."""
    headings = ("exchange", "GPUs", "message, MB", "times", "sent, GB", "bus GB/s", "takes", "NCCL", "")
    return table("What a GPU sends in a step", headings, map(exchange_row, step.traffic), range(1, 7))


def _stacked(parts: Sequence[tuple[str, float, str]], whole: float, key: str) -> Iterator[Markup]:
    """Boxes one after the other: the name of each, its amount, and that in words."""
    end = 0.0
    for index, (name, amount, written) in enumerate(parts):
        width = _BAR * amount / whole
        tip = element("title", f"{name}: {written}")
        colour = f"c{index % SERIES}"
        yield box(end, 4, width, 32, tip, class_=colour, data_part=name, **{key: round(amount, 6)})
        end += width


def ranges(id_: str, title: str, unit: str, rows: Sequence[tuple[str, float, float, float]]) -> Markup:
    """Bars with the range that each value may lie in: (name, value, low, high)."""
    most, row, left = max(high for *_, high in rows) or 1.0, 34.0, 4.0
    width = 380.0 - 2 * left - 4
    shapes: list[Child] = []
    for index, (name, value, low, high) in enumerate(rows):
        y = index * row
        shapes.append(label(left, y + 12, name if len(name) <= 48 else f"{name[:47]}…", "start"))
        shapes.append(label(380 - left, y + 12, f"{value:,.2f}", "end"))
        bar = box(left, y + 16, width * value / most, 11, element("title", f"{name}: {low:,.2f} to {high:,.2f} {unit}"))
        shapes.append(element("g", bar, class_="c0", data_name=name, data_value=f"{value:.6g}"))
        if low == high:
            continue
        ends = left + width * low / most, left + width * high / most
        shapes.append(line(ends[0], y + 21.5, ends[1], y + 21.5, class_="spread"))
        shapes.extend(line(end, y + 18, end, y + 25, class_="spread") for end in ends)
    said = f"{len(rows)} bars in {unit}; the thin lines are the ranges."
    svg = drawing(id_, title, said, (380.0, len(rows) * row), *shapes)
    return element("figure", element("figcaption", title), svg, class_="chart")
