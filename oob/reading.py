"""What a controller says of its machine, resource by resource.

Real controllers leave members out, give null, and answer 404 or 500 for resources that they list. None of that ends the
reading: only who cannot be asked for the machine itself has not been read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from sushy import exceptions

from oob.access import ALL_SECONDS, ROOT, UnaskedError
from oob.machine import Drive, Entry, Machine, Supply

Document = Mapping[str, Any]
MOST = 64
"""Members of one collection that are read."""

LOGS = ("SEL", "Sel", "IML", "Log1", "EventLog", "Log")
"""Of hardware events, as DGX, Dell, HPE and Supermicro call theirs."""


class Reader:
    """One controller's documents, within ALL_SECONDS."""

    def __init__(self, connector: Any) -> None:
        self._connector = connector
        self._end = time.monotonic() + ALL_SECONDS

    def must(self, path: str) -> Document:
        """A document without which nothing is known. Raises what sushy raises, and UnaskedError."""
        if time.monotonic() > self._end:
            raise UnaskedError(f"it had not finished answering after {ALL_SECONDS} s", "reset the controller")
        found = self._connector.get(path).json()
        return found if isinstance(found, Mapping) else {}

    def may(self, path: str | None) -> Document:
        """A document, or an empty one where there is none."""
        if path is None:
            return {}
        try:
            return self.must(path)
        except (exceptions.HTTPError, ValueError):
            return {}

    def members(self, path: str | None) -> Iterator[Document]:
        """The documents of a collection; some controllers put them into it, others name them."""
        for each in _list(self.may(path), "Members")[:MOST]:
            yield each if len(each) > 1 else self.may(_text(each, "@odata.id"))


def read(root: Any, serial: str | None = None) -> Machine:
    """The machine of this serial number, or the controller's first: a DGX has its GPU board as a second system."""
    reader = Reader(root._conn)
    systems = _link(reader.must(ROOT), "Systems")
    if systems is None:
        raise UnaskedError("it has no systems", "check whether the address is a machine's controller")
    listed = _list(reader.must(systems), "Members")
    found = [_read(reader, path, known) for path, known in _systems(reader, listed)]
    if not found:
        raise UnaskedError("it reports no data about its machine", "reset the controller, or update its firmware")
    return next((each for each in found if serial in each.serials), found[0])


def entries(root: Any, machine: Machine, most: int = 20) -> tuple[Entry, ...]:
    """The newest events of the hardware's log, newest first; it is kept with the machine or with the controller."""
    reader = Reader(root._conn)
    system = reader.may(machine.path)
    managers = (reader.may(_text(each, "@odata.id")) for each in _list(_dict(system, "Links"), "ManagedBy"))
    for owner in (system, *managers):
        services = {str(each.get("Id")): each for each in reader.members(_link(owner, "LogServices"))}
        for name in (*(each for each in LOGS if each in services), *services):
            found = [_entry(each) for each in _list(reader.may(_link(services[name], "Entries")), "Members")]
            if found:
                return tuple(sorted(found, key=lambda each: each.created, reverse=True)[:most])
    return ()


def _systems(reader: Reader, listed: list[Document]) -> Iterator[tuple[str, Document]]:
    for each in listed[:MOST]:
        if path := _text(each, "@odata.id"):
            yield path, reader.must(path)


def _read(reader: Reader, path: str, system: Document) -> Machine:
    links, boot = _dict(system, "Links"), _dict(system, "Boot")
    chassis = [reader.may(_text(each, "@odata.id")) for each in _list(links, "Chassis")]
    managers = [reader.may(_text(each, "@odata.id")) for each in _list(links, "ManagedBy")]
    supplies, redundancy = _supplies(reader, chassis)
    override = _text(boot, "BootSourceOverrideEnabled")
    return Machine(
        path=path,
        serials=_serials(system),
        maker=_text(system, "Manufacturer"),
        model=_text(system, "Model"),
        power=_text(system, "PowerState"),
        health=_health(system),
        memory_gib=_number(_dict(system, "MemorySummary"), "TotalSystemMemoryGiB"),
        bios=_text(system, "BiosVersion"),
        controller=next(filter(None, (_text(each, "FirmwareVersion") for each in managers)), None),
        next_boot=_text(boot, "BootSourceOverrideTarget") if override in ("Once", "Continuous") else None,
        boot_order=tuple(each for each in boot.get("BootOrder") or () if isinstance(each, str)),
        supplies=supplies,
        redundancy=redundancy,
        drives=_drives(reader, system),
        inlet_celsius=_inlet(reader, chassis),
    )


def _serials(system: Document) -> tuple[str, ...]:
    """A Dell's SerialNumber is its board's; the service tag, which firmware gives as serial number, is its SKU
    (ansible/ansible issue 53461)."""
    names = ("SKU", "SerialNumber") if (_text(system, "Manufacturer") or "").startswith("Dell") else ("SerialNumber",)
    return tuple(found for name in names if (found := _text(system, name)))


def _supplies(reader: Reader, chassis: list[Document]) -> tuple[tuple[Supply, ...] | None, str | None]:
    """Of PowerSubsystem (since 2020.4), or of Power, which older controllers have alone and some newer ones fill."""
    for each in chassis:
        subsystem = reader.may(_link(each, "PowerSubsystem"))
        supplies = list(reader.members(_link(subsystem, "PowerSupplies")))
        groups = _list(subsystem, "PowerSupplyRedundancy")
        if not supplies:
            power = reader.may(_link(each, "Power"))
            supplies, groups = _list(power, "PowerSupplies"), _list(power, "Redundancy")
        if supplies:
            there = [one for one in supplies if _state(one) != "Absent"]
            return tuple(_supply(one) for one in there), next(filter(None, map(_health, groups)), None)
    return None, None


def _supply(supply: Document) -> Supply:
    return Supply(
        name=_text(supply, "Name") or _text(supply, "MemberId") or _text(supply, "Id") or "a power supply",
        health=_health(supply),
        state=_state(supply),
        watts=_number(supply, "PowerCapacityWatts"),
    )


def _drives(reader: Reader, system: Document) -> tuple[Drive, ...] | None:
    found: list[Drive] = []
    for store in reader.members(_link(system, "Storage")):
        for each in _list(store, "Drives")[:MOST]:
            drive = each if len(each) > 1 else reader.may(_text(each, "@odata.id"))
            if drive and _state(drive) != "Absent":
                found.append(_drive(drive))
    return tuple(found) or None


def _drive(drive: Document) -> Drive:
    capacity = _number(drive, "CapacityBytes")
    return Drive(
        name=_text(drive, "Name") or _text(drive, "Id") or "a drive",
        serial=_text(drive, "SerialNumber"),
        health=_health(drive),
        gb=capacity / 1e9 if capacity is not None else None,
    )


def _inlet(reader: Reader, chassis: list[Document]) -> float | None:
    """Degrees Celsius where air comes in: of Thermal, or of ThermalMetrics, which replaces it."""
    for each in chassis:
        for sensor in _list(reader.may(_link(each, "Thermal")), "Temperatures"):
            if sensor.get("PhysicalContext") == "Intake" and (read := _number(sensor, "ReadingCelsius")) is not None:
                return read
        metrics = reader.may(_link(reader.may(_link(each, "ThermalSubsystem")), "ThermalMetrics"))
        intake = _dict(_dict(metrics, "TemperatureSummaryCelsius"), "Intake")
        if (read := _number(intake, "Reading")) is not None:
            return read
    return None


def _entry(entry: Document) -> Entry:
    severity = _text(entry, "Severity") or "unknown"
    return Entry(created=_text(entry, "Created") or "", severity=severity, message=_text(entry, "Message") or "")


def _dict(document: Document, name: str) -> Document:
    found = document.get(name)
    return found if isinstance(found, Mapping) else {}


def _list(document: Document, name: str) -> list[Document]:
    found = document.get(name)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _link(document: Document, name: str) -> str | None:
    return _text(_dict(document, name), "@odata.id")


def _text(document: Document, name: str) -> str | None:
    """Some pad with blanks, and some say nothing with blanks alone."""
    found = document.get(name)
    return found.strip() or None if isinstance(found, str) else None


def _number(document: Document, name: str) -> float | None:
    found = document.get(name)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _health(document: Document) -> str | None:
    return _text(_dict(document, "Status"), "Health")


def _state(document: Document) -> str | None:
    return _text(_dict(document, "Status"), "State")
