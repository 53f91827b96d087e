"""Racks drawn from the bottom up, and the power of each."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.faces.page.elements import SERIES, Child, Markup, box, drawing, element, label, line, table, together
from planner.facility.plan import FacilityPlan, RackLine
from planner.facility.power import Machines

_SINGLE = 24
"""More racks are drawn as one of each kind, with how many there are."""
_UNIT, _WIDTH, _EDGE = 8.0, 150.0, 3.0
_MARKED = 10


@dataclass(frozen=True, kw_only=True)
class Like:
    """Racks that hold the same: their numbers from 1, and the first of them."""

    numbers: Sequence[int]
    rack: RackLine


def racks(plan: FacilityPlan) -> Markup:
    """Elevations, what the colours mean, and the power of each rack by circuit."""
    groups = {each.name: each for each in plan.machines}
    alike = _alike(plan.racks)
    colours = {name: index % SERIES for index, name in enumerate(groups)}
    figures = (elevation(each, groups, colours) for each in alike)
    return element(
        "div",
        legend({f"{name} ({each.rack_units} U, {each.watts:,} W)": colours[name] for name, each in groups.items()}),
        element("div", *figures, class_="racks"),
        table(
            "Power of the racks at full load",
            ("rack", "nodes", "machines", "units", "kW", "circuits a feed", f"kW on each, of {plan.circuit_kw:.1f}"),
            (_row(each, groups) for each in alike),
            range(1, 6),
        ),
    )


def legend(entries: Mapping[str, int]) -> Markup:
    """What the colours mean."""
    swatch = (
        element(
            "li",
            element(
                "svg", box(0, 0, 10, 10, class_=f"c{colour}"), viewBox="0 0 10 10", class_="swatch", aria_hidden="true"
            ),
            name,
        )
        for name, colour in entries.items()
    )
    return element("ul", *swatch, class_="legend")


def elevation(like: Like, groups: Mapping[str, Machines], colours: Mapping[str, int]) -> Markup:
    """A rack with what stands in it, and what is free above. Words stand on top, so that all racks end at the floor."""
    rack, first = like.rack, like.numbers[0]
    height = rack.height * _UNIT + 2 * _EDGE
    shapes: list[Child] = [box(1, 1, _WIDTH - 2, height - 2, class_="frame")]
    shapes += [_mark(each, height) for each in range(_MARKED, rack.height, _MARKED) if each > rack.units + 1]
    unit = 0
    for machine in rack.machines:
        group = groups[_group(machine)]
        unit += group.rack_units
        y, tall = height - _EDGE - unit * _UNIT, group.rack_units * _UNIT - 1
        colour = f"c{colours[group.name]}"
        tip = element("title", f"{machine}: {group.rack_units} U, {group.watts:,} W")
        attributes: dict[str, Child] = {
            "data_machine": machine,
            "data_watts": group.watts,
            "data_units": group.rack_units,
        }
        shapes.append(box(_EDGE, y, _WIDTH - 2 * _EDGE, tall, tip, class_=colour, **attributes))
        if tall >= 2 * _UNIT - 1:
            shapes.append(label(_WIDTH / 2, y + tall / 2 + 4, _fitting(machine), class_="on"))
    named = _numbers(like.numbers)
    said = f"{len(rack.machines)} machines, {rack.units} of {rack.height} U, {rack.kw:.1f} kW"
    svg = drawing(
        f"rack-{first}",
        f"Rack {named}",
        said,
        (_WIDTH, height),
        *shapes,
        data_racks=len(like.numbers),
        data_height=rack.height,
        data_watts=round(rack.kw * 1000),
    )
    return element("figure", element("figcaption", element("b", f"rack {named}"), element("br"), said), svg)


def _mark(unit: int, height: float) -> Markup:
    """A short line at the right edge above so many units, where nothing stands."""
    y = height - _EDGE - unit * _UNIT
    mark = line(_WIDTH - 8, y, _WIDTH - 1, y, class_="axis")
    return together((mark, label(_WIDTH - 10, y + 4, unit, "end", class_="soft")))


def _fitting(name: str) -> str:
    return name if len(name) <= 22 else f"{name[:21]}…"


def _group(machine: str) -> str:
    return machine.rpartition("-")[0]


def _alike(lines: Sequence[RackLine]) -> list[Like]:
    if len(lines) <= _SINGLE:
        return [Like(numbers=(number,), rack=rack) for number, rack in enumerate(lines, 1)]
    found: dict[tuple[str, ...], list[int]] = {}
    for number, rack in enumerate(lines, 1):
        found.setdefault(tuple(map(_group, rack.machines)), []).append(number)
    return [Like(numbers=numbers, rack=lines[numbers[0] - 1]) for numbers in found.values()]


def _numbers(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return f"{numbers[0]} and {len(numbers) - 1} like it"


def _row(like: Like, groups: Mapping[str, Machines]) -> Iterator[Child]:
    rack = like.rack
    yield _numbers(like.numbers)
    yield rack.nodes
    yield len(rack.machines)
    yield rack.units
    yield f"{rack.kw:.1f}"
    yield rack.circuits
    yield ", ".join(f"{kw:.1f}" for kw in circuit_loads(rack, groups))


def circuit_loads(rack: RackLine, groups: Mapping[str, Machines]) -> list[float]:
    """kW on each circuit of one feed when it carries the rack alone. Machines on several circuits share evenly."""
    spread = Counter(machine for circuit in rack.on_circuits for machine in circuit)
    return [sum(groups[_group(one)].watts / spread[one] for one in circuit) / 1000 for circuit in rack.on_circuits]
