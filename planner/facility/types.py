"""The room of a stack in numbers: what the machines need of it, rack by rack."""

from dataclasses import dataclass

from planner.facility.cooling import Heat
from planner.facility.machines import Machines
from planner.facility.power import Power


@dataclass(frozen=True, kw_only=True)
class RackLine:
    """A rack of the plan, of `height` units: its machines from the bottom up, and what they take.

    `circuits` counts those of one feed, and `on_circuits` has the machines on each; with two feeds both are alike.
    `overloads` are the machines that draw more than circuits of this kind can bring to their cords.
    """

    height: int
    machines: tuple[str, ...]
    nodes: int
    units: int
    kw: float
    circuits: int
    on_circuits: tuple[tuple[str, ...], ...]
    overloads: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FacilityPlan:
    """What the machines need of the room. `litres_per_minute` is None where nothing is cooled by liquid, or where no
    warming of it is given.

    `misfits` are machines that are too large for any rack. `ups_load_kw` is what the batteries cover, and `ups_kwh` the
    energy for the minutes that are asked for; both None without batteries.
    """

    machines: tuple[Machines, ...]
    power: Power
    heat: Heat
    cooling_tons: float
    litres_per_minute: float | None
    racks: tuple[RackLine, ...]
    misfits: tuple[str, ...]
    circuit_kw: float
    facility_kw: float
    yearly_mwh: float
    usd_per_hour: float
    yearly_usd: float
    ups_load_kw: float | None
    ups_kwh: float | None
