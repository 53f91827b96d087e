"""What a machine's chassis say of power supplies, fans and the air that comes in, as Prometheus reads it.

Source of members: DMTF Redfish schemas Power, Thermal, PowerSupply, Fan, ThermalMetrics, Chassis (DSP2046).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import exposed
from exposed import Sample

from redfish import ROOT, Document, Reader, inside, link, number, rows, text

HELP = {
    "bmc_up": "Whether the controller of the node answered.",
    "bmc_power_supply_ok": "Whether a power supply is in its place, on and healthy.",
    "bmc_fan_ok": "Whether a fan is healthy.",
    "bmc_inlet_celsius": "Temperature of the air that comes in.",
    "bmc_power_watts": "What the machine draws.",
}


def read(reader: Reader, node: str) -> list[Sample]:
    """What the chassis of this node's machine say."""
    systems = reader.members(link(reader.must(ROOT), "Systems"))
    named = [text(each, "@odata.id") for system in systems for each in rows(inside(system, "Links"), "Chassis")]
    found: list[Sample] = []
    for path in dict.fromkeys(named):
        chassis = reader.may(path)
        found += [*_supplies(reader, chassis), *_air(reader, chassis)]
    # A machine of several chassis may show a part in two of them.
    return list(
        {(name, *labels.values()): (name, {"node": node, **labels}, value) for name, labels, value in found}.values()
    )


def _supplies(reader: Reader, chassis: Document) -> Iterator[Sample]:
    """Of PowerSubsystem (since 2020.4), or of Power, which older controllers have alone and some newer ones fill."""
    power = reader.may(link(chassis, "Power"))
    subsystem = reader.may(link(chassis, "PowerSubsystem"))
    supplies = list(reader.members(link(subsystem, "PowerSupplies"))) or rows(power, "PowerSupplies")
    for each in supplies:
        if inside(each, "Status").get("State") != "Absent":
            yield "bmc_power_supply_ok", {"supply": _name(each)}, float(_well(each))
    drawn = [number(each, "PowerConsumedWatts") for each in rows(power, "PowerControl")[:1]]
    metrics = reader.may(link(chassis, "EnvironmentMetrics")) if not any(drawn) else {}
    for watts in (*drawn, number(inside(metrics, "PowerWatts"), "Reading")):
        if watts:
            yield "bmc_power_watts", {}, watts


def _air(reader: Reader, chassis: Document) -> Iterator[Sample]:
    """Of Thermal, or of ThermalSubsystem, which replaces it."""
    thermal = reader.may(link(chassis, "Thermal"))
    subsystem = reader.may(link(chassis, "ThermalSubsystem"))
    for each in list(reader.members(link(subsystem, "Fans"))) or rows(thermal, "Fans"):
        if inside(each, "Status").get("State") != "Absent":
            yield "bmc_fan_ok", {"fan": _name(each)}, float(_well(each))
    inlets = [each for each in rows(thermal, "Temperatures") if each.get("PhysicalContext") == "Intake"]
    for each in inlets:
        if (celsius := number(each, "ReadingCelsius")) is not None:
            yield "bmc_inlet_celsius", {"sensor": _name(each)}, celsius
    if not inlets:
        metrics = reader.may(link(subsystem, "ThermalMetrics"))
        intake = inside(inside(metrics, "TemperatureSummaryCelsius"), "Intake")
        if (celsius := number(intake, "Reading")) is not None:
            yield "bmc_inlet_celsius", {"sensor": "Intake"}, celsius


def page(samples: Sequence[Sample]) -> str:
    """The samples as Prometheus reads them."""
    return exposed.page(HELP, samples)


def _well(part: Document) -> bool:
    status = inside(part, "Status")
    return status.get("Health") in (None, "OK") and status.get("State") not in ("Disabled", "UnavailableOffline")


def _name(part: Document) -> str:
    return next(filter(None, (text(part, key) for key in ("Name", "FanName", "MemberId", "Id"))), "unnamed")
