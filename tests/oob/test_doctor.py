"""The doctor asks emulated controllers as it asks real ones."""

from dataclasses import replace

from doctor.machines.controllers import examine
from doctor.results import Status
from settings.site import Controllers
from tests.doctor.test_machines import host
from tests.oob.conftest import Emulated
from tests.oob.emulator import PASSWORD, POWER, USER, dgx, supply
from tests.stacks.test_metal import planned, site


def test_controllers_are_compared_with_inventory_and_plan(emulated: Emulated) -> None:
    told = dgx()
    lost = {"State": "Enabled", "Health": "Critical"}
    told["documents"][POWER]["PowerSupplies"][3] = supply(3, Status=lost)
    one = emulated(**told)
    here, shown = "127.0.0.1", one.certificates.fingerprint
    known = [replace(host(name), bmc=here, bmc_fingerprint=shown) for name in ("dgx-01", "dgx-02")]
    hosts = (*known, replace(host("cp-1"), bmc=here))
    asked = replace(site(), hosts=hosts, controllers=Controllers(user=USER, port=one.port, authority=None))
    found: dict[tuple[str, str, Status], str] = {
        (each.check, each.subject, each.status): each.sentence
        for each in examine(planned(), asked, PASSWORD)
        if each.status is not Status.OK
    }
    fail = Status.FAIL
    assert found.pop(("bmc-supplies", "dgx-01, dgx-02", fail)) == "power supplies without power: PSU3; 1 more may fail"
    assert found.pop(("bmc-serial", "dgx-02", fail)).startswith(
        "the controller belongs to another machine: 1661923000401"
    )
    assert "does not say which certificate" in found.pop(("bmc", "cp-1", fail))
    # What other tests have switched it to.
    assert {check for check, _, _ in found} <= {"bmc-power"}
    assert one.changes() == []
