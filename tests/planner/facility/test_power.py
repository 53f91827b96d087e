"""Power, batteries and energy."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.metal_types import PowerSupplies
from catalogue.servers import SERVERS
from planner.facility.power import (
    Kind,
    facility_kw,
    power,
    servers,
    supplied_w,
    survives_a_feed,
    ups_kwh,
    ups_minutes,
    usd_per_hour,
    yearly_mwh,
    yearly_usd,
)
from settings.facility import Circuit
from tests.planner.facility.machines import nodes, others


@pytest.mark.parametrize(
    ("count", "gpus", "whole"), [(8, 44.8, 81.6), (32, 179.2, 326.4), (64, 358.4, 652.8), (31, 173.6, 316.2)]
)
def test_nodes_draw_almost_twice_what_their_gpus_do(count: int, gpus: float, whole: float) -> None:
    """T3.2, H01, PW01: 700 W a GPU, 10.2 kW a node; 31 nodes are 316 kW."""
    drawn = power([servers("training", SERVERS["DGX H100"], count)])
    assert drawn.gpus_kw == pytest.approx(gpus)
    assert drawn.nodes_kw == drawn.it_kw == pytest.approx(whole)


@pytest.mark.parametrize(
    ("name", "count", "kw"),
    [("DGX H100", 127, 1295), ("DGX H200", 31, 316), ("DGX B200", 10, 143), ("DGX A100", 20, 130)],
)
def test_maxima_of_the_reference_architectures(name: str, count: int, kw: float) -> None:
    """metal 2.12: 10.2 kW for H100 and H200, 14.3 for B200, 6.5 for A100."""
    assert power([servers("n", SERVERS[name], count)]).it_kw == pytest.approx(kw, abs=0.5)


def test_four_b300_nodes_fill_a_rack() -> None:
    """metal 2.12: the B300 architecture plans about 56 kW for a rack of four."""
    assert power([servers("n", SERVERS["ASUS XA NB3I-E12"], 4)]).it_kw == pytest.approx(56, rel=0.05)


@pytest.mark.parametrize(
    ("count", "switches", "object_servers", "kw"), [(8, 4, 4, 94), (32, 12, 6, 350), (64, 24, 8, 700)]
)
def test_the_whole_of_it(count: int, switches: int, object_servers: int, kw: float) -> None:
    """T3.2, PW01, PW07: switches of 1.7 kW and object servers of 1.2 kW come on top of the nodes."""
    machines = [nodes(count), others(switches), others(object_servers, 1200, 2, Kind.STORAGE)]
    assert power(machines).it_kw == pytest.approx(kw, rel=0.015)


def test_every_line_counts() -> None:
    """H03: 2 x 10.2 + 3 x 1.7 + 2 x 1.2 + 3 x 0.9 = 30.6 kW, one of two pumps runs at 2 kW, and 10 % stay free."""
    machines = [nodes(2), others(3), others(2, 1200, 2, Kind.STORAGE), others(3, 900, 1, Kind.CONTROL)]
    drawn = power(machines, pumps=2, margin=0.1)
    assert [drawn.switches_kw, drawn.storage_kw, drawn.control_kw] == pytest.approx([5.1, 2.4, 2.7])
    assert drawn.it_kw == pytest.approx(30.6)
    assert drawn.draw_kw == pytest.approx(32.6)
    assert drawn.planned_kw == pytest.approx(35.86)
    assert drawn.inputs()["GPUs alone"] == "11.2 kW"


@pytest.mark.parametrize(("pumps", "kw"), [(0, 0), (1, 2), (2, 2), (3, 4)])
def test_one_of_several_pumps_stands_by(pumps: int, kw: float) -> None:
    """H09: active and standby."""
    assert power([], pumps=pumps).pumps_kw == kw


@pytest.mark.parametrize(
    ("volts", "phases", "amperes", "kw"),
    [
        (230, 1, 32, 5.9),
        (400, 3, 32, 17.7),
        (400, 3, 63, 34.9),
        (208, 3, 60, 17.3),
        (415, 3, 60, 34.5),
        (240, 1, 30, 5.76),
    ],
)
def test_circuits(volts: float, phases: Literal[1, 3], amperes: float, kw: float) -> None:
    """T3.2, H04, PW03: V x A x sqrt 3 x 0.8; 240 x 30 x 0.8 by hand is 5.76."""
    assert Circuit(volts=volts, phases=phases, amperes=amperes).usable_kw == pytest.approx(kw, abs=0.05)


def test_two_nodes_do_not_share_a_circuit_of_32_amperes() -> None:
    """PW03: 17.7 kW on three phases and 5.9 on one are both less than 2 x 10.2."""
    assert Circuit(volts=400, phases=3, amperes=32).usable_kw < 2 * 10.2
    assert Circuit(volts=230, phases=1, amperes=32).usable_kw < 10.2


@pytest.mark.parametrize(("kw", "minutes", "kwh"), [(81.6, 10, 13.6), (5, 10, 0.83), (30, 6, 3)])
def test_batteries(kw: float, minutes: float, kwh: float) -> None:
    """T3.2, H06, PW06: 81.6 kW for 10 minutes are 13.6 kWh; a unit of 5 kVA gives 0.83."""
    assert ups_kwh(kw, minutes) == pytest.approx(kwh, abs=0.005)
    assert ups_minutes(ups_kwh(kw, minutes), kw) == pytest.approx(minutes)


def test_a_small_unit_lasts_half_a_minute() -> None:
    """PW06: 0.83 kWh under 81.6 kW."""
    assert ups_minutes(5 * 10 / 60, 81.6) == pytest.approx(0.61, abs=0.01)


@pytest.mark.parametrize(
    ("it_kw", "pue", "kw"),
    [
        (81.6, 1.2, 98),
        (81.6, 1.4, 114),
        (326.4, 1.2, 392),
        (326.4, 1.4, 457),
        (652.8, 1.2, 783),
        (652.8, 1.4, 914),
        (94, 1.2, 112),
    ],
)
def test_the_room_draws_more(it_kw: float, pue: float, kw: float) -> None:
    """T3.2, H10, PW02, PW07: 98 to 114 kW for eight nodes, 112 with switches and storage."""
    assert facility_kw(it_kw, pue) == pytest.approx(kw, abs=1)


@pytest.mark.parametrize(("count", "gwh"), [(8, 0.93), (32, 3.7), (64, 7.4)])
def test_energy_of_a_year(count: int, gwh: float) -> None:
    """T3.2, A18: at PUE 1.3 and full load."""
    assert yearly_mwh(count * 10.2, 1.3) / 1000 == pytest.approx(gwh, rel=0.01)


def test_price_of_energy() -> None:
    """H10: 100 kW at PUE 1.5 and 0.20 USD are 30 USD an hour, 262,800 a year."""
    assert usd_per_hour(100, 1.5, 0.2) == pytest.approx(30)
    assert yearly_usd(100, 1.5, 0.2) == pytest.approx(262_800)


def test_what_better_cooling_saves() -> None:
    """PW13, H11: from PUE 1.4 to 1.05 the room takes 25 % less, and never more than 29 %."""
    before, after = facility_kw(1000, 1.4), facility_kw(1000, 1.05)
    assert (before - after) / before == pytest.approx(0.25)
    assert (before - facility_kw(1000, 1.0)) / before < 0.29


@pytest.mark.parametrize(
    ("count", "watts", "redundant", "left"),
    [(6, 3300, 2, 13_200), (2, 3000, 1, 3000), (2, 2000, 1, 2000), (6, 3000, 3, 9000)],
)
def test_what_power_supplies_bring(count: int, watts: int, redundant: int, left: int) -> None:
    """B16, HW02: two supplies of 2 or 3 kW with one to spare bring 2 or 3 kW to a node of 10.2."""
    assert supplied_w(PowerSupplies(count=count, watts=watts, redundant=redundant)) == left


def test_half_the_supplies_hang_on_a_feed() -> None:
    """H17: three of a DGX H100's six supplies are 9.9 kW, three of a DGX A100's 9.0; the latter is enough."""
    assert not survives_a_feed(SERVERS["DGX H100"].power_supplies, 10_200)
    assert survives_a_feed(SERVERS["DGX A100"].power_supplies, 6500)
    assert survives_a_feed(PowerSupplies(count=4, watts=5250, redundant=2), 10_200)


@given(
    count=st.integers(0, 4096),
    more=st.integers(1, 64),
    switches=st.integers(0, 500),
    margin=st.floats(0, 1),
    pue=st.floats(1, 3),
)
def test_more_nodes_never_need_fewer_watts(count: int, more: int, switches: int, margin: float, pue: float) -> None:
    """H01, H02: power, energy and batteries grow with the cluster; GPUs are part of the nodes."""
    few, many = (power([nodes(n), others(switches)], margin=margin) for n in (count, count + more))
    assert few.gpus_kw <= few.nodes_kw <= few.it_kw <= few.planned_kw
    assert few.planned_kw < many.planned_kw
    assert yearly_mwh(few.it_kw, pue) < yearly_mwh(many.it_kw, pue)
    assert ups_kwh(few.draw_kw, 10) < ups_kwh(many.draw_kw, 10)
