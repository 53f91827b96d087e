"""Machines are switched by who types their serial number, and only if the controller says the same."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote as quoted
from typing import Any

import pytest
import yaml

from oob.__main__ import main
from oob.access import opened
from oob.machine import Machine
from oob.power import RefusedError, act
from oob.reading import read
from oob.site import PASSWORD as VARIABLE
from tests.graph.stackfiles import ROOT
from tests.oob.conftest import Emulated
from tests.oob.emulator import PASSWORD, SERIAL, SYSTEM, USER, Emulator, dgx
from tests.typed import handed

RESET = f"{SYSTEM}/Actions/ComputerSystem.Reset"


@pytest.fixture(scope="session")
def machine(running: Emulator) -> Machine:
    """The emulated machine as it is read."""
    running.tell(**dgx())
    with opened(running.controller(), PASSWORD) as root:
        return replace(read(root), power="On")


def done(one: Emulator, machine: Machine, what: str, serial: str = SERIAL) -> str:
    with opened(one.controller(), PASSWORD) as root:
        return act(root, machine, what, serial)


@pytest.mark.parametrize(
    ("what", "power", "sent"),
    [
        ("on", "Off", "On"),
        ("off", "On", "GracefulShutdown"),
        ("force-off", "On", "ForceOff"),
        ("cycle", "On", "ForceRestart"),
    ],
)
def test_each_is_told_once(emulated: Emulated, machine: Machine, what: str, power: str, sent: str) -> None:
    one = emulated(**dgx())
    assert done(one, replace(machine, power=power), what) == f"was told {sent}"
    assert one.changes() == [("POST", RESET, {"ResetType": sent})]


def test_the_next_start_comes_from_the_network_and_no_later_one(emulated: Emulated, machine: Machine) -> None:
    one = emulated(**dgx())
    assert "once" in done(one, machine, "pxe")
    ((method, path, body),) = one.changes()
    assert (method, path) == ("PATCH", SYSTEM)
    assert body["Boot"]["BootSourceOverrideTarget"] == "Pxe"
    assert body["Boot"]["BootSourceOverrideEnabled"] == "Once"
    with opened(one.controller(), PASSWORD) as root:
        assert read(root).next_boot == "Pxe"


@pytest.mark.parametrize(("what", "power"), [("on", "On"), ("off", "Off"), ("force-off", "Off")])
def test_what_is_so_already_is_left_alone(emulated: Emulated, machine: Machine, what: str, power: str) -> None:
    one = emulated(**dgx())
    assert done(one, replace(machine, power=power), what) == f"is {power} already"
    assert one.changes() == []


def test_nothing_gentle_becomes_forced(emulated: Emulated, machine: Machine) -> None:
    """A controller that cannot shut its machine down gently is told so by nobody."""
    told = dgx()
    told["members"][SYSTEM]["Actions"] = {
        "#ComputerSystem.Reset": {
            "target": RESET,
            "ResetType@Redfish.AllowableValues": ["On", "ForceOff", "PowerCycle", "ForceRestart"],
        }
    }
    one = emulated(**told, status={RESET: 200})
    with pytest.raises(RefusedError, match="does not offer GracefulShutdown; it offers ForceOff"):
        done(one, machine, "off")
    assert one.changes() == []
    assert done(one, machine, "cycle") == "was told PowerCycle"


@pytest.mark.parametrize("what", ["on", "cycle", "pxe"])
def test_another_machine_at_the_address_is_left_alone(emulated: Emulated, machine: Machine, what: str) -> None:
    one = emulated(**dgx())
    with pytest.raises(RefusedError, match=f"another machine answers: {SERIAL}"):
        done(one, machine, what, "OTHER")
    with pytest.raises(RefusedError, match="reports no serial number"):
        done(one, replace(machine, serials=()), what)
    assert one.changes() == []


def test_a_late_answer_is_not_asked_for_again(
    emulated: Emulated, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine would be switched as often as its controller is slow."""
    monkeypatch.setattr("oob.access.REQUEST_SECONDS", 1)
    one = emulated(**dgx(), slow={RESET: 2})
    with pytest.raises(Exception, match="did not answer a question within 1 s"):
        done(one, machine, "cycle")
    assert len(one.changes()) == 1


def stack(directory: Path, one: Emulator, **changes: Any) -> None:
    """The committed stack, with this controller as that of the first machine of each range that loopback can have."""
    content = yaml.safe_load((ROOT / "Pulumi.metal.yaml").read_text("utf-8"))
    inventory = content["config"]["gpucluster:inventory"]
    inventory["controllers"] = {"user": USER, "port": one.port}
    inventory["hosts"][1] |= {"bmc": "127.0.0.[1-8]", "bmcFingerprints": [one.certificates.fingerprint] * 8} | changes
    (directory / "Pulumi.metal.yaml").write_text(yaml.safe_dump(content), "utf-8")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, PASSWORD)
    return tmp_path


CONSOLE = "serial console by SSH, port 2200, then type start /SP/console; Press ~. to leave"


def run(*words: str) -> int:
    return main(["--stack", "metal", *words])


def test_a_person_reads_and_switches(emulated: Emulated, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = emulated(**dgx())
    stack(here, one)
    assert run("dgx-01", "status") == 0
    said = capsys.readouterr().out
    for words in (f"DGXH100, serial {SERIAL}", "health OK", "memory 2048 GiB", "PSU5: OK", "at 25 C", CONSOLE):
        assert words in said
    assert run("dgx-01", "log") == 0
    assert "2026-11-02T09:00:00Z Critical: PSU3 lost its input" in capsys.readouterr().out
    assert one.changes() == []
    assert run("dgx-01", "cycle", "--serial", SERIAL) == 0
    assert capsys.readouterr().out == "dgx-01: was told ForceRestart\n"
    assert one.changes() == [("POST", RESET, {"ResetType": "ForceRestart"})]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["dgx-01", "cycle"], 2, "cycle needs a serial number; type SERIAL="),
        (["dgx-01", "cycle", "--serial", "1661923000402"], 2, "'1661923000402' is not dgx-01's serial number"),
        (["dgx-99", "status"], 2, "there is no machine 'dgx-99'; there are cp-1,"),
        (["cp-1", "status"], 1, "does not say which certificate it has"),
    ],
)
def test_a_wrong_word_reaches_no_controller(
    emulated: Emulated, here: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    one = emulated(**dgx())
    stack(here, one)
    assert run(*words) == code
    assert said in capsys.readouterr().err
    assert one.requests() == []


def test_another_machine_behind_the_address_is_told(
    emulated: Emulated, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = emulated(**dgx())
    serials = [f"16619230005{number:02}" for number in range(8)]
    stack(here, one, serials=serials, allowFormat=serials)
    assert run("dgx-01", "status") == 0
    assert f"dgx-01: another machine may be answering: the stack file says {serials[0]}" in capsys.readouterr().out
    assert run("dgx-01", "off", "--serial", serials[0]) == 1
    assert f"nothing was done: another machine answers: {SERIAL}, not {serials[0]}" in capsys.readouterr().err
    assert one.changes() == []


def test_what_is_missing_is_asked_for(
    emulated: Emulated, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = emulated(**dgx())
    stack(here, one)
    monkeypatch.delenv(VARIABLE)
    assert run("dgx-01", "status") == 2
    assert f"{VARIABLE} is not set" in capsys.readouterr().err
    (here / "Pulumi.metal.yaml").write_text((ROOT / "Pulumi.metal.yaml").read_text("utf-8"), "utf-8")
    assert main(["--stack", "nowhere", "dgx-01", "status"]) == 2
    assert "name a stack whose file is in this directory" in capsys.readouterr().err


def test_make_hands_the_words_on_as_they_were_typed() -> None:
    odd = 'it\'s $1; "x"'
    words: Mapping[str, str] = {"NODE": odd, "WHAT": "pxe", "SERIAL": "-x $(id)"}
    line = " ".join(f"{name}={quoted(value)}" for name, value in words.items())
    (seen,) = handed(f"make power STACK=metal {line}")
    assert seen == ["-m", "oob", "--stack", "metal", "--serial=-x $(id)", "--", odd, "pxe"]
