"""What breaks in machines, as their controllers tell it: the real script, the stack's rules in a real Prometheus.

Two controllers are sushy-tools' emulator over TLS, with what it lacks put around it by DMTF's schemas. Each failure
fires its alert alone, and mending ends it (B19, H14). Time passes faster, as in test_alerts_fire.
"""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from components.metal.sensors import sensors_files
from monitoring.limits import Limits, MachineLimits
from rehearsal import places
from rehearsal.processes import Process
from rehearsal.testing.answering import Said, answering
from rehearsal.tests.inside.account import until
from tests.oob.emulator import CHASSIS, PASSWORD, POWER, USER, Emulator, dgx, start, supply

from .prometheus import Asked
from .test_alerts_fire import firing, watched

pytestmark = pytest.mark.engine

THERMAL = f"{CHASSIS}/Thermal"
LIMITS = Limits(
    machines=(MachineLimits(pool="dgx", power_supplies=6, inlet_c=30), MachineLimits(pool="own", power_supplies=6))
)
POOLS = {"dgx-01": "dgx", "own-01": "own"}


def machine(broken: int | None = None, fan: str = "OK", celsius: float = 24) -> dict[str, Any]:
    """A DGX with air, and a power supply that is broken."""
    told = dgx(sessions=True)
    supplies = [supply(each) for each in range(6)]
    if broken is not None:
        supplies[broken]["Status"] = {"State": "Enabled", "Health": "Critical"}
    told["documents"][POWER] |= {"PowerSupplies": supplies, "PowerControl": [{"PowerConsumedWatts": 6400}]}
    told["documents"][THERMAL] = {
        "Fans": [
            {"Name": "FAN1", "Reading": 9000, "Status": {"State": "Enabled", "Health": fan}},
            {"Name": "FAN2", "Status": {"State": "Absent"}},
        ],
        "Temperatures": [
            {"Name": "Inlet", "PhysicalContext": "Intake", "ReadingCelsius": celsius},
            {"Name": "CPU", "PhysicalContext": "CPU", "ReadingCelsius": 70},
        ],
    }
    told["members"][CHASSIS]["Thermal"] = {"@odata.id": THERMAL}
    return told


@dataclass
class Site:
    """Controllers by node, and who asks Prometheus of them."""

    controllers: dict[str, Emulator]
    asked: Asked
    log: Path


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    controllers: dict[str, Emulator] = {}
    port = places.free_port()
    with contextlib.ExitStack() as stack:
        listed = []
        for node in POOLS:
            (tmp_path / node).mkdir()
            controllers[node] = one = start(tmp_path / node)
            stack.callback(one.stop)
            one.tell(**machine())
            pinned = one.certificates.fingerprint if node == "dgx-01" else None
            listed.append({"node": node, "address": "127.0.0.1", "port": one.port, "fingerprint": pinned})
        (tmp_path / "controllers.json").write_text(json.dumps(listed))
        (tmp_path / "password").write_text(PASSWORD)
        (tmp_path / "authority").write_text(controllers["own-01"].certificates.authority)
        for name, text in sensors_files().items():
            (tmp_path / name).write_text(text)
        words = [
            sys.executable,
            str(tmp_path / "sensors.py"),
            f"--controllers={tmp_path / 'controllers.json'}",
            f"--user={USER}",
        ]
        words += [f"--authority={tmp_path / 'authority'}", f"--password={tmp_path / 'password'}"]
        words += [f"--listen={port}", "--look-seconds=1"]
        process = Process("sensors", words, log=tmp_path / "said", cwd=tmp_path)
        process.start()
        stack.callback(process.stop)
        labels = "".join(f'kube_node_labels{{node="{n}",label_gpucluster_pool="{p}"}} 1\n' for n, p in POOLS.items())
        said = Said(labels, headers={"Content-Type": "text/plain; version=0.0.4"})
        nodes = stack.enter_context(answering(lambda _: said))
        targets = [{"targets": [f"{places.LOOPBACK}:{port}", nodes]}]
        ask, prometheus = stack.enter_context(watched(tmp_path, LIMITS, targets))
        until(
            lambda: len(ask("gpucluster:machine:controller_up == 1")) == len(POOLS),
            60,
            f"both answer:\n{process.last_words()}\n{prometheus.last_words()}",
        )
        yield Site(controllers, ask, tmp_path / "said")


def test_what_controllers_say_is_what_prometheus_knows(site: Site) -> None:
    """Of each machine once, with its pool; what is absent is not counted. Nothing at a controller was changed."""
    known = 'gpucluster:machine:power_watts{pool!=""}'
    until(lambda: len(site.asked(known)) == len(POOLS), 30, "all is recorded")
    for what, wanted in {"power_supplies_well": 6, "fan_well": 1, "inlet_celsius": 24, "power_watts": 6400}.items():
        found = site.asked(f"gpucluster:machine:{what}")
        assert {(labels["node"], labels["pool"], value) for labels, value in found} == {
            (node, pool, wanted) for node, pool in POOLS.items()
        }
    for each in site.controllers.values():
        assert each.changes() == []
        sessions = [method for method, path, _ in each.requests() if "/Sessions" in path]
        assert abs(sessions.count("POST") - sessions.count("DELETE")) <= 1, "each session was closed"


def lasting(asked: Asked, wanted: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """What fires once these do and all else had its time."""
    with contextlib.suppress(AssertionError):
        until(lambda: firing(asked) >= wanted, 60, "each fires")
    settled = time.time() + 24
    until(lambda: time.time() > settled, 30, "what else might fire")
    return firing(asked)


@pytest.mark.parametrize(
    ("dgx_01", "own_01", "failures"),
    [
        ({"celsius": 30.0}, {"celsius": 35.0}, None),
        ({"broken": 3}, {"fan": "Critical"}, ("power-supply-lost", "fan-failed")),
        pytest.param({"celsius": 31.0}, {"celsius": 36.0}, ("inlet-hot", "inlet-hot"), marks=pytest.mark.scale),
    ],
    ids=["at-the-limits", "parts", "air"],
)
def test_each_failure_of_a_machine_fires_its_alert_alone_and_mending_ends_it(
    site: Site, dgx_01: dict[str, Any], own_01: dict[str, Any], failures: tuple[str, str] | None
) -> None:
    """The limit of air is the maker's (30 C), and without one the room's (35 C)."""
    for node, change in zip(POOLS, (dgx_01, own_01), strict=True):
        site.controllers[node].tell(**machine(**change))
    wanted = set(zip(failures, POOLS, strict=True)) if failures else set()
    assert lasting(site.asked, wanted) == wanted
    for each in site.controllers.values():
        each.tell(**machine())
    until(lambda: not firing(site.asked), 30, "none is left")


@pytest.mark.scale
def test_a_password_that_is_refused_is_not_tried_again_and_the_silence_is_told(site: Site, tmp_path: Path) -> None:
    """Controllers lock accounts after a few tries. Another password is tried."""
    (tmp_path / "password").write_text("another")
    silent = {("controller-silent", node) for node in POOLS}
    until(lambda: firing(site.asked) == silent, 120, "the silence is told")
    for each in site.controllers.values():
        tried = [body for method, path, body in each.requests() if (method, path[-9:]) == ("POST", "/Sessions")]
        assert [body["Password"] for body in tried if body["Password"] != PASSWORD] == ["another"]
    assert "the login was refused (status 401)" in site.log.read_text()
    (tmp_path / "password").write_text(PASSWORD)
    until(lambda: not firing(site.asked), 30, "none is left")
