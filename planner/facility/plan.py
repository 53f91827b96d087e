"""The room of a stack in numbers: from settings and rows to what the machines need of it, rack by rack."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from catalogue.metal_types import Cooling, StorageServer
from catalogue.network_types import Switch
from planner.facility.power import (
    Heat,
    Kind,
    Machines,
    Power,
    facility_kw,
    heat,
    kw,
    litres_per_minute,
    power,
    servers,
    storage_servers,
    switches,
    tons,
    ups_kwh,
    usd_per_hour,
    yearly_mwh,
    yearly_usd,
)
from planner.facility.racks import Rack, RackCircuits, circuits, pack
from planner.pool_types import MetalPoolPlan
from settings.facility import Facility
from settings.metal_storage import MetalStorage


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

    @property
    def circuits(self) -> int:
        """Circuits on a feed of the rack that takes most, each with a power strip."""
        return max((rack.circuits for rack in self.racks), default=0)


def inventory(
    pools: Iterable[MetalPoolPlan],
    storage: MetalStorage,
    rows: Mapping[str, StorageServer],
    fabric: Iterable[tuple[str, Switch, int]] = (),
) -> tuple[Machines, ...]:
    """All machines of a site. `fabric` is (name, row, count) of its switches; unknown rows are left out."""
    nodes = [servers(pool.name, pool.server, pool.count) for pool in pools]
    stores = [storage_servers(each.role, rows[each.row], each.count) for each in storage.servers if each.row in rows]
    return (*nodes, *stores, *(switches(name, row, count) for name, row, count in fabric))


def plan_facility(facility: Facility, machines: Iterable[Machines]) -> FacilityPlan:
    """Everything that stands in the racks against the room's kind of racks, circuits, cooling and batteries."""
    placed = tuple(each for each in machines if each.count)
    section = facility.cooling
    cooling = Cooling(section.kind)
    needed = power(placed, pumps=section.pumps or 0, margin=facility.margin)
    heats = heat(placed, cooling)
    packed = pack(placed, units=facility.racks.units, rack_kw=facility.racks.power_kw)
    covered = _covered_kw(facility, placed, needed)
    flow = litres_per_minute(heats.liquid_kw, section.delta_k) if section.delta_k and heats.liquid_kw else None
    return FacilityPlan(
        machines=placed,
        power=needed,
        heat=heats,
        cooling_tons=tons(needed.it_kw),
        litres_per_minute=flow,
        racks=tuple(
            _line(rack, facility.racks.units, circuits(rack, facility.circuit, facility.feeds)) for rack in packed.racks
        ),
        misfits=tuple(each.name for each in packed.misfits),
        circuit_kw=facility.circuit.usable_kw,
        facility_kw=facility_kw(needed.it_kw, facility.pue),
        yearly_mwh=yearly_mwh(needed.it_kw, facility.pue),
        usd_per_hour=usd_per_hour(needed.it_kw, facility.pue, facility.usd_per_kwh),
        yearly_usd=yearly_usd(needed.it_kw, facility.pue, facility.usd_per_kwh),
        ups_load_kw=covered,
        ups_kwh=ups_kwh(covered, facility.ups.minutes) if facility.ups and covered is not None else None,
    )


def _line(rack: Rack, height: int, wired: RackCircuits) -> RackLine:
    return RackLine(
        height=height,
        machines=tuple(each.name for each in rack.placed),
        nodes=rack.nodes,
        units=rack.units,
        kw=rack.kw,
        circuits=wired.per_feed,
        on_circuits=wired.machines,
        overloads=wired.misfits,
    )


def _covered_kw(facility: Facility, machines: Sequence[Machines], needed: Power) -> float | None:
    if facility.ups is None:
        return None
    if facility.ups.covers == "all":
        return needed.draw_kw
    return kw(machines, Kind.CONTROL, Kind.STORAGE, Kind.SWITCH)
