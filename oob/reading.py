"""What a controller says of its machine, resource by resource.

What a controller leaves out ends no reading: only who cannot be asked for the machine itself has not been read.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from sushy import exceptions

from oob.access import ALL_SECONDS, UnaskedError
from oob.machine import Console, Drive, Entry, Machine, Supply
from redfish import MOST, ROOT, Document, Reader, inside, link, number, rows, text

LOGS = ("SEL", "Sel", "IML", "Log1", "EventLog", "Log")
"""Of hardware events, as DGX, Dell, HPE and Supermicro call theirs."""


class _Timed(Reader):
    """One controller's documents, within ALL_SECONDS."""

    ABSENT = (exceptions.HTTPError, ValueError)

    def __init__(self, connector: Any) -> None:
        self._connector = connector
        self._end = time.monotonic() + ALL_SECONDS

    def must(self, path: str) -> Document:
        """A document without which nothing is known. Raises what sushy raises, and UnaskedError."""
        if time.monotonic() > self._end:
            raise UnaskedError(f"it had not finished answering after {ALL_SECONDS} s", "reset the controller")
        found = self._connector.get(path).json()
        return found if isinstance(found, Mapping) else {}


def read(root: Any, serial: str | None = None) -> Machine:
    """The machine of this serial number, or the controller's first: a DGX has its GPU board as a second system."""
    reader = _Timed(root._conn)
    systems = link(reader.must(ROOT), "Systems")
    if systems is None:
        raise UnaskedError("it has no systems", "check whether the address is a machine's controller")
    listed = rows(reader.must(systems), "Members")
    found = [_read(reader, path, known) for path, known in _systems(reader, listed)]
    if not found:
        raise UnaskedError("it reports no data about its machine", "reset the controller, or update its firmware")
    return next((each for each in found if serial in each.serials), found[0])


def entries(root: Any, machine: Machine, most: int = 20) -> tuple[Entry, ...]:
    """The newest events of the hardware's log, newest first; it is kept with the machine or with the controller."""
    reader = _Timed(root._conn)
    system = reader.may(machine.path)
    managers = (reader.may(text(each, "@odata.id")) for each in rows(inside(system, "Links"), "ManagedBy"))
    for owner in (system, *managers):
        services = {str(each.get("Id")): each for each in reader.members(link(owner, "LogServices"))}
        for name in (*(each for each in LOGS if each in services), *services):
            found = [_entry(each) for each in rows(reader.may(link(services[name], "Entries")), "Members")]
            if found:
                return tuple(sorted(found, key=lambda each: each.created, reverse=True)[:most])
    return ()


def _systems(reader: Reader, listed: list[Document]) -> Iterator[tuple[str, Document]]:
    for each in listed[:MOST]:
        if path := text(each, "@odata.id"):
            yield path, reader.must(path)


def _read(reader: Reader, path: str, system: Document) -> Machine:
    links, boot = inside(system, "Links"), inside(system, "Boot")
    chassis = [reader.may(text(each, "@odata.id")) for each in rows(links, "Chassis")]
    managers = [reader.may(text(each, "@odata.id")) for each in rows(links, "ManagedBy")]
    supplies, redundancy = _supplies(reader, chassis)
    override = text(boot, "BootSourceOverrideEnabled")
    return Machine(
        path=path,
        serials=_serials(system),
        maker=text(system, "Manufacturer"),
        model=text(system, "Model"),
        power=text(system, "PowerState"),
        health=_health(system),
        memory_gib=number(inside(system, "MemorySummary"), "TotalSystemMemoryGiB"),
        bios=text(system, "BiosVersion"),
        controller=next(filter(None, (text(each, "FirmwareVersion") for each in managers)), None),
        next_boot=text(boot, "BootSourceOverrideTarget") if override in ("Once", "Continuous") else None,
        boot_order=tuple(each for each in boot.get("BootOrder") or () if isinstance(each, str)),
        supplies=supplies,
        redundancy=redundancy,
        drives=_drives(reader, system),
        inlet_celsius=_inlet(reader, chassis),
        consoles=tuple(_consoles(system, managers)),
    )


def _consoles(system: Document, managers: list[Document]) -> Iterator[Console]:
    """Ways to the console: from ComputerSystem.SerialConsole (since 1.13), else from the controller, without ports."""
    ways = inside(system, "SerialConsole")
    named = [(way, inside(ways, way)) for way in ("SSH", "IPMI", "Telnet")]
    found = [(way, said) for way, said in named if said.get("ServiceEnabled")]
    for way, said in found:
        port = number(said, "Port")
        yield Console(
            way=way,
            port=int(port) if port else None,
            enter=text(said, "ConsoleEntryCommand"),
            leave=text(said, "HotKeySequenceDisplay"),
        )
    for each in [] if found else [inside(manager, "SerialConsole") for manager in managers]:
        told = each.get("ConnectTypesSupported") if each.get("ServiceEnabled") else None
        yield from (Console(way=way) for way in told or () if isinstance(way, str))


def _serials(system: Document) -> tuple[str, ...]:
    """A Dell's SerialNumber is its board's; the service tag, which firmware gives as serial number, is its SKU
    (ansible/ansible issue 53461)."""
    names = ("SKU", "SerialNumber") if (text(system, "Manufacturer") or "").startswith("Dell") else ("SerialNumber",)
    return tuple(found for name in names if (found := text(system, name)))


def _supplies(reader: Reader, chassis: list[Document]) -> tuple[tuple[Supply, ...] | None, str | None]:
    """Of PowerSubsystem (since 2020.4), or of Power, which older controllers have alone and some newer ones fill."""
    for each in chassis:
        subsystem = reader.may(link(each, "PowerSubsystem"))
        supplies = list(reader.members(link(subsystem, "PowerSupplies")))
        groups = rows(subsystem, "PowerSupplyRedundancy")
        if not supplies:
            power = reader.may(link(each, "Power"))
            supplies, groups = rows(power, "PowerSupplies"), rows(power, "Redundancy")
        if supplies:
            there = [one for one in supplies if _state(one) != "Absent"]
            return tuple(_supply(one) for one in there), next(filter(None, map(_health, groups)), None)
    return None, None


def _supply(supply: Document) -> Supply:
    return Supply(
        name=text(supply, "Name") or text(supply, "MemberId") or text(supply, "Id") or "a power supply",
        health=_health(supply),
        state=_state(supply),
        watts=number(supply, "PowerCapacityWatts"),
    )


def _drives(reader: Reader, system: Document) -> tuple[Drive, ...] | None:
    found: list[Drive] = []
    for store in reader.members(link(system, "Storage")):
        for each in rows(store, "Drives")[:MOST]:
            drive = reader.whole(each)
            if drive and _state(drive) != "Absent":
                found.append(_drive(drive))
    return tuple(found) or None


def _drive(drive: Document) -> Drive:
    capacity = number(drive, "CapacityBytes")
    return Drive(
        name=text(drive, "Name") or text(drive, "Id") or "a drive",
        serial=text(drive, "SerialNumber"),
        health=_health(drive),
        gb=capacity / 1e9 if capacity is not None else None,
    )


def _inlet(reader: Reader, chassis: list[Document]) -> float | None:
    """Degrees Celsius where air comes in: of Thermal, or of ThermalMetrics, which replaces it."""
    for each in chassis:
        for sensor in rows(reader.may(link(each, "Thermal")), "Temperatures"):
            if sensor.get("PhysicalContext") == "Intake" and (read := number(sensor, "ReadingCelsius")) is not None:
                return read
        metrics = reader.may(link(reader.may(link(each, "ThermalSubsystem")), "ThermalMetrics"))
        intake = inside(inside(metrics, "TemperatureSummaryCelsius"), "Intake")
        if (read := number(intake, "Reading")) is not None:
            return read
    return None


def _entry(entry: Document) -> Entry:
    severity = text(entry, "Severity") or "unknown"
    return Entry(created=text(entry, "Created") or "", severity=severity, message=text(entry, "Message") or "")


def _health(document: Document) -> str | None:
    return text(inside(document, "Status"), "Health")


def _state(document: Document) -> str | None:
    return text(inside(document, "Status"), "State")
