"""What goes into which rack, and which circuit feeds it.

Deterministic, and a larger cluster or a smaller rack never needs fewer racks. With two feeds each carries everything
alone, so both are laid out alike.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import floor, sqrt

from planner.facility.power import Kind, Machines
from settings.facility import Circuit

_MOST_AMPERES = (("C13", 10.0), ("C19", 16.0))
_LEAST_STAR_VOLTS = 300
"""Between phases: from here on, strips give what is between a phase and neutral (230 V of 400), below it all (208)."""


def outlets(machines: Iterable[Machines], circuit: Circuit) -> Mapping[str, int]:
    """Outlets by their kind, of all feeds together: one for each cord, by the most that one supply draws."""
    star = circuit.phases > 1 and circuit.volts >= _LEAST_STAR_VOLTS
    volts = circuit.volts / (sqrt(3) if star else 1)
    found: Counter[str] = Counter()
    for each in machines:
        amperes = (each.supplies.watts if each.supplies else each.watts) / volts
        found[next((kind for kind, most in _MOST_AMPERES if amperes <= most), "IEC 60309")] += each.count * each.cords
    return dict(sorted(found.items()))


FILL = 0.8
"""Share of a rack's power that a plan takes, as its breakers carry no more for hours."""

CROWDED_NODES = 4
"""Above so many GPU nodes in a rack, weight, cables and air flow become the problem."""

_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Placed:
    """One machine: the name of its group with its number in it, from 0. `kw` is the most it draws."""

    name: str
    kind: Kind
    rack_units: int
    kw: float
    cords: int


@dataclass(frozen=True, kw_only=True)
class Rack:
    """A rack, from the bottom up."""

    placed: tuple[Placed, ...]

    @property
    def units(self) -> int:
        """Rack units taken."""
        return sum(each.rack_units for each in self.placed)

    @property
    def kw(self) -> float:
        """Most its machines draw."""
        return sum(each.kw for each in self.placed)

    @property
    def nodes(self) -> int:
        """GPU nodes in it."""
        return sum(each.kind is Kind.NODE for each in self.placed)


@dataclass(frozen=True, kw_only=True)
class RackPlan:
    """The racks in order, and the machines that are too large for any rack."""

    racks: tuple[Rack, ...]
    misfits: tuple[Placed, ...] = field(default=())


def nodes_per_rack(node_units: int, node_kw: float, units: int, rack_kw: float) -> int:
    """GPU nodes that a rack of `units` and `rack_kw` holds."""
    return min(units // node_units, floor(rack_kw * FILL / node_kw + _ROUNDING))


def pack(machines: Sequence[Machines], *, units: int, rack_kw: float) -> RackPlan:
    """Fill rack after rack; nodes alternate with what serves them, so that a rack holds both while there are both."""
    racks: list[list[Placed]] = []
    misfits: list[Placed] = []
    for each in _in_turn(machines):
        if each.rack_units > units or each.kw > rack_kw * FILL + _ROUNDING:
            misfits.append(each)
        elif racks and _fits(Rack(placed=(*racks[-1], each)), units, rack_kw):
            racks[-1].append(each)
        else:
            racks.append([each])
    return RackPlan(racks=tuple(Rack(placed=tuple(rack)) for rack in racks), misfits=tuple(misfits))


def _fits(rack: Rack, units: int, rack_kw: float) -> bool:
    return rack.units <= units and rack.kw <= rack_kw * FILL + _ROUNDING


def _in_turn(machines: Sequence[Machines]) -> Iterator[Placed]:
    nodes = _each(machines, nodes=True)
    rest = _each(machines, nodes=False)
    for pair in zip_longest(nodes, rest):
        yield from (each for each in pair if each is not None)


def _each(machines: Sequence[Machines], *, nodes: bool) -> Iterator[Placed]:
    for group in machines:
        if (group.kind is Kind.NODE) is nodes:
            for index in range(group.count):
                yield Placed(
                    name=f"{group.name}-{index}",
                    kind=group.kind,
                    rack_units=group.rack_units,
                    kw=group.watts / 1000,
                    cords=group.cords,
                )


_FEEDS = "AB"


@dataclass(frozen=True, kw_only=True)
class Feed:
    """The circuit, by its number from 0, that carries `kw` of a machine on feed A or B."""

    machine: str
    feed: str
    circuit: int
    kw: float


@dataclass(frozen=True, kw_only=True)
class RackCircuits:
    """A rack's circuits. `per_feed` is how many each feed needs; `misfits` draw more than their cords could spread."""

    feeds: tuple[Feed, ...]
    per_feed: int
    misfits: tuple[str, ...]

    @property
    def machines(self) -> tuple[tuple[str, ...], ...]:
        """Names of the machines on each circuit of a feed. Both feeds are alike."""
        return tuple(
            tuple(dict.fromkeys(each.machine for each in self.feeds if each.circuit == number))
            for number in range(self.per_feed)
        )


def circuits(rack: Rack, circuit: Circuit, feeds: int) -> RackCircuits:
    """Assign a rack's machines to circuits of one kind, in order; with two feeds each has half of a machine's cords.

    What fits on one circuit is not parted. A machine that draws more puts cord after cord on circuits, each with its
    equal part of the load, as power supplies share it: 10 kW on three cords a feed load two circuits with 6.7 and
    3.3 kW, never with 5 and 5. A cord that alone draws more than a circuit carries is a misfit.
    """
    assigned: list[Feed] = []
    misfits: list[str] = []
    number, used = 0, 0.0
    for each in rack.placed:
        cords = 1 if each.kw <= circuit.usable_kw + _ROUNDING else max(1, each.cords // feeds)
        load = each.kw / cords
        if load > circuit.usable_kw + _ROUNDING:
            misfits.append(each.name)
            continue
        loads: dict[int, float] = {}
        for _ in range(cords):
            if used and used + load > circuit.usable_kw + _ROUNDING:
                number, used = number + 1, 0.0
            used += load
            loads[number] = loads.get(number, 0.0) + load
        assigned.extend(
            Feed(machine=each.name, feed=feed, circuit=taken, kw=kw)
            for taken, kw in loads.items()
            for feed in _FEEDS[:feeds]
        )
    return RackCircuits(feeds=tuple(assigned), per_feed=number + 1 if used else 0, misfits=tuple(misfits))
