"""Which circuit feeds which machine. With two feeds each carries everything alone, so both are laid out alike."""

from dataclasses import dataclass

from planner.facility.power import Circuit
from planner.facility.racks import Rack

_ROUNDING = 1e-9
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
