"""Bills of materials of on-premises racks."""

from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.servers import SERVERS
from catalogue.switches import SWITCHES
from catalogue.tables import SHIPPED
from planner.bom import Basis, Bom, Part, spares
from planner.cost.amounts import Amount
from planner.metal_types import MetalPlan
from planner.networks import MANAGEMENT_SWITCH, cheapest_switches
from tests.planner.facility.test_rules import DLC
from tests.planner.site import planned_site


def one_switch() -> MetalPlan:
    """Eight DGX H100 on one switch, the cheapest fabric without growth."""
    return planned_site({"fabric.topology": "single"})


def counts(bom: Bom) -> dict[str, float]:
    return {line.item: line.count for line in bom.lines}


def test_the_smallest_switch_of_a_site_still_takes_machines_beside_what_leads_on() -> None:
    """A site's row of the management switch that had two ports ended the plan in a division by zero."""
    smallest = replace(SWITCHES[MANAGEMENT_SWITCH], ports=4, ports_per_cage=1)
    rows = replace(SHIPPED, switches={**SHIPPED.switches, MANAGEMENT_SWITCH: smallest})
    few, plain = counts(planned_site(catalogue=rows).bom), counts(planned_site().bom)
    ports = plain["management cable"] - 2 * plain["management switch"]
    assert few["management switch"] == ceil(ports / (4 - 2))


def test_ten_design_dimensions_have_lines() -> None:
    """A11, A12, I01: nothing of a cluster is forgotten; a bill without servers says what it lacks."""
    assert planned_site().bom.empty == ()
    room = ("rack", "rack PDU", "air handling")
    bare = Bom(lines=tuple(line for line in planned_site().bom.lines if line.item in room))
    assert set(bare.empty) == {
        Part.GPU,
        Part.CPU,
        Part.MEMORY,
        Part.INTERCONNECT,
        Part.STORAGE,
        Part.CABLING,
        Part.MANAGEMENT,
    }


def test_bill_of_eight_systems_on_one_switch() -> None:
    """I01, E08, FB03, FB16: 64 fibres, 32 modules on each side as cages are twin-port, and 2 % spares."""
    bom = one_switch().bom
    there = counts(bom)
    assert (there["DGX H100"], there["GPU H100"], there["QM9700"]) == (8, 64, 1)
    assert (there["ConnectX-7 NDR"], there["ndr multimode cable"]) == (64, 64)
    assert (there["ndr switch transceiver"], there["ndr card transceiver"]) == (32, 32)
    shelf = {line.item: line.spares for line in bom.lines if line.spares}
    assert shelf["spare ConnectX-7 NDR"] == 2
    assert shelf["ndr multimode cable"] == 2
    assert there["management switch"] == 2
    assert there["management cable"] == 2 * (3 + 8 + 4 + 2) + 1 + 1 + there["rack PDU"] + 2 * 2


def test_fabric_and_its_optics_are_a_good_part_of_the_bill() -> None:
    """PW11, FB09: switches, modules and cables of a rail-optimised fabric; a switch is tens of thousands."""
    bom = planned_site().bom
    fabric = [bom.by_part()[part] for part in (Part.INTERCONNECT, Part.CABLING)]
    assert sum(part.low for part in fabric) > 0.3e6
    assert sum(part.high for part in fabric) < 1.4e6
    small = one_switch().bom.by_part()
    storage = 33 * 155 + 17 * 1_500 + 33 * 850
    assert small[Part.INTERCONNECT].usd + small[Part.CABLING].usd == pytest.approx(
        30_000 + 2 * 7_000 + 66 * 155 + 33 * 1_500 + 33 * 850 + storage
    )
    assert all(row.price.low >= 10_000 for row in SWITCHES.values() if row.price and row.gbit_per_s >= 200)


def test_short_copper_takes_no_modules() -> None:
    """E20: within 3 m a node takes a copper cable, which has its ends on it."""
    there = counts(planned_site({"fabric.topology": "single", "fabric.cableLengthsM": {"nodeToLeaf": 2}}).bom)
    assert there["ndr dac cable"] == 64
    assert not {item for item in there if "transceiver" in item}


def test_copper_below_and_fibre_above_share_the_modules_out() -> None:
    """FB16, E20: of eight leaves, 16 cages each are for the 32 fibres above, and 128 of the spines."""
    there = counts(planned_site({"fabric.cableLengthsM": {"nodeToLeaf": 2, "leafToSpine": 30}}).bom)
    assert (there["ndr dac cable"], there["ndr multimode cable"]) == (64, 8 * 32)
    assert there["ndr switch transceiver"] == 8 * 16 + 256 / 2
    assert "ndr card transceiver" not in there
    all_fibre = counts(planned_site().bom)
    assert (all_fibre["ndr switch transceiver"], all_fibre["ndr card transceiver"]) == (8 * (4 + 16) + 128, 32)


def test_parts_add_up_and_keep_their_range() -> None:
    """I09, PW11, PW12: the sections are the whole, the range is that of the parts, and the price for a GPU follows."""
    plan_ = one_switch()
    whole = plan_.bom.cost()
    sections = plan_.bom.by_part().values()
    assert sum(part.usd for part in sections) == pytest.approx(whole.usd)
    assert whole.low < whole.usd < whole.high
    assert whole.low > 2.0e6
    assert plan_.owned.purchase_per_gpu
    assert plan_.owned.purchase_per_gpu.usd == pytest.approx(whole.usd / 64)
    assert plan_.bom.by_part()[Part.GPU] == Amount(usd=2_400_000, low=2_000_000, high=3_000_000)


def test_own_racks_are_compared_with_the_same_gpus_on_aws() -> None:
    """T3.3, PW12: eight systems with H100 against eight p5.48xlarge at 440 USD an hour."""
    plan_ = one_switch()
    assert plan_.cloud
    assert plan_.cloud.rented == {"p5.48xlarge": 8}
    assert plan_.cloud.cloud_usd_per_hour == pytest.approx(440.32)
    monthly = plan_.owned.running.yearly.usd / 12
    assert plan_.cloud.break_even_months == pytest.approx(plan_.owned.purchase.usd / (440.32 * 730 - monthly))
    assert plan_.owned.running.power.usd == plan_.facility.yearly_usd


def test_what_has_no_price_is_named() -> None:
    """I09: a sum that leaves a part out says which."""
    bom = planned_site({"pools.1.server": "ASUS XA NB3I-E12"}).bom
    assert {line.item for line in bom.unpriced} >= {"ASUS XA NB3I-E12", "spare ConnectX-8 XDR"}
    priced = [line for line in bom.lines if line not in bom.unpriced]
    assert bom.cost().usd == Bom(lines=tuple(priced)).cost().usd > 180_000


def test_liquid_and_batteries_are_bought_by_size() -> None:
    """A11, I08: coolant loops by kW, batteries by kWh; a room's own air handling is not bought."""
    batteries = {"kwh": 13.6, "minutes": 10, "covers": "all"}
    wet = planned_site({"facility.cooling": DLC, "facility.ups": batteries})
    there = counts(wet.bom)
    assert (there["coolant loop, per kW"], there["battery, per kWh"]) == (ceil(wet.facility.heat.liquid_kw), 13.6)
    dry = planned_site().bom
    assert "battery, per kWh" not in counts(dry)
    assert next(line for line in dry.lines if line.part is Part.COOLING).basis is Basis.INCLUDED


@pytest.mark.parametrize(("count", "percent", "kept"), [(8, 2, 1), (64, 2, 2), (100, 2, 2), (101, 2, 3), (0, 2, 0)])
def test_spare_parts(count: int, percent: float, kept: int) -> None:
    """I12: two percent, one at least: a missing card idles a node for days."""
    assert spares(count, percent) == kept
    assert spares(count, 0) == 0


def test_storage_network_takes_the_cheapest_switch_that_fits() -> None:
    """A12: 40 HDR ports are one QM8790, and 41 are leaves and spines of them; no NDR switch speaks HDR."""
    nic = next(group.nic for group in SERVERS["Dell PowerEdge XE9680 HDR"].nics if "HDR" in group.nic.name)
    one = cheapest_switches(nic, 40, SWITCHES.values())
    assert one
    assert (one[0].name, one[1].switches) == ("QM8790", 1)
    more = cheapest_switches(nic, 41, SWITCHES.values())
    assert more
    assert more[1].switches > 3
    assert cheapest_switches(nic, 8, [SWITCHES["QM9700"]]) is None


@given(nodes=st.integers(1, 40), more=st.integers(1, 24))
def test_more_nodes_never_cost_less(nodes: int, more: int) -> None:
    """A07, PW11: a larger cluster of the same kind is never cheaper, nor lighter on the bill of a year."""
    small, large = (
        planned_site({"pools.1.count": count, "facility.racks.count": 200, "training.runs": []})
        for count in (nodes, nodes + more)
    )
    assert large.bom.cost().usd >= small.bom.cost().usd
    assert large.bom.cost().low >= small.bom.cost().low
    assert large.owned.hourly.usd >= small.owned.hourly.usd
