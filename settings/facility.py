"""The room: racks, circuits, cooling, and what a kilowatt-hour costs."""

from math import sqrt
from typing import Annotated, Literal

from pydantic import Field

from settings.sections import Section

CONTINUOUS = 0.8
"""Share of a breaker's rating that a load may take for hours (NEC 210.20 and 215.3: 125 % of continuous load)."""


MOST_RACKS, MOST_RACK_KW, MOST_COOLING_KW = 4096, 500, 1_000_000


class Racks(Section):
    """Equal racks. `power_kw` is the power limit of one rack."""

    count: Annotated[int, Field(ge=1, le=MOST_RACKS)]
    units: Annotated[int, Field(ge=1, le=60)] = 42
    power_kw: Annotated[float, Field(gt=0, le=MOST_RACK_KW)]


class Circuit(Section):
    """One circuit of a rack. `volts` are between phases where there are three, else to neutral."""

    volts: Annotated[float, Field(ge=100, le=480)]
    phases: Literal[1, 3]
    amperes: Annotated[float, Field(gt=0, le=1000)]

    @property
    def usable_kw(self) -> float:
        """kW that it carries continuously, at power factor 1."""
        return self.volts * self.amperes * (sqrt(3) if self.phases == 3 else 1) * CONTINUOUS / 1000


class Ups(Section):
    """Batteries: their energy, and how long they carry the load."""

    kwh: Annotated[float, Field(gt=0, le=1_000_000)]
    minutes: Annotated[float, Field(gt=0, le=10_080)]
    covers: Annotated[Literal["all", "control"], Field(description="all of it, or control plane and storage only")]


MOST_FLOW_LPM = 10_000_000


class CoolingSection(Section):
    """Cooling of the room. Flow (litres per minute) and temperature rise (kelvin) apply to liquid loops."""

    kind: Literal["air", "dlc", "immersion"]
    capacity_kw: Annotated[float, Field(gt=0, le=MOST_COOLING_KW)]
    flow_lpm: Annotated[float | None, Field(gt=0, le=MOST_FLOW_LPM)] = None
    delta_k: Annotated[float | None, Field(gt=0, le=60)] = None
    pumps: Annotated[int | None, Field(ge=1, le=1000)] = None


class Facility(Section):
    """The room's limits. `feeds` are independent supplies of each rack, `circuits_per_rack` those of one feed, each of
    which has a power strip.
    """

    racks: Racks
    circuit: Circuit
    feeds: Literal[1, 2] = 2
    circuits_per_rack: Annotated[int, Field(ge=1, le=64)] = 1
    ups: Ups | None = None
    pue: Annotated[
        float,
        Field(ge=1, le=5, description="power usage effectiveness: energy of the facility over energy of the machines"),
    ]
    cooling: CoolingSection
    usd_per_kwh: Annotated[float, Field(gt=0, le=10)]
    margin: Annotated[float, Field(ge=0, le=1, description="share of power and cooling kept in reserve")] = 0.1

    def power_strips(self, racks: int, circuits: int = 0) -> int:
        """Those of so many racks, of which one takes so many circuits of a feed; all have as many as that one."""
        return racks * self.feeds * max(self.circuits_per_rack, circuits)
