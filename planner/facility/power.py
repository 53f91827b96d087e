"""Power and heat: what the machines draw at most, what a circuit carries, what batteries and power supplies must hold.

A cluster's power is the sum of whole machines at full load; GPUs alone are little more than half of it. All power
becomes heat: tons of refrigeration, and litres per minute of a water loop.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from catalogue.metal_types import Cooling, PowerSupplies, Server, StorageServer
from catalogue.network_types import Switch
from catalogue.units import HOURS_PER_YEAR

_CORDS = 2
"""Power cords of a switch or a storage server, one for each feed."""


class Kind(StrEnum):
    """What a machine is for. `NODE` has GPUs; everything else is what the nodes need to be a cluster."""

    NODE = "node"
    STORAGE = "storage"
    SWITCH = "switch"
    CONTROL = "control"


@dataclass(frozen=True, kw_only=True)
class Machines:
    """`count` equal machines. `watts` is the most one of them draws, `gpu_watts` its GPUs' share of that."""

    name: str
    kind: Kind
    count: int
    rack_units: int
    watts: int
    gpu_watts: int = 0
    cords: int = _CORDS
    supplies: PowerSupplies | None = None

    @property
    def kw(self) -> float:
        """Most that all of them draw."""
        return self.count * self.watts / 1000


def servers(name: str, server: Server, count: int) -> Machines:
    """The machines of a node pool."""
    return Machines(
        name=name,
        kind=Kind.NODE if server.gpu_count else Kind.CONTROL,
        count=count,
        rack_units=server.rack_units,
        watts=server.max_w,
        gpu_watts=server.gpu.tdp_w * server.gpu_count if server.gpu else 0,
        cords=server.power_supplies.count,
        supplies=server.power_supplies,
    )


def storage_servers(name: str, server: StorageServer, count: int) -> Machines:
    """The machines of one kind of storage server."""
    return Machines(name=name, kind=Kind.STORAGE, count=count, rack_units=server.rack_units, watts=server.max_w)


def switches(name: str, switch: Switch, count: int) -> Machines:
    """The switches of one kind."""
    return Machines(name=name, kind=Kind.SWITCH, count=count, rack_units=switch.rack_units, watts=switch.max_w)


def kw(machines: Iterable[Machines], *kinds: Kind) -> float:
    """Most that the machines of those kinds draw; of all kinds if none is named."""
    return sum(each.kw for each in machines if not kinds or each.kind in kinds)


PUMP_KW = 2.0
"""What a running pump of a coolant loop draws, approximately."""

_MINUTES_PER_HOUR = 60


@dataclass(frozen=True, kw_only=True)
class Power:
    """Most that the cluster draws, in kW. `gpus_kw` is part of `nodes_kw`, shown as it is often taken for all of it."""

    gpus_kw: float
    nodes_kw: float
    switches_kw: float
    storage_kw: float
    control_kw: float
    pumps_kw: float
    margin: float

    @property
    def it_kw(self) -> float:
        """All machines: what cooling has to carry away."""
        return self.nodes_kw + self.switches_kw + self.storage_kw + self.control_kw

    @property
    def draw_kw(self) -> float:
        """Machines and the pumps of their coolant loop."""
        return self.it_kw + self.pumps_kw

    @property
    def planned_kw(self) -> float:
        """What to order from the room: the draw and its margin."""
        return self.draw_kw * (1 + self.margin)

    def inputs(self) -> dict[str, str]:
        """The parts by name, with their unit."""
        parts = {
            "nodes": self.nodes_kw,
            "GPUs alone": self.gpus_kw,
            "switches": self.switches_kw,
            "storage": self.storage_kw,
            "control": self.control_kw,
            "pumps": self.pumps_kw,
        }
        return {name: f"{kw_:.1f} kW" for name, kw_ in parts.items()} | {"margin": f"{self.margin:.0%}"}


def power(machines: Sequence[Machines], *, pumps: int = 0, margin: float = 0.0) -> Power:
    """The cluster's power. Of several `pumps` one stands by."""
    return Power(
        gpus_kw=sum(each.count * each.gpu_watts for each in machines) / 1000,
        nodes_kw=kw(machines, Kind.NODE),
        switches_kw=kw(machines, Kind.SWITCH),
        storage_kw=kw(machines, Kind.STORAGE),
        control_kw=kw(machines, Kind.CONTROL),
        pumps_kw=PUMP_KW * max(pumps - 1, min(pumps, 1)),
        margin=margin,
    )


def supplied_w(supplies: PowerSupplies, lost: int | None = None) -> int:
    """Watts that are left when `lost` units have failed; as many as the model calls redundant, if not told."""
    return (supplies.count - (supplies.redundant if lost is None else lost)) * supplies.watts


def survives_a_feed(supplies: PowerSupplies, max_w: float) -> bool:
    """Whether the units on one of two feeds carry the machine at full load."""
    return supplied_w(supplies, supplies.count - supplies.count // 2) >= max_w


def ups_kwh(load_kw: float, minutes: float) -> float:
    """Energy that carries `load_kw` for so many minutes."""
    return load_kw * minutes / _MINUTES_PER_HOUR


def ups_minutes(kwh: float, load_kw: float) -> float:
    """Minutes that `kwh` carry `load_kw`."""
    return kwh * _MINUTES_PER_HOUR / load_kw


def facility_kw(it_kw: float, pue: float) -> float:
    """Power of the whole room: machines, and what cools and feeds them."""
    return it_kw * pue


def yearly_mwh(it_kw: float, pue: float) -> float:
    """Energy of the whole room in a year of full load."""
    return facility_kw(it_kw, pue) * HOURS_PER_YEAR / 1000


def usd_per_hour(it_kw: float, pue: float, usd_per_kwh: float) -> float:
    """Price of the energy of an hour at full load."""
    return facility_kw(it_kw, pue) * usd_per_kwh


def yearly_usd(it_kw: float, pue: float, usd_per_kwh: float) -> float:
    """Price of the energy of a year at full load."""
    return usd_per_hour(it_kw, pue, usd_per_kwh) * HOURS_PER_YEAR


KW_PER_TON = 3.517
WATER_KJ_PER_LITRE_K = 4.18
_SECONDS_PER_MINUTE = 60


_TO_LIQUID = {Cooling.AIR: 0.0, Cooling.DLC: 0.85, Cooling.IMMERSION: 1.0}
"""Part of a node's heat. Cold plates on all processors and GPUs leave 10 to 15 % to the air (Tian et al. 2020, "Summit
and Sierra supercomputer cooling solutions", IBM Journal of Research and Development)."""


@dataclass(frozen=True, kw_only=True)
class Heat:
    """kW that go into a liquid and kW that go into the room's air, together all that the machines draw."""

    liquid_kw: float
    air_kw: float


def heat(machines: Sequence[Machines], cooling: Cooling) -> Heat:
    """Where the heat goes in a room that cools its nodes in that way. Only nodes are cooled by liquid."""
    liquid = kw(machines, Kind.NODE) * _TO_LIQUID[cooling]
    return Heat(liquid_kw=liquid, air_kw=kw(machines) - liquid)


def tons(heat_kw: float) -> float:
    """Tons of refrigeration."""
    return heat_kw / KW_PER_TON


def litres_per_minute(heat_kw: float, delta_k: float) -> float:
    """Flow of water that carries `heat_kw` when it warms by `delta_k` kelvin."""
    return heat_kw * _SECONDS_PER_MINUTE / (WATER_KJ_PER_LITRE_K * delta_k)


def carried_kw(litres_per_minute_: float, delta_k: float) -> float:
    """Heat that such a flow carries when it warms by `delta_k` kelvin."""
    return litres_per_minute_ * WATER_KJ_PER_LITRE_K * delta_k / _SECONDS_PER_MINUTE
