"""Rules about the room and the servers: one change that trips each, and one that does not."""

from dataclasses import replace
from typing import Any

import pytest

from catalogue.metal_types import Cooling, Cpu, PowerSupplies
from catalogue.tables import SHIPPED
from catalogue.whole import Catalogue
from settings.errors import SettingsError
from tests.planner.site import found, planned_site

DLC = {"kind": "dlc", "capacityKw": 140, "flowLpm": 300, "deltaK": 5, "pumps": 2}
LIQUID = "Supermicro SYS-421GE-TNHR2-LCC"


def _with(name: str = "DGX H100", **changes: Any) -> Catalogue:
    row = replace(SHIPPED.servers[name], **changes)
    return replace(SHIPPED, servers={**SHIPPED.servers, name: row})


def test_the_sites_power() -> None:
    """PW01, H02: 8 x 10.2 kW, 12 switches of the fabric, one of storage and two of management, 6 storage and 3 control
    servers; the GPUs are 44.8 kW of it.

    81.6 + 13 x 1.72 + 2 x 0.3 + 4 x 1.2 + 2 x 0.8 + 3 x 0.9 = 113.7.
    """
    facility = planned_site().facility
    assert facility.power.gpus_kw == pytest.approx(44.8)
    assert facility.power.nodes_kw == pytest.approx(81.6)
    assert facility.power.it_kw == pytest.approx(113.66)
    assert facility.facility_kw == pytest.approx(1.3 * 113.66)
    assert facility.cooling_tons == pytest.approx(32.32, abs=0.01)
    assert facility.usd_per_hour == pytest.approx(17.73, abs=0.01)
    assert facility.yearly_usd == pytest.approx(8760 * 17.731, rel=1e-3)
    assert facility.yearly_mwh == pytest.approx(1294.4, abs=0.1)


def test_the_sites_racks() -> None:
    """B20: 92 units and 114 kW in three racks of 48 units and 60 kW; two 34.5 kW circuits a feed carry 47 kW."""
    racks = planned_site().facility.racks
    assert [rack.nodes for rack in racks] == [4, 4, 0]
    assert sum(rack.units for rack in racks) == 8 * 8 + 4 * 2 + 2 + 3 + 15
    assert [rack.circuits for rack in racks] == [2, 2, 1]
    for rack in racks:
        assert sorted(name for circuit in rack.on_circuits for name in circuit) == sorted(rack.machines)
    assert len({name for rack in racks for name in rack.machines}) == 8 + 4 + 2 + 3 + 15


@pytest.mark.parametrize(("racks", "kw", "wrong"), [(1, 125, True), (1, 126, False), (2, 60, True), (2, 63, False)])
def test_power_delivery(racks: int, kw: float, wrong: bool) -> None:
    """PW01, PW04, H02: 113.7 kW and 10 % margin are 125.0; 100 kW, or a rack of 60 kW, is not enough."""
    changes = {"facility.racks": {"count": racks, "units": 48, "powerKw": kw}}
    seen = found("power-delivery", changes)
    assert bool(seen) is wrong
    for finding in seen:
        assert "nodes 81.6, of which GPUs alone 44.8" in finding.sentence
        assert "with margin 125.0" in finding.sentence
        assert finding.remedy.startswith("set it to ")


def test_a_budget_of_gpus_alone_is_refused() -> None:
    """PW01, PW02, PW07: 45 kW for GPUs, 60 kW of delivery and 80 kW of cooling are all below eight nodes' 81.6 kW."""
    changes = {"facility.racks": {"count": 1, "units": 48, "powerKw": 60}, "facility.cooling.capacityKw": 80}
    rules = [finding.rule for finding in planned_site(changes).errors]
    assert {"power-delivery", "cooling-capacity", "rack-count"} <= set(rules)


@pytest.mark.parametrize(("count", "wrong"), [(2, True), (3, False)])
def test_rack_count(count: int, wrong: bool) -> None:
    """PW09, H16: 80 % of 60 kW hold four nodes; power, not units, asks for the third rack."""
    seen = found("rack-count", {"facility.racks.count": count})
    assert bool(seen) is wrong
    for finding in seen:
        assert "machines of 92 units and 113.7 kW fill 3 racks of 48 units and 80% of 60 kW (4 x DGX H100 each)" in str(
            finding
        )
        assert finding.path == "gpucluster:facility.racks.count"


@pytest.mark.parametrize(("kw", "wrong"), [(12.7, True), (12.75, False)])
def test_a_node_fits_an_empty_rack(kw: float, wrong: bool) -> None:
    """H16: 10.2 kW are 80 % of 12.75."""
    seen = found("rack-count", {"facility.racks": {"count": 40, "units": 48, "powerKw": kw}})
    assert bool(seen) is wrong
    assert all("too small for training-0 and 7 more" in finding.sentence for finding in seen)


@pytest.mark.parametrize(("kw", "wrong"), [(60, False), (70, True)])
def test_crowded_racks(kw: float, wrong: bool) -> None:
    """H16: above four GPU nodes in a rack is a warning."""
    seen = found("rack-crowded", {"facility.racks.powerKw": kw})
    assert bool(seen) is wrong
    assert all("5 GPU nodes" in finding.sentence for finding in seen)


@pytest.mark.parametrize(
    ("circuit", "per_rack", "wrong"),
    [
        ({"volts": 415, "phases": 3, "amperes": 60}, 2, False),
        ({"volts": 415, "phases": 3, "amperes": 60}, 1, True),
        ({"volts": 400, "phases": 3, "amperes": 32}, 3, True),
        ({"volts": 400, "phases": 3, "amperes": 32}, 4, False),
    ],
)
def test_circuits(circuit: dict[str, Any], per_rack: int, wrong: bool) -> None:
    """PW03, H04, H17: 47.7 kW take two circuits of 34.5 kW; on 32 A three-phase (17.7 kW) no two nodes share one."""
    seen = found("circuit-load", {"facility.circuit": circuit, "facility.circuitsPerRack": per_rack})
    assert bool(seen) is wrong
    assert all(finding.path == "gpucluster:facility.circuitsPerRack" for finding in seen)


def test_circuits_that_no_cord_reaches() -> None:
    """PW03: 10 A single-phase circuits are 1.8 kW, and the three cords of a node on a feed bring 5.5 of its 10.2 kW."""
    circuit = {"volts": 230, "phases": 1, "amperes": 10}
    seen = found("circuit-load", {"facility.circuit": circuit, "facility.circuitsPerRack": 1})
    assert [finding.path for finding in seen] == ["gpucluster:facility.circuit"]
    assert "circuits of 1.8 kW are too small for training-0 and 7 more" in seen[0].sentence


@pytest.mark.parametrize(("feeds", "wrong"), [(1, True), (2, False)])
def test_one_feed(feeds: int, wrong: bool) -> None:
    """H05, T13: no second feed is a warning."""
    assert bool(found("single-feed", {"facility.feeds": feeds})) is wrong


@pytest.mark.parametrize(
    ("server", "feeds", "wrong"),
    [("DGX H100", 2, True), ("DGX H100", 1, False), (LIQUID, 2, False)],
)
def test_a_lost_feed(server: str, feeds: int, wrong: bool) -> None:
    """H17: three supplies of 3.3 kW are less than 10.2 kW, two of 5.25 kW are more."""
    seen = found("feed-loss", {"pools.1.server": server, "facility.feeds": feeds})
    assert bool(seen) is wrong
    assert all("3 supplies with 9900 W for up to 10200" in finding.sentence for finding in seen)


@pytest.mark.parametrize(
    ("supplies", "wrong"),
    [((2, 3000, 1), True), ((2, 2000, 0), True), ((6, 3300, 2), False), ((4, 3400, 1), False), ((4, 3399, 1), True)],
)
def test_power_supplies(supplies: tuple[int, int, int], wrong: bool) -> None:
    """HW02, B16, H07: 2 x 3000 W and 2 x 2000 W cannot feed 10.2 kW, with or without a spare."""
    count, watts, redundant = supplies
    catalogue = _with(power_supplies=PowerSupplies(count=count, watts=watts, redundant=redundant))
    seen = found("psu-power", catalogue=catalogue)
    assert bool(seen) is wrong
    assert all(finding.path == "gpucluster:pools[1].server" for finding in seen)
    assert all(f"{(count - redundant) * watts} W to DGX H100" in finding.sentence for finding in seen)


@pytest.mark.parametrize(("server", "wrong"), [("Lab box RTX 3060", True), ("Dell PowerEdge R660", False)])
def test_a_single_power_supply(server: str, wrong: bool) -> None:
    """H07, T13: a desktop computer stops with its supply; that is a warning."""
    assert bool(found("psu-spare", {"pools.0.server": server})) is wrong


@pytest.mark.parametrize(
    ("model", "cores", "wrong"),
    [
        ("Intel Xeon Platinum 8592+", 32, True),
        ("Intel Xeon Platinum 8592+", 64, False),
        ("Intel Xeon Platinum 8490H", 128, True),
        ("AMD EPYC 9754", 128, False),
        ("a processor of tomorrow", 200, False),
    ],
)
def test_processors_as_sold(model: str, cores: int, wrong: bool) -> None:
    """HW08, HW09: an 8592+ has 64 cores, not 32; no Sapphire Rapids has more than 60 a socket."""
    seen = found("server-processor", catalogue=_with(cpu=Cpu(model=model, sockets=2, cores=cores)))
    assert bool(seen) is wrong


@pytest.mark.parametrize(("gib", "wrong"), [(256, True), (596, True), (597, False), (2048, False)])
def test_memory_and_gpus(gib: int, wrong: bool) -> None:
    """HW11, B08: 640 GB of GPU memory are 596.05 GiB; "256 GB+" is less."""
    assert bool(found("memory-below-gpus", catalogue=_with(memory_gib=gib))) is wrong


@pytest.mark.parametrize(("kw", "wrong"), [(80, True), (125.0, True), (125.1, False)])
def test_cooling_capacity(kw: float, wrong: bool) -> None:
    """PW02, H02: 80 kW of cooling are below 113.7 kW and 10 %."""
    seen = found("cooling-capacity", {"facility.cooling.capacityKw": kw})
    assert bool(seen) is wrong
    assert all("113.7 kW (32.3 tons; nodes 81.6 kW)" in finding.sentence for finding in seen)


@pytest.mark.parametrize(("flow", "wrong"), [(60, True), (199, True), (200, False)])
def test_coolant_flow(flow: float, wrong: bool) -> None:
    """PW08, H09: 85 % of 81.6 kW at 5 K take 199.1 L/min; 60 carry 20.9 kW."""
    seen = found("coolant-flow", {"pools.1.server": LIQUID, "facility.cooling": {**DLC, "flowLpm": flow}})
    assert bool(seen) is wrong
    assert all(finding.remedy.startswith("set it to 200") for finding in seen)


@pytest.mark.parametrize("missing", ["flowLpm", "deltaK"])
def test_a_loop_without_figures(missing: str) -> None:
    """H09: what cools the nodes is known; an air-cooled room has no loop."""
    cooling = {key: value for key, value in DLC.items() if key != missing}
    (finding,) = found("coolant-flow", {"pools.1.server": LIQUID, "facility.cooling": cooling})
    assert finding.path == f"gpucluster:facility.cooling.{missing}"
    assert found("coolant-flow") == []


@pytest.mark.parametrize(("kelvin", "wrong"), [(5, False), (10, False), (15, False), (30, True)])
def test_loops_are_not_mixed(kelvin: float, wrong: bool) -> None:
    """HW18, H08: the nodes' loop goes in at 40 C and out at 45; 12 to 15 C is the room's chilled water."""
    cooling = {**DLC, "deltaK": kelvin}
    assert bool(found("coolant-loops", {"pools.1.server": LIQUID, "facility.cooling": cooling})) is wrong


@pytest.mark.parametrize(("pumps", "wrong"), [(None, True), (1, True), (2, False)])
def test_pumps(pumps: int | None, wrong: bool) -> None:
    """H09, T13: active and standby."""
    cooling = {key: value for key, value in {**DLC, "pumps": pumps}.items() if value is not None}
    assert bool(found("coolant-pumps", {"pools.1.server": LIQUID, "facility.cooling": cooling})) is wrong


def test_pumps_draw_power() -> None:
    """H03: the running one of two pumps draws 2 kW on top of the machines."""
    power = planned_site({"pools.1.server": LIQUID, "facility.cooling": DLC}).facility.power
    assert [power.pumps_kw, power.draw_kw - power.it_kw] == pytest.approx([2, 2])


@pytest.mark.parametrize(
    ("server", "cooling", "rules"),
    [
        ("DGX H100", {"kind": "air", "capacityKw": 140}, []),
        ("DGX H100", DLC, ["server-retrofit"]),
        (LIQUID, DLC, []),
        (LIQUID, {"kind": "air", "capacityKw": 140}, ["server-cooling"]),
        (LIQUID, {**DLC, "kind": "immersion"}, ["server-cooling"]),
    ],
)
def test_cooling_of_servers(server: str, cooling: dict[str, Any], rules: list[str]) -> None:
    """HW14, B18, H12: DGX H100 is air-cooled as sold; cold plates need a loop, and a bath is neither."""
    changes = {"pools.1.server": server, "facility.cooling": cooling}
    seen = [*found("server-cooling", changes), *found("server-retrofit", changes)]
    assert [finding.rule for finding in seen] == rules


@pytest.mark.parametrize(
    ("kwh", "covers", "wrong"),
    [(0.83, "all", True), (13.6, "all", True), (19, "all", False), (5.3, "control", True), (5.4, "control", False)],
)
def test_batteries(kwh: float, covers: str, wrong: bool) -> None:
    """PW06, H06: ten minutes of 113.7 kW are 18.9 kWh, of the 32.1 kW without nodes 5.3; 5 kVA for ten minutes 0.83."""
    seen = found("ups-energy", {"facility.ups": {"kwh": kwh, "minutes": 10, "covers": covers}})
    assert bool(seen) is wrong
    assert all("kWh for 10 minutes" in finding.sentence for finding in seen)


@pytest.mark.parametrize(
    ("minutes", "covers", "warned"), [(6.9, "all", True), (7, "all", False), (5, "control", False)]
)
def test_batteries_carry_until_runs_have_saved(minutes: float, covers: str, warned: bool) -> None:
    """H06: five minutes to save and two to stop; nodes that batteries do not cover go down at once."""
    assert (
        bool(found("ups-outlasts-saves", {"facility.ups": {"kwh": 99, "minutes": minutes, "covers": covers}})) is warned
    )


def test_limits_never_break_a_plan_by_growing() -> None:
    """A07: the site has no error, and has none with any of its limits raised."""
    for key, value in (
        ("racks", {"count": 5, "units": 52, "powerKw": 75}),
        ("racks", {"count": 4, "units": 48, "powerKw": 66}),
        ("circuit", {"volts": 415, "phases": 3, "amperes": 100}),
        ("circuitsPerRack", 9),
        ("cooling", {"kind": "air", "capacityKw": 1000}),
    ):
        assert planned_site({f"facility.{key}": value}).errors == ()


def test_growth_crosses_limits() -> None:
    """A07: by editing one number, 8 to 16 nodes, power, racks and cooling are re-checked."""
    rules = {finding.rule for finding in planned_site({"pools.1.count": 16}).errors}
    assert {"rack-count", "cooling-capacity"} <= rules


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"powerSupplies": {"count": 2, "watts": 3000, "redundant": 2}}, "leave none to feed anything"),
    ],
)
def test_rows_of_nothing_are_findings(row: dict[str, Any], sentence: str) -> None:
    """B01: a site's row that would be divided by is named, with its path; nothing falls over."""
    changes = {"catalogue": {"servers": [{"name": "own", "like": "DGX H100", **row}]}, "pools.1.server": "own"}
    (finding,) = found("site-row", changes)
    assert finding.path.startswith("gpucluster:catalogue.servers[0]")
    assert sentence in finding.sentence


@pytest.mark.parametrize("key", ["maxW", "rackUnits", "memoryGib"])
def test_a_server_of_nothing(key: str) -> None:
    """B01: numbers of a row have bounds, which the settings hold."""
    with pytest.raises(SettingsError, match=rf"servers\[0\]\.{key}: must be at least 1, is 0"):
        planned_site({"catalogue": {"servers": [{"name": "own", "like": "DGX H100", key: 0}]}})


def test_two_supplies_of_a_site_are_a_finding() -> None:
    """HW02: a site's own row with 2 x 3000 W for eight H100 is refused with its numbers."""
    own = {"name": "own", "like": "DGX H100", "powerSupplies": {"count": 2, "watts": 3000, "redundant": 1}}
    (finding,) = found("psu-power", {"catalogue": {"servers": [own]}, "pools.1.server": "own"})
    assert "bring 3000 W to own, which draws up to 10200" in finding.sentence


def test_immersion_is_a_kind_of_cooling() -> None:
    """H11: it is recorded, and saves only what the room's PUE says."""
    assert Cooling("immersion") is Cooling.IMMERSION


def test_power_and_cooling_that_are_ordered_suffice() -> None:
    """PW01, PW02: whoever orders the kilowatts of a remedy has no such finding any more, whatever they round to."""
    for nodes in (1, 3, 7, 8):
        tight: dict[str, Any] = {
            "pools.1.count": nodes,
            "training.runs.0.nodes": nodes,
            "facility.cooling.capacityKw": 1,
        }
        tight["facility.racks"] = {"count": 1, "units": 60, "powerKw": 20}
        cooling, power = found("cooling-capacity", tight)[0], found("power-delivery", tight)[0]
        ordered = [float(each.remedy.removeprefix("set it to ").split(",")[0]) for each in (cooling, power)]
        enough = {**tight, "facility.cooling.capacityKw": ordered[0]}
        enough["facility.racks"] = {"count": 1, "units": 60, "powerKw": ordered[1]}
        assert not found("cooling-capacity", enough)
        assert not found("power-delivery", enough)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("gpuClockMhz", 1980, None),
        ("gpuClockMhz", 2505, "GPUs H100 have 1980 MHz at most, not 2505"),
        ("gpuPowerW", 600, None),
        ("gpuPowerW", 701, "GPUs H100 have 700 W at most, not 701"),
    ],
)
def test_gpus_are_held_at_what_they_have(key: str, value: int, sentence: str | None) -> None:
    """AA01, AA02, HW16: no H100 runs at 2505 MHz, and a cap above its power caps nothing."""
    seen = found("gpu-limits", {f"pools.1.{key}": value})
    assert [finding.sentence for finding in seen] == ([sentence] if sentence else [])
    assert all(finding.path == f"gpucluster:pools[1].{key}" for finding in seen)


def test_machines_without_gpus_have_none_to_limit() -> None:
    (finding,) = found("gpu-limits", {"pools.0.gpuPowerW": 300})
    assert finding.sentence == "a Dell PowerEdge R660 has no GPU to be limited"
