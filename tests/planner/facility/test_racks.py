"""What goes into which rack, on which circuit, and where its heat goes."""

from collections import Counter
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.metal_types import Cooling, PowerSupplies
from planner.facility.power import Kind, Machines, carried_kw, heat, litres_per_minute, tons
from planner.facility.racks import Placed, Rack, circuits, nodes_per_rack, outlets, pack
from settings.facility import Circuit
from tests.planner.facility.machines import nodes, others
from tests.planner.site import planned_site

LARGE = Circuit(volts=415, phases=3, amperes=60)
SMALL = Circuit(volts=400, phases=3, amperes=32)


@pytest.mark.parametrize(
    ("units", "kw", "fits"),
    [(42, 60, 4), (42, 41, 3), (42, 51, 4), (48, 100, 6), (42, 12, 0), (16, 60, 2), (42, 12.75, 1)],
)
def test_nodes_of_a_rack(units: int, kw: float, fits: int) -> None:
    """metal 2.12, H16, PW09: floor(rack kW x 0.8 / 10.2), and 8 units each; four nodes draw 41 kW and need 51."""
    assert nodes_per_rack(8, 10.2, units, kw) == fits


def test_eight_nodes_fit_two_racks_by_units_and_not_by_power() -> None:
    """PW09: 64 units fit into 2 x 42, but four nodes draw 41 kW."""
    assert [rack.nodes for rack in pack([nodes(8)], units=42, rack_kw=60).racks] == [4, 4]
    assert [rack.nodes for rack in pack([nodes(8)], units=42, rack_kw=26).racks] == [2, 2, 2, 2]
    assert pack([nodes(4)], units=42, rack_kw=60).racks[0].kw == pytest.approx(40.8)


def test_nodes_and_what_serves_them_alternate() -> None:
    """B20: the order is fixed, so that a plan never moves by itself."""
    plan = pack([nodes(3), others(1), others(2, 900, 1, Kind.CONTROL)], units=42, rack_kw=60)
    names = [[each.name for each in rack.placed] for rack in plan.racks]
    assert names == [["node-0", "switch-0", "node-1", "control-0", "node-2", "control-1"]]
    assert (plan.racks[0].units, plan.racks[0].nodes) == (27, 3)


def test_what_fits_nowhere_is_named() -> None:
    """H16: a node of 14.3 kW does not go into a rack of 17 kW, of which it may draw 13.6, nor 10 units into 9."""
    plan = pack([nodes(2, watts=14_300, rack_units=10), others(1)], units=42, rack_kw=17)
    assert [each.name for each in plan.misfits] == ["node-0", "node-1"]
    assert [rack.nodes for rack in plan.racks] == [0]
    assert len(pack([nodes(1, watts=1000, rack_units=10)], units=9, rack_kw=60).misfits) == 1


def _rack(*machines: Machines) -> Rack:
    (rack,) = pack(machines, units=60, rack_kw=1000).racks
    return rack


def test_a_circuit_for_each_node() -> None:
    """PW03, H04: a 32 A three-phase circuit carries one node of 10.2 kW, so four nodes take four."""
    wired = circuits(_rack(nodes(4)), SMALL, feeds=1)
    assert wired.per_feed == 4
    assert [(feed.machine, feed.circuit) for feed in wired.feeds] == [(f"node-{n}", n) for n in range(4)]


def test_both_feeds_carry_everything() -> None:
    """H17: each node hangs on A and on B, with its full load on either."""
    wired = circuits(_rack(nodes(4)), LARGE, feeds=2)
    assert wired.per_feed == 2
    of_first = [feed for feed in wired.feeds if feed.machine == "node-0"]
    assert [(feed.feed, feed.circuit, feed.kw) for feed in of_first] == [("A", 0, 10.2), ("B", 0, 10.2)]
    for feed in "AB":
        loads = [sum(each.kw for each in wired.feeds if (each.feed, each.circuit) == (feed, n)) for n in (0, 1)]
        assert loads == [pytest.approx(30.6), pytest.approx(10.2)]


def test_a_large_node_takes_several_circuits() -> None:
    """H04, item 10: three cords of a feed carry 3.4 kW each, so circuits of 5.9 kW take one each, of 8.8 kW two."""
    wired = circuits(_rack(nodes(1)), Circuit(volts=230, phases=1, amperes=32), feeds=2)
    assert (wired.per_feed, wired.misfits) == (3, ())
    assert {round(feed.kw, 6) for feed in wired.feeds} == {3.4}
    assert wired.machines == (("node-0",), ("node-0",), ("node-0",))
    larger = circuits(_rack(nodes(1)), Circuit(volts=230, phases=1, amperes=48), feeds=2)
    assert [feed.kw for feed in larger.feeds if feed.feed == "A"] == [pytest.approx(6.8), pytest.approx(3.4)]
    assert circuits(_rack(nodes(1)), Circuit(volts=230, phases=1, amperes=16), feeds=2).misfits == ("node-0",)
    assert circuits(_rack(nodes(1)), Circuit(volts=230, phases=1, amperes=16), feeds=1).misfits == ()


def test_an_empty_rack_takes_no_circuit() -> None:
    """Nothing hangs on nothing."""
    assert circuits(Rack(placed=()), LARGE, feeds=2).per_feed == 0


MACHINES = st.lists(
    st.builds(
        others,
        st.integers(0, 30),
        st.integers(100, 3000),
        st.integers(1, 4),
        st.sampled_from([Kind.STORAGE, Kind.SWITCH]),
    ),
    max_size=4,
)


@given(count=st.integers(0, 60), rest=MACHINES, units=st.integers(20, 60), rack_kw=st.floats(15, 120))
def test_more_nodes_never_need_fewer_racks(count: int, rest: list[Machines], units: int, rack_kw: float) -> None:
    """B20: one node more, or a lower limit, and the racks are as many or more."""
    racks = len(pack([nodes(count), *rest], units=units, rack_kw=rack_kw).racks)
    assert len(pack([nodes(count + 1), *rest], units=units, rack_kw=rack_kw).racks) >= racks
    assert len(pack([nodes(count), *rest, others(1)], units=units, rack_kw=rack_kw).racks) >= racks
    assert len(pack([nodes(count), *rest], units=units + 1, rack_kw=rack_kw).racks) <= racks
    assert len(pack([nodes(count), *rest], units=units, rack_kw=rack_kw * 1.3).racks) <= racks


@given(count=st.integers(0, 60), rest=MACHINES, units=st.integers(20, 60), rack_kw=st.floats(15, 120))
def test_every_machine_has_one_place_within_the_limits(
    count: int, rest: list[Machines], units: int, rack_kw: float
) -> None:
    """B20, H16: nothing is lost, nothing stands twice, no rack is over its units or 80 % of its power."""
    machines = [nodes(count), *rest]
    plan = pack(machines, units=units, rack_kw=rack_kw)
    placed = [each for rack in plan.racks for each in rack.placed]
    assert len(placed) + len(plan.misfits) == sum(each.count for each in machines)
    assert all(rack.units <= units and rack.kw <= rack_kw * 0.8 + 1e-6 for rack in plan.racks)
    assert pack(machines, units=units, rack_kw=rack_kw) == plan


@given(
    loads=st.lists(st.tuples(st.floats(0.1, 60), st.integers(1, 12)), min_size=1, max_size=12),
    amperes=st.floats(16, 125),
    more=st.floats(1, 3),
    feeds=st.sampled_from([1, 2]),
)
def test_circuits_are_never_overloaded(loads: list[tuple[float, int]], amperes: float, more: float, feeds: int) -> None:
    """H04, H17: what hangs on a circuit is within 80 % of its rating, on each feed, which carries all of a machine."""
    placed = tuple(
        Placed(name=f"m{n}", kind=Kind.NODE, rack_units=1, kw=kw, cords=cords) for n, (kw, cords) in enumerate(loads)
    )
    circuit = Circuit(volts=400, phases=3, amperes=amperes)
    wired = circuits(Rack(placed=placed), circuit, feeds)
    for feed in "AB"[:feeds]:
        for number in range(wired.per_feed):
            load = sum(each.kw for each in wired.feeds if (each.feed, each.circuit) == (feed, number))
            assert 0 < load <= circuit.usable_kw + 1e-6
    connected = {each.machine for each in wired.feeds}
    assert connected.isdisjoint(wired.misfits)
    assert len(connected) + len(wired.misfits) == len(loads)
    larger = circuits(Rack(placed=placed), Circuit(volts=400, phases=3, amperes=amperes * more), feeds)
    assert set(larger.misfits) <= set(wired.misfits)
    in_parts, in_larger = (Counter(each.machine for each in laid.feeds) for laid in (wired, larger))
    if in_parts == in_larger:
        assert larger.per_feed <= wired.per_feed
    # Machines take the circuits in their order, so two neighbours always hold more than one circuit carries.
    carried = sum(each.kw for each in wired.feeds if each.feed == "A")
    assert carried == pytest.approx(sum(each.kw for each in placed if each.name in connected))
    assert wired.per_feed // 2 * circuit.usable_kw <= carried + 1e-6


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
    ("kind", "liquid", "air"), [(Cooling.AIR, 0, 23.8), (Cooling.DLC, 17.34, 6.46), (Cooling.IMMERSION, 20.4, 3.4)]
)
def test_where_heat_goes(kind: Cooling, liquid: float, air: float) -> None:
    """H08, H12: baths take all of 20.4 kW, cold plates 85 %, and the room's air the rest and that of switches."""
    split = heat([nodes(2), others(2)], kind)
    assert [split.liquid_kw, split.air_kw] == pytest.approx([liquid, air])


@given(kw=st.floats(0.1, 1e5), more=st.floats(0, 1e5), kelvin=st.floats(1, 60))
def test_more_heat_never_needs_fewer_litres(kw: float, more: float, kelvin: float) -> None:
    """PW08: flow grows with heat, shrinks with warming, and carries what it was computed for."""
    flow = litres_per_minute(kw, kelvin)
    assert litres_per_minute(kw + more, kelvin) >= flow
    assert litres_per_minute(kw, kelvin + 1) <= flow
    assert carried_kw(flow, kelvin) == pytest.approx(kw)


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
def test_an_outlet_is_by_what_a_supply_draws(volts: float, phases: Literal[1, 3], watts: int, kind: str) -> None:
    """H05: 400 V between phases are 231 V at an outlet; 208 V are 208 V."""
    supplies = PowerSupplies(count=6, watts=watts, redundant=2)
    nodes = Machines(name="n", kind=Kind.NODE, count=8, rack_units=8, watts=10_200, cords=6, supplies=supplies)
    assert outlets([nodes], Circuit(volts=volts, phases=phases, amperes=63)) == {kind: 48}


def test_the_checklist_names_them() -> None:
    """H05: eight DGX H100 of six supplies take 48 outlets of 16 A."""
    items = {check.item for check in planned_site().checklist}
    assert "48 outlets C19" in items
    assert any(item.endswith("outlets C13") for item in items)
