"""Heat: all power becomes heat. Tons of refrigeration, and litres per minute of a water loop."""

from collections.abc import Sequence
from dataclasses import dataclass

from catalogue.metal_types import Cooling
from planner.facility.machines import Kind, Machines, kw

KW_PER_TON = 3.517
WATER_KJ_PER_LITRE_K = 4.18
_SECONDS_PER_MINUTE = 60


@dataclass(frozen=True, kw_only=True)
class Heat:
    """kW that go into a liquid and kW that go into the room's air.

    Cold plates leave a part of a node's heat to the air, which depends on the model: the loop is sized for all of it.
    """

    liquid_kw: float
    air_kw: float


def heat(machines: Sequence[Machines], cooling: Cooling) -> Heat:
    """Where the heat goes in a room that cools its nodes in that way. Only nodes are cooled by liquid."""
    total, nodes = kw(machines), kw(machines, Kind.NODE)
    liquid = nodes if cooling is not Cooling.AIR else 0.0
    return Heat(liquid_kw=liquid, air_kw=total - liquid)


def tons(heat_kw: float) -> float:
    """Tons of refrigeration."""
    return heat_kw / KW_PER_TON


def litres_per_minute(heat_kw: float, delta_k: float) -> float:
    """Flow of water that carries `heat_kw` when it warms by `delta_k` kelvin."""
    return heat_kw * _SECONDS_PER_MINUTE / (WATER_KJ_PER_LITRE_K * delta_k)


def carried_kw(litres_per_minute_: float, delta_k: float) -> float:
    """Heat that such a flow carries when it warms by `delta_k` kelvin."""
    return litres_per_minute_ * WATER_KJ_PER_LITRE_K * delta_k / _SECONDS_PER_MINUTE
