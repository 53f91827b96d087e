"""What controllers say beside inventory and plan; a controller that is a process is asked in tests/oob."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from doctor.machines.controllers import CHECKS, compared, examine
from doctor.results import Result, Status
from oob.access import UnaskedError
from oob.machine import Drive, Machine, Supply
from planner.metal_types import MetalPlan
from planner.site import HostPlan
from settings.site import Controllers
from tests.stacks.test_metal import planned, site

HOSTS = list(site().hosts)


def whole(host: HostPlan) -> Machine:
    """A machine that is what the plan says."""
    pool = planned().pools.get(str(host.pool))
    count = pool.server.power_supplies.count if pool else 2
    model = {"DGX H100": "DGXH100", "Dell PowerEdge R660": "PowerEdge R660"}.get(pool.server.name if pool else "")
    return Machine(
        consoles=(),
        path="/redfish/v1/Systems/1",
        serials=(str(host.serial),),
        maker=None,
        model=model,
        power="On",
        health="OK",
        memory_gib=pool.server.memory_gib if pool else 512,
        bios="1.06",
        controller="24.09",
        next_boot=None,
        boot_order=(),
        supplies=tuple(Supply(name=f"PSU{number}", health="OK", state="Enabled") for number in range(count)),
        redundancy="OK",
        drives=(Drive(name="NVMe 1", serial="D1", health="OK"),),
        inlet_celsius=24,
    )


def told(others: dict[str, Machine | UnaskedError] | None = None, plan: MetalPlan | None = None) -> tuple[Result, ...]:
    def ask(host: HostPlan) -> Machine:
        found = (others or {}).get(host.name, whole(host))
        if isinstance(found, UnaskedError):
            raise found
        return found

    return compared(plan or planned(), HOSTS, ask)


def wrong(results: Iterable[Result]) -> list[Result]:
    return [each for each in results if each.status is not Status.OK]


def of(name: str, **changes: Any) -> dict[str, Machine | UnaskedError]:
    host = next(each for each in HOSTS if each.name == name)
    return {name: replace(whole(host), **changes)}


def test_a_site_as_planned_has_one_line_for_each_check() -> None:
    assert [(each.status, each.check) for each in told()] == [(Status.OK, check) for check in CHECKS]


def supplies(count: int, failed: int = 0) -> tuple[Supply, ...]:
    return tuple(
        Supply(name=f"PSU{number}", health="Critical" if number < failed else "OK", state="Enabled")
        for number in range(count)
    )


CASES: dict[str, tuple[str, Status, dict[str, Any], str]] = {
    "another machine's": (
        "bmc-serial",
        Status.FAIL,
        {"serials": ("OTHER",)},
        "the controller belongs to another machine: OTHER, not 1661923000403",
    ),
    "no serial": ("bmc-serial", Status.UNKNOWN, {"serials": ()}, "reports no serial number"),
    "another model": ("bmc-model", Status.WARN, {"model": "DGXH200"}, "it is a DGXH200, and the plan has a DGX H100"),
    "off": ("bmc-power", Status.FAIL, {"power": "Off"}, "its power is Off"),
    "no power state": ("bmc-power", Status.UNKNOWN, {"power": None}, "its power is unknown"),
    "unwell": ("bmc-health", Status.FAIL, {"health": "Critical"}, "reports health Critical"),
    "a module less": ("bmc-memory", Status.FAIL, {"memory_gib": 1920.0}, "sees 1920 GiB of memory, and a DGX H100 has"),
    "no memory": ("bmc-memory", Status.UNKNOWN, {"memory_gib": None}, "does not report its memory"),
    "a supply less": (
        "bmc-supplies",
        Status.FAIL,
        {"supplies": supplies(5)},
        "it has 5 power supplies, and a DGX H100 6",
    ),
    "a supply failed": (
        "bmc-supplies",
        Status.FAIL,
        {"supplies": supplies(6, 1)},
        "without power: PSU0; 1 more may fail",
    ),
    "two failed": ("bmc-supplies", Status.FAIL, {"supplies": supplies(6, 2)}, "PSU0, PSU1; no other may fail"),
    "no redundancy": ("bmc-supplies", Status.FAIL, {"redundancy": "Warning"}, "are not redundant"),
    "no supplies": ("bmc-supplies", Status.UNKNOWN, {"supplies": None}, "reports no power supplies"),
    "a drive": (
        "bmc-drives",
        Status.FAIL,
        {"drives": (Drive(name="NVMe 3", serial="D3", health="Warning"),)},
        "drives have failed or are about to: NVMe 3",
    ),
    "older firmware": ("bmc-firmware", Status.WARN, {"bios": "1.01"}, "BIOS is 1.01, and most of its pool has 1.06"),
    "an older controller": (
        "bmc-firmware",
        Status.WARN,
        {"controller": "23.1"},
        "firmware is 23.1, and most of its pool",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_as_planned_is_named(case: str) -> None:
    check, status, changes, words = CASES[case]
    (found,) = wrong(told(of("dgx-03", **changes)))
    assert (found.check, found.subject, found.status) == (check, "dgx-03", status)
    assert words in found.sentence
    assert found.remedy


@pytest.mark.parametrize(
    "changes", [{"drives": None}, {"model": None}, {"health": None}, {"bios": None, "controller": None}]
)
def test_what_a_controller_leaves_out_is_no_failure(changes: dict[str, Any]) -> None:
    assert wrong(told(of("dgx-03", **changes))) == []


def test_a_server_of_the_file_system_is_compared_with_the_inventory_alone() -> None:
    assert wrong(told(of("oss-1", supplies=None, memory_gib=None, model="anything"))) == []
    (found,) = wrong(told(of("oss-1", serials=("OTHER",))))
    assert found.subject == "oss-1"


def test_a_controller_that_cannot_be_asked_is_a_failure_by_name() -> None:
    silent: dict[str, Machine | UnaskedError] = {
        name: UnaskedError("it does not answer", "see that it has power") for name in ("dgx-02", "cp-1")
    }
    results = told(silent)
    (found,) = wrong(results)
    assert (found.check, found.status, found.subject) == ("bmc", Status.FAIL, "cp-1, dgx-02")
    assert found.sentence == "its controller cannot be queried: it does not answer"
    assert "15 as the plan says" in {each.sentence for each in results if each.check == "bmc-serial"}


def test_without_words_or_a_password_nobody_is_asked() -> None:
    bare, named = replace(site(), controllers=None), Controllers(user="ops", port=443, authority=None)
    (found,) = examine(planned(), bare, "secret")
    assert (found.status, found.remedy) == (Status.UNKNOWN, "add inventory.controllers")
    (found,) = examine(planned(), replace(site(), controllers=named), None)
    assert (found.status, found.remedy) == (Status.UNKNOWN, "set BMC_PASSWORD and run again")
    unwired = tuple(replace(each, bmc=None) for each in site().hosts)
    assert examine(planned(), replace(site(), hosts=unwired), None) == ()
