"""What goes into which rack. Deterministic, and a larger cluster or a smaller rack never needs fewer racks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import floor

from planner.facility.machines import Kind, Machines

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
