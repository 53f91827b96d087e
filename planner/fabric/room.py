"""Where devices stand, and how long a cable between two of them is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from planner.fabric.design import FabricDesign, Names, Topology

_UNIT_M = 0.04445
"""A rack unit, 1.75 inches (IEC 60297)."""


_RACKS_PER_ROW, _RACK_PITCH_M, _ROW_PITCH_M = 16, 0.6, 2.7
"""Racks 600 mm wide and 1.2 m deep; from front to front with aisles that alternate between 1.2 and 1.8 m."""
_TRAY_M, _SLACK_M = 2.4, 0.5
"""A cable tray above 48 units; what stays at each end of a cable."""
_SWITCHES_PER_RACK = 16


@dataclass(frozen=True, kw_only=True)
class Position:
    """A device's place: its rack, where that is in the room, and its height in the rack."""

    rack: int
    across_m: float
    along_m: float
    up_m: float


def position(rack: int, unit: int) -> Position:
    """Where a device in that rack (from 0) at that unit (from 1) stands."""
    row, place = divmod(rack, _RACKS_PER_ROW)
    return Position(rack=rack, across_m=place * _RACK_PITCH_M, along_m=row * _ROW_PITCH_M, up_m=unit * _UNIT_M)


def length_m(one: Position, other: Position) -> float:
    """Metres of cable: along the rack inside one, else up to the tray, along rows and racks at right angles, down."""
    slack = _SLACK_M + _SLACK_M
    if one.rack == other.rack:
        return abs(one.up_m - other.up_m) + slack
    up_and_down = (_TRAY_M - one.up_m) + (_TRAY_M - other.up_m)
    return up_and_down + abs(one.across_m - other.across_m) + abs(one.along_m - other.along_m) + slack


@dataclass(frozen=True, kw_only=True)
class Racking:
    """How racks are filled: `nodes` of `node_units` each in one, or 16 switches of `switch_units` each."""

    nodes: int
    node_units: int
    switch_units: int = 1


def arranged(design: FabricDesign, named: Names, racking: Racking) -> dict[str, Position]:
    """Positions of one plane's devices: leaves in the midst of their nodes; what all leaves meet in the room's midst.

    Storage and the subnet manager stand with the first nodes, whose leaves they are on.
    """
    others = _racks(named.others, racking.nodes, racking.node_units)
    blocks = [
        _midst(
            [*([] if first else others), *_racks(named.nodes[first_node:last_node], racking.nodes, racking.node_units)],
            _racks(named.leaves[first:last], _SWITCHES_PER_RACK, racking.switch_units),
        )
        for first, last, first_node, last_node in _blocks(design, _SWITCHES_PER_RACK)
    ]
    central = _racks([*named.spines, *named.cores], _SWITCHES_PER_RACK, racking.switch_units)
    racks = [rack for part in _midst(blocks, [central]) for rack in part]
    return {name: position(number, unit) for number, rack in enumerate(racks) for name, unit in rack}


_Rack = list[tuple[str, int]]
"""Devices of a rack, each with its lowest unit (from 1)."""
_T = TypeVar("_T")


def _racks(names: Sequence[str], per_rack: int, units: int) -> list[_Rack]:
    return [
        [(name, 1 + slot * units) for slot, name in enumerate(names[first : first + per_rack])]
        for first in range(0, len(names), per_rack)
    ]


def _midst(around: Sequence[_T], middle: Sequence[_T]) -> list[_T]:
    half = len(around) // 2
    return [*around[:half], *middle, *around[half:]]


def _blocks(design: FabricDesign, leaves_per_rack: int) -> Iterator[tuple[int, int, int, int]]:
    """Leaves that stand together, and their nodes: (first leaf, behind the last, first node, behind the last)."""
    demand, rail_optimised = design.demand, design.topology is Topology.RAIL_OPTIMISED
    leaves = demand.rails if rail_optimised else leaves_per_rack
    places = design.down if rail_optimised else leaves * design.down // demand.rails
    taken = demand.extra_slots if rail_optimised else -(-demand.extra_ports // demand.rails)
    count = -(-design.leaves // leaves)
    for block in range(count):
        first, last = (max(0, number * places - taken) for number in (block, block + 1))
        yield block * leaves, (block + 1) * leaves, first, demand.nodes if block == count - 1 else last
