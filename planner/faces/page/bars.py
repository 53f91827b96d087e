"""Bars: memory by part, a step by phase, prices with their ranges."""

from collections.abc import Iterator, Sequence

from planner.faces.forecast import exchange_row, phases, seconds
from planner.faces.layout import Part, quantity
from planner.faces.page.elements import Child, Markup, box, drawing, element, label, line, table, together
from planner.faces.page.racks import legend
from planner.faces.page.style import SERIES
from planner.step import StepTime

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
