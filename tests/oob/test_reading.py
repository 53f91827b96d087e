"""What controllers of several makers say, and how little some of them say."""

from types import SimpleNamespace
from typing import Any

import pytest
from sushy import exceptions

from oob.access import opened
from oob.machine import Console, Machine, Supply
from oob.reading import entries, read
from tests.oob.conftest import Emulated
from tests.oob.emulator import (
    CHASSIS,
    LOGS,
    MANAGER,
    PASSWORD,
    POWER,
    SERIAL,
    STORE,
    SYSTEM,
    Emulator,
    dgx,
    supply,
)

Documents = dict[str, Any]


class Replayed:
    """A root whose controller answers with these documents, and with 404 for all others."""

    def __init__(self, documents: Documents) -> None:
        self._conn = self
        self._documents = documents

    def get(self, path: str) -> Any:
        if path not in self._documents:
            missing = SimpleNamespace(status_code=404, json=dict)
            raise exceptions.ResourceNotFoundError("GET", path, missing)
        return SimpleNamespace(json=lambda: self._documents[path])


@pytest.fixture(scope="session")
def recorded(running: Emulator) -> Documents:
    """Every document that a reading asks the emulator for, and those of the event log."""
    running.tell(**dgx())
    with opened(running.controller(), PASSWORD) as root:
        entries(root, read(root))
        paths = {path for method, path, _ in running.requests() if method == "GET"}
        found = {path: root._conn.get(path).json() for path in paths}
    return found | {"/redfish/v1/": found["/redfish/v1"]}


def seen(documents: Documents, serial: str | None = SERIAL) -> Machine:
    return read(Replayed(documents), serial)


def changed(documents: Documents, path: str, **members: Any) -> Documents:
    """The documents, with other members of one."""
    return documents | {path: documents.get(path, {}) | members}


def test_an_older_controller_says_its_ways_to_the_console_alone(recorded: Documents) -> None:
    told = {"ServiceEnabled": True, "ConnectTypesSupported": ["SSH", "IPMI", None]}
    older = changed(changed(recorded, SYSTEM, SerialConsole=None), MANAGER, SerialConsole=told)
    assert seen(older).consoles == (Console(way="SSH"), Console(way="IPMI"))
    off = changed(older, MANAGER, SerialConsole=told | {"ServiceEnabled": False})
    assert seen(off).consoles == ()


def test_a_whole_answer(emulated: Emulated) -> None:
    with opened(emulated(**dgx()).controller(), PASSWORD) as root:
        machine = read(root)
    assert (machine.model, machine.serials, machine.health) == ("DGXH100", (SERIAL,), "OK")
    assert (machine.memory_gib, machine.bios, machine.controller) == (2048, "1.06.07", "24.09.17")
    assert machine.supplies is not None
    assert [(each.name, each.watts, each.failed) for each in machine.supplies][:2] == [
        ("PSU0", 3300, False),
        ("PSU1", 3300, False),
    ]
    assert (len(machine.supplies), machine.redundancy, machine.inlet_celsius) == (6, "OK", 25)
    assert machine.drives is not None
    assert [each.serial for each in machine.drives] == ["D1"]


def test_a_dell_is_known_by_its_service_tag(recorded: Documents) -> None:
    dell = {"Manufacturer": "Dell Inc.", "SKU": "JQ7K01", "SerialNumber": "CNFCP0088I00AF"}
    assert seen(changed(recorded, SYSTEM, **dell)).serials == ("JQ7K01", "CNFCP0088I00AF")
    other = {"Manufacturer": "HPE", "SKU": "P55555-B21", "SerialNumber": "CZ1"}
    assert seen(changed(recorded, SYSTEM, **other)).serials == ("CZ1",)


@pytest.mark.parametrize(
    ("path", "members", "expected"),
    [
        (SYSTEM, {"SerialNumber": None}, {"serials": ()}),
        (SYSTEM, {"SerialNumber": "   "}, {"serials": ()}),
        (SYSTEM, {"MemorySummary": None}, {"memory_gib": None}),
        (SYSTEM, {"MemorySummary": {"TotalSystemMemoryGiB": None}}, {"memory_gib": None}),
        (SYSTEM, {"MemorySummary": {"TotalSystemMemoryGiB": "2048"}}, {"memory_gib": None}),
        (SYSTEM, {"PowerState": None, "Status": None}, {"power": None, "health": None}),
        (SYSTEM, {"Boot": None}, {"next_boot": None, "boot_order": ()}),
        (SYSTEM, {"Boot": {"BootOrder": ["Boot0002", None]}}, {"boot_order": ("Boot0002",)}),
        (SYSTEM, {"Links": None}, {"controller": None, "supplies": None, "inlet_celsius": None}),
        (SYSTEM, {"Links": {"Chassis": [{}, None]}}, {"supplies": None}),
        (SYSTEM, {"Storage": None}, {"drives": None}),
        (CHASSIS, {"Power": None}, {"supplies": None, "redundancy": None}),
        (CHASSIS, {"Power": {"@odata.id": f"{CHASSIS}/Nowhere"}}, {"supplies": None}),
        (CHASSIS, {"Thermal": None}, {"inlet_celsius": None}),
        (MANAGER, {"FirmwareVersion": None}, {"controller": None}),
    ],
)
def test_what_is_left_out_is_not_known_and_the_rest_is(
    recorded: Documents, path: str, members: dict[str, Any], expected: dict[str, Any]
) -> None:
    machine = seen(changed(recorded, path, **members))
    assert {name: getattr(machine, name) for name in expected} == expected
    assert machine.model == "DGXH100"


def test_resources_that_are_listed_and_do_not_answer_are_left_out(emulated: Emulated) -> None:
    one = emulated(**dgx(), status={STORE: 500, MANAGER: 404, f"{CHASSIS}/Thermal": 405, POWER: 403})
    with opened(one.controller(), PASSWORD) as root:
        machine = read(root)
    assert (machine.drives, machine.controller, machine.inlet_celsius, machine.supplies) == (None, None, None, None)
    assert machine.serials == (SERIAL,)


def test_power_supplies_of_the_newer_resource(recorded: Documents) -> None:
    """One is not plugged in, one lost its input, and one says nothing of its health."""
    told = changed(recorded, CHASSIS, PowerSubsystem={"@odata.id": f"{CHASSIS}/PowerSubsystem"})
    listed = f"{CHASSIS}/PowerSubsystem/PowerSupplies"
    group = {"Status": {"State": "Enabled", "Health": "Warning"}}
    told |= {
        f"{CHASSIS}/PowerSubsystem": {"PowerSupplies": {"@odata.id": listed}, "PowerSupplyRedundancy": [group]},
        listed: {"Members": [{"@odata.id": f"{listed}/{number}"} for number in range(3)]},
        f"{listed}/0": supply(0, Status={"State": "UnavailableOffline", "Health": None}),
        f"{listed}/1": supply(1, Status={"State": "Absent", "Health": None}),
        f"{listed}/2": supply(2, Status={"State": "Enabled"}, PowerCapacityWatts=None),
    }
    machine = seen(told)
    assert machine.supplies == (
        Supply(name="PSU0", health=None, state="UnavailableOffline", watts=3300),
        Supply(name="PSU2", health=None, state="Enabled", watts=None),
    )
    assert [each.failed for each in machine.supplies] == [True, False]
    assert machine.redundancy == "Warning"


def test_an_empty_newer_resource_gives_way_to_the_older(recorded: Documents) -> None:
    told = changed(recorded, CHASSIS, PowerSubsystem={"@odata.id": f"{CHASSIS}/PowerSubsystem"})
    told[f"{CHASSIS}/PowerSubsystem"] = {"PowerSupplies": None}
    machine = seen(told)
    assert machine.supplies is not None
    assert len(machine.supplies) == 6


def test_of_several_systems_the_one_with_the_serial_number(recorded: Documents) -> None:
    """The GPU board of a DGX is a system of its own, and may come first."""
    board = "/redfish/v1/Systems/HGX_Baseboard_0"
    told = recorded | {
        "/redfish/v1/Systems": {"Members": [{"@odata.id": board}, {"@odata.id": SYSTEM}]},
        board: {"Id": "HGX_Baseboard_0", "Model": "P4387-A05", "SerialNumber": "157"},
    }
    assert seen(told).path == SYSTEM
    assert seen(told, "nobody's").path == board


def test_the_newest_events_come_first_wherever_they_are_kept(recorded: Documents) -> None:
    elsewhere = changed(recorded, SYSTEM, LogServices=None)
    for told in (recorded, changed(elsewhere, MANAGER, LogServices={"@odata.id": LOGS})):
        machine = seen(told)
        assert [each.message for each in entries(Replayed(told), machine)] == ["PSU3 lost its input", "system started"]
        assert [each.message for each in entries(Replayed(told), machine, 1)] == ["PSU3 lost its input"]
    assert entries(Replayed(elsewhere), seen(elsewhere)) == ()


def test_reading_changes_nothing(emulated: Emulated) -> None:
    one = emulated(**dgx())
    with opened(one.controller(), PASSWORD) as root:
        entries(root, read(root))
    assert {method for method, _, _ in one.requests()} == {"GET"}
