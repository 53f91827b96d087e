"""What is read of a machine's controller, as makers write it, and whom the password is said to (B19)."""

from __future__ import annotations

import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from chassis import page, read
from sensors import Controller, Session, Watch

from components.metal.sensors import sensors_files
from redfish import ROOT, Document
from tests.oob import emulator
from tests.oob.emulator import PASSWORD, USER, Emulator, dgx

CHASSIS = f"{ROOT}Chassis/1"


@dataclass
class Told(Session):
    """A controller of documents."""

    documents: dict[str, Any] = field(default_factory=dict)

    def must(self, path: str) -> Document:
        if path not in self.documents:
            raise ValueError(f"{path} has status 404")
        found: Document = self.documents[path]
        return found


def link(path: str) -> dict[str, str]:
    return {"@odata.id": path}


def said(*, systems: int = 1, **documents: Any) -> set[tuple[str, str, float]]:
    """Name, the part's own name and value of all that is read of a machine with one chassis."""
    base = {
        ROOT: {"Systems": link(f"{ROOT}Systems")},
        f"{ROOT}Systems": {"Members": [link(f"{ROOT}Systems/{each}") for each in range(systems)]},
        **{f"{ROOT}Systems/{each}": {"Id": each, "Links": {"Chassis": [link(CHASSIS)]}} for each in range(systems)},
    }
    below = {f"{CHASSIS}/{name}": document for name, document in documents.items()}
    chassis = {"Id": "1", **{name: link(f"{CHASSIS}/{name}") for name in documents if name[0].isupper()}}
    listed = {f"{CHASSIS}/{name}": each for name, each in documents.pop("more", {}).items()}
    session = Told(Controller("a", "127.0.0.1", 1, "00"), None, documents=base | below | {CHASSIS: chassis} | listed)
    return {(name, "/".join(list(labels.values())[1:]), value) for name, labels, value in read(session, "a")}


WELL, SICK = {"State": "Enabled", "Health": "OK"}, {"State": "Enabled", "Health": "Critical"}


def test_older_controllers_have_power_and_thermal() -> None:
    """What is absent is not there, what has no name is called by its number, what is null says nothing."""
    power = {
        "PowerSupplies": [
            {"Name": "PSU0", "Status": WELL},
            {"MemberId": "1", "Status": SICK},
            {"Name": "PSU2", "Status": {"State": "Absent"}},
            {"Name": "PSU3", "Status": {"State": "UnavailableOffline", "Health": None}},
            {"Name": "PSU4", "Status": {"State": "Enabled"}},
        ],
        "PowerControl": [{"PowerConsumedWatts": 6400}, {"PowerConsumedWatts": 500}],
    }
    thermal = {
        "Fans": [{"FanName": " Fan 1 ", "Status": SICK}, {"Name": "Fan 2", "Status": {"State": "Absent"}}],
        "Temperatures": [
            {"Name": "Inlet", "PhysicalContext": "Intake", "ReadingCelsius": 24.5},
            {"Name": "Inlet 2", "PhysicalContext": "Intake", "ReadingCelsius": None},
            {"Name": "CPU", "PhysicalContext": "CPU", "ReadingCelsius": 80},
        ],
    }
    assert said(Power=power, Thermal=thermal, systems=2) == {
        ("bmc_power_supply_ok", "PSU0", 1),
        ("bmc_power_supply_ok", "1", 0),
        ("bmc_power_supply_ok", "PSU3", 0),
        ("bmc_power_supply_ok", "PSU4", 1),
        ("bmc_power_watts", "", 6400),
        ("bmc_fan_ok", "Fan 1", 0),
        ("bmc_inlet_celsius", "Inlet", 24.5),
    }


def test_newer_controllers_have_subsystems() -> None:
    """Of both only one is read."""
    more = {
        "Supplies": {"Members": [{"Id": "0", "Name": "A", "Status": WELL}, link(f"{CHASSIS}/B")]},
        "B": {"Id": "1", "Name": "B", "Status": SICK},
        "Fans": {"Members": [{"Id": "0", "Name": "F", "Status": WELL}]},
        "Metrics": {"TemperatureSummaryCelsius": {"Intake": {"Reading": 31}}},
    }
    found = said(
        Power={"PowerSupplies": [{"Name": "old", "Status": SICK}]},
        PowerSubsystem={"PowerSupplies": link(f"{CHASSIS}/Supplies")},
        ThermalSubsystem={"Fans": link(f"{CHASSIS}/Fans"), "ThermalMetrics": link(f"{CHASSIS}/Metrics")},
        EnvironmentMetrics={"PowerWatts": {"Reading": 7000.5}},
        more=more,
    )
    assert found == {
        ("bmc_power_supply_ok", "A", 1),
        ("bmc_power_supply_ok", "B", 0),
        ("bmc_fan_ok", "F", 1),
        ("bmc_inlet_celsius", "Intake", 31),
        ("bmc_power_watts", "", 7000.5),
    }


def test_a_controller_that_tells_nothing_is_no_failure() -> None:
    assert said() == said(Power={}, Thermal={"Fans": None, "Temperatures": "many"}) == set()


def test_names_of_parts_cannot_break_the_page() -> None:
    text = page([("bmc_fan_ok", {"node": "a", "fan": 'Lüfter "1"\\\n'}, 1.0)])
    assert 'bmc_fan_ok{node="a",fan="Lüfter \\"1\\"\\\\\\n"} 1\n' in text


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    started = emulator.start(tmp_path_factory.mktemp("bmc"))
    started.tell(**dgx(sessions=True))
    yield started
    started.stop()


def test_the_password_is_said_to_nobody_with_another_certificate(one: Emulator, tmp_path: Path) -> None:
    one.tell(**dgx(sessions=True))
    authority = one.certificates.authority
    stranger = emulator.certificates(tmp_path).authority
    for fingerprint, signed in (("00:11", authority), (None, stranger)):
        session = Session(Controller("a", "127.0.0.1", one.port, fingerprint), signed)
        with pytest.raises(ssl.SSLCertVerificationError):
            session.open(USER, PASSWORD)
    assert one.requests() == []
    opened = Session(Controller("a", "127.0.0.1", one.port), authority).open(USER, PASSWORD)
    assert opened == f"{ROOT}SessionService/Sessions/1"


def test_a_password_that_was_refused_waits_for_another(one: Emulator, tmp_path: Path) -> None:
    """Somebody who asks each minute would lock the account."""
    one.tell(**dgx(sessions=True))
    password = tmp_path / "password"
    watch = Watch([Controller("a", "127.0.0.1", one.port)], one.certificates.authority, USER, password)
    for text, up in (("wrong", 0), ("wrong", 0), (f"{PASSWORD}\n", 1)):
        password.write_text(text)
        watch.look()
        assert f'bmc_up{{node="a"}} {up}\n' in watch.text
    tried = [body["Password"] for method, _, body in one.requests() if method == "POST"]
    assert tried == ["wrong", PASSWORD]


def test_a_pod_is_given_all_that_the_script_imports(tmp_path: Path) -> None:
    for name, text in sensors_files().items():
        (tmp_path / name).write_text(text)
    words = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import sensors"]
    subprocess.run(words, check=True)
