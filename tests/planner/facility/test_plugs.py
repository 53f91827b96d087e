"""Outlets of power strips, by what one supply draws at the strip's own voltage."""

import pytest

from catalogue.metal_types import PowerSupplies
from planner.facility.plugs import outlets
from planner.facility.power import Circuit, Kind, Machines
from tests.planner.site import planned_site


@pytest.mark.parametrize(
    ("volts", "phases", "watts", "kind"),
    [
        (400, 3, 2309, "C13"),
        (400, 3, 2310, "C19"),
        (400, 3, 3300, "C19"),
        (208, 3, 3300, "C19"),
        (208, 3, 3329, "IEC 60309"),
        (230, 1, 2300, "C13"),
        (120, 1, 1300, "C19"),
    ],
)
def test_an_outlet_is_by_what_a_supply_draws(volts: float, phases: int, watts: int, kind: str) -> None:
    """H05: 400 V between phases are 231 V at an outlet; 208 V are 208 V."""
    supplies = PowerSupplies(count=6, watts=watts, redundant=2)
    nodes = Machines(name="n", kind=Kind.NODE, count=8, rack_units=8, watts=10_200, cords=6, supplies=supplies)
    assert outlets([nodes], Circuit(volts=volts, phases=phases, amperes=63)) == {kind: 48}


def test_the_checklist_names_them() -> None:
    """H05: eight DGX H100 of six supplies take 48 outlets of 16 A."""
    items = {check.item for check in planned_site().checklist}
    assert "48 outlets C19" in items
    assert any(item.endswith("outlets C13") for item in items)
