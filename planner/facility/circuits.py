"""Which circuit feeds which machine. With two feeds each carries everything alone, so both are laid out alike."""

from dataclasses import dataclass
from math import ceil

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
    """Assign a rack's machines to circuits of one kind, in order.

    A machine that draws more than a circuit carries takes several in equal parts, as far as its cords reach: half of
    them with two feeds; what fits on one circuit is not parted. So larger circuits may need one more: 1, 1, 10 and
    2 kW take two of 8.9 kW, where the ten are parted, and three of 11.1 kW.
    """
    assigned: list[Feed] = []
    misfits: list[str] = []
    number, used = 0, 0.0
    for each in rack.placed:
        parts = max(1, ceil(each.kw / circuit.usable_kw - _ROUNDING))
        if parts > max(1, each.cords // feeds):
            misfits.append(each.name)
            continue
        share = each.kw / parts
        for _ in range(parts):
            if used and used + share > circuit.usable_kw + _ROUNDING:
                number, used = number + 1, 0.0
            used += share
            assigned.extend(Feed(machine=each.name, feed=feed, circuit=number, kw=share) for feed in _FEEDS[:feeds])
    return RackCircuits(feeds=tuple(assigned), per_feed=number + 1 if used else 0, misfits=tuple(misfits))
