"""Heat and flow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.metal_types import Cooling
from planner.facility.power import carried_kw, heat, litres_per_minute, tons
from tests.planner.facility.machines import nodes, others


@pytest.mark.parametrize(("kw", "expected"), [(81.6, 23.2), (326.4, 92.8), (652.8, 185.6), (3.517, 1)])
def test_tons(kw: float, expected: float) -> None:
    """T3.2: a ton of refrigeration is 3.517 kW."""
    assert tons(kw) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(("kw", "kelvin", "litres"), [(45, 5, 129), (82, 5, 235), (82, 10, 118), (4.18, 1, 60)])
def test_litres_per_minute(kw: float, kelvin: float, litres: float) -> None:
    """T3.2, H09, PW08: kW x 60 / (4.18 x K)."""
    assert litres_per_minute(kw, kelvin) == pytest.approx(litres, abs=0.5)


def test_sixty_litres_carry_half() -> None:
    """PW08: 60 L/min at 5 K carry 20.9 kW, less than half of 45."""
    assert carried_kw(60, 5) == pytest.approx(20.9)


@pytest.mark.parametrize(
    ("kind", "liquid", "air"), [(Cooling.AIR, 0, 23.8), (Cooling.DLC, 20.4, 3.4), (Cooling.IMMERSION, 20.4, 3.4)]
)
def test_where_heat_goes(kind: Cooling, liquid: float, air: float) -> None:
    """H08, H12: liquid takes the nodes' heat, the room's air that of switches and storage."""
    split = heat([nodes(2), others(2)], kind)
    assert [split.liquid_kw, split.air_kw] == pytest.approx([liquid, air])


@given(kw=st.floats(0.1, 1e5), more=st.floats(0, 1e5), kelvin=st.floats(1, 60))
def test_more_heat_never_needs_fewer_litres(kw: float, more: float, kelvin: float) -> None:
    """PW08: flow grows with heat, shrinks with warming, and carries what it was computed for."""
    flow = litres_per_minute(kw, kelvin)
    assert litres_per_minute(kw + more, kelvin) >= flow
    assert litres_per_minute(kw, kelvin + 1) <= flow
    assert carried_kw(flow, kelvin) == pytest.approx(kw)
