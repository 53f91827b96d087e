"""On-premises racks against the cloud, tiers and labs."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.prices import RATES, SERVICES
from catalogue.servers import SERVERS
from catalogue.tables import SHIPPED
from catalogue.tiers import TIERS, Tier
from catalogue.types import PurchasePrice, UsageClass
from planner.bom import Part
from planner.bom_metal import amount
from planner.cost.amounts import Amount, OwnedCost, owned, people_for, total, with_premium
from planner.cost.comparison import break_even, labs, tier_costs, twin, years
from planner.cost.stack import Around
from planner.faces.money import owned_facts
from planner.metal_types import MetalPlan
from planner.plan import plan
from settings.load import from_sections
from tests.planner.pools import bought
from tests.planner.stacks import TODAY

OWNER = {"owner": "ml-platform", "costCentre": "research"}


def _estimate(low: float, high: float) -> PurchasePrice:
    source = "estimates of guides for eight-node H100 clusters, 2024 and 2025; approximate"
    return PurchasePrice.between(low, high, date(2025, 5, 1), source)


ESTIMATES = {
    "eight DGX H100, servers only": _estimate(2_000_000, 3_000_000),
    "eight H100 nodes with fabric, storage and installation": _estimate(2_500_000, 3_200_000),
    "WekaFS of 100 TB": _estimate(1_500_000, 2_000_000),
    "NDR fabric with optics for eight nodes": _estimate(300_000, 600_000),
}
"""Totals of clusters and of parts of them. A server-only figure and an all-in one are not about the same thing."""


def sure(usd: float) -> Amount:
    return Amount(usd=usd, low=usd, high=usd)


def cluster(usd: float = 2_800_000, gpus: int = 64, power: float = 111_000, people: float = 1) -> OwnedCost:
    return owned(sure(usd), gpus=gpus, power_usd_per_year=power, people=people)


@pytest.mark.parametrize(
    ("tier", "gpus", "usd", "per_gpu"),
    [("budget", 32, 1.2e6, 37_500), ("mid", 32, 2.0e6, 62_500), ("full", 64, 2.8e6, 43_750)],
)
def test_tiers_per_gpu(tier: str, gpus: int, usd: float, per_gpu: float) -> None:
    """T3.3, I06-I08, PW12: 37.5k, 62.5k and 43.8k USD for a GPU."""
    cost = tier_costs(TIERS.values())[tier]
    assert (cost.gpus, cost.usd, cost.usd_per_gpu) == (gpus, usd, per_gpu)


def test_the_middle_tier_costs_two_thirds_more_for_the_same_gpus() -> None:
    """PW12: 32 GPUs for 1.2 or for 2.0 million: 67 % more money, and the dearest tier for each GPU."""
    costs = tier_costs(TIERS.values())
    assert costs["mid"].times_cheapest == pytest.approx(1.67, abs=0.005)
    assert [name for name, cost in costs.items() if cost.dearest] == ["mid"]
    two = tier_costs([replace(TIERS["full"], name="a", usd=6.4e6), replace(TIERS["full"], name="b", usd=3.2e6)])
    assert (two["a"].usd_per_gpu, two["a"].times_cheapest) == (100_000, 2)


def test_the_middle_tier_cannot_hold_its_own_parts() -> None:
    """PW10: WekaFS is 1.5 to 2 million, and eight servers of four GPUs are a million or more: 2.0 is too little."""
    servers = amount(SERVERS["Dell PowerEdge XE8640"].price)
    storage = amount(ESTIMATES["WekaFS of 100 TB"])
    assert servers
    assert storage
    assert total([storage]).low <= TIERS["mid"].usd
    assert total([storage, servers.times(8)]).low > TIERS["mid"].usd
    assert total([storage, servers.times(8)]).low <= 2_500_000


def test_servers_alone_and_everything_are_different_totals() -> None:
    """PW11, I09: eight systems are 2 to 3 million, and a fabric 0.3 to 0.6: 3.2 all in may or may not hold both."""
    servers = amount(ESTIMATES["eight DGX H100, servers only"])
    everything = ESTIMATES["eight H100 nodes with fabric, storage and installation"]
    fabric = amount(ESTIMATES["NDR fabric with optics for eight nodes"])
    assert servers
    assert fabric
    listed = amount(SERVERS["DGX H100"].price)
    assert listed
    assert (listed.times(8).low, listed.times(8).high) == (servers.low, servers.high)
    assert total([servers, fabric]).low <= everything.high
    assert total([servers, fabric]).high > everything.high


@pytest.mark.parametrize("tier", TIERS)
def test_quoted_tiers_lie_within_what_their_parts_cost(tier: str) -> None:
    """I06-I09, PW11: item by item, each tier's system comes to a range that holds what is quoted for it."""
    plan_ = plan(from_sections({"preset": tier, "lifecycle": OWNER}), today=TODAY)
    assert isinstance(plan_, MetalPlan)
    cost = plan_.bom.cost()
    assert plan_.bom.unpriced == ()
    assert plan_.totals.gpus == TIERS[tier].gpus
    assert cost.low < TIERS[tier].usd < cost.high
    assert plan_.owned.purchase_per_gpu
    assert plan_.owned.purchase_per_gpu.low < TIERS[tier].usd_per_gpu < plan_.owned.purchase_per_gpu.high


def test_fabric_of_eight_nodes_costs_what_is_quoted() -> None:
    """PW11, FB09: switches, modules and cables of eight nodes with eight cards: 0.3 to 0.6 million."""
    plan_ = plan(from_sections({"preset": "h100-8n", "lifecycle": OWNER}), today=TODAY)
    assert isinstance(plan_, MetalPlan)
    parts = plan_.bom.by_part()
    quoted = ESTIMATES["NDR fabric with optics for eight nodes"]
    assert quoted.low < parts[Part.INTERCONNECT].usd + parts[Part.CABLING].usd < quoted.high


def test_redundancy_is_an_eighth_more() -> None:
    """I10: 10 to 15 % upfront."""
    assert with_premium(sure(1_000_000)) == Amount(usd=1_125_000, low=1_100_000, high=1_150_000)
    more = cluster().purchase_with_redundancy
    assert (more.usd, more.low, more.high) == pytest.approx((3_150_000, 3_080_000, 3_220_000))


def test_break_even_with_power_and_staff_comes_later_or_never() -> None:
    """T3.3: 111k USD of power, one post and 5 % support are 37.6k a month: 9.9 months instead of 8.7."""
    whole = cluster()
    assert whole.running.yearly.usd == 111_000 + 200_000 + 140_000
    assert break_even(whole, 8 * 55.04) == pytest.approx(2.8e6 / (440.32 * 730 - 451_000 / 12))
    assert break_even(whole, 8 * 5.504) is None


def test_years_of_renting_and_owning() -> None:
    """T3.3, I09: one to five years."""
    table = years(cluster(), 440.32)
    assert [row.years for row in table] == [1, 2, 3, 4, 5]
    assert table[0].cloud_usd == pytest.approx(440.32 * 8760)
    assert table[4].owned_usd == pytest.approx(2.8e6 + 5 * 451_000)
    assert table[0].cloud_usd_per_gpu_hour == pytest.approx(55.04 / 8)
    assert table[4].owned_usd_per_gpu_hour == pytest.approx((2.8e6 + 5 * 451_000) / (64 * 43_800))


def test_an_hour_of_ones_own() -> None:
    """I09: the purchase over five years, and a fifth of everything else: 2.8M + 2.255M over 43,800 hours."""
    assert cluster().hourly.usd == pytest.approx((2.8e6 + 5 * 451_000) / 43_800)
    assert cluster().purchase_per_gpu == sure(43_750)
    assert cluster(gpus=0).purchase_per_gpu is None
    assert (people_for(0), people_for(64), people_for(1024)) == (0, 0.625, 2.5)
    assert people_for(2) == pytest.approx(0.035, abs=0.0005)


@given(usd=st.floats(1e4, 1e9), more=st.floats(0, 1e9), hourly=st.floats(100, 1e5))
def test_a_dearer_purchase_is_never_worth_it_earlier(usd: float, more: float, hourly: float) -> None:
    """T3.3: break-even moves with the price, and a longer time never costs less."""
    sooner, later = break_even(cluster(usd), hourly), break_even(cluster(usd + more), hourly)
    assert later is None or (sooner is not None and later >= sooner)
    spent = [row.owned_usd for row in years(cluster(usd), hourly)]
    assert spent == sorted(spent)


def lab_table(hours: float, **changes: Any) -> dict[str, Any]:
    around = Around(nat_gateways=1, fsx="fsx-SCRATCH_2-gib", fsx_gib=1200)
    gpu = bought("g5.xlarge", 1, root_volume_gib=100, **changes)
    system = bought("m7i.large", 2, name="system", role="system", root_volume_gib=100)
    table = labs(gpu, system, around, SERVICES, RATES, hours_per_month=hours)
    return {lab.name: lab for lab in table}


def test_lab_table() -> None:
    """Z12, PW14: a cloud lab is more than 1 USD/h, virtual machines are free, parts are 500 to 1000 USD."""
    table = lab_table(40)
    assert list(table) == ["cloud", "virtual machines", "second-hand parts", "mixture"]
    assert 1.5 < table["cloud"].hourly.usd < 1.8
    assert table["cloud"].monthly.usd == pytest.approx(40 * table["cloud"].hourly.usd)
    assert table["virtual machines"].monthly.usd == 0
    assert (table["second-hand parts"].purchase.low, table["second-hand parts"].purchase.high) == (500, 1000)
    assert table["mixture"].hourly.usd == pytest.approx(1.006)
    assert table["mixture"].monthly.usd == pytest.approx(40.24)
    with pytest.raises(ValueError, match="a month has no 731 hours"):
        lab_table(731)


def test_lab_on_spot_capacity() -> None:
    """Z12, PW18: the GPU node of the mixture at its spot price."""
    assert lab_table(10, usage=UsageClass.SPOT)["mixture"].hourly == Amount(usd=0.4, low=0.3, high=0.5)


def test_sums_keep_their_range() -> None:
    """I09: low ends add up to the low end."""
    parts = [Amount(usd=2, low=1, high=3), Amount(usd=20, low=10, high=30)]
    assert total(parts) == Amount(usd=22, low=11, high=33)
    assert total([]) == Amount(usd=0, low=0, high=0)


def test_every_tier_and_estimate_says_where_it_is_from() -> None:
    """PW11: figures of the press are marked as such."""
    assert all(isinstance(tier, Tier) and "approximate" in tier.source for tier in TIERS.values())
    assert all("approximate" in price.source for price in ESTIMATES.values())


def test_what_is_owned_is_compared_with_what_is_rented_on_demand() -> None:
    """H200 against p5en, not against the blocks of p5e, which end after half a year; GB200 against nothing."""
    rows = SHIPPED.instances.values()
    found = twin(SHIPPED.gpus["H200"], 8, rows)
    assert found is not None
    assert found[0].type == "p5en.48xlarge"
    assert found[1] == found[0].on_demand
    assert twin(SHIPPED.gpus["GB200"], 4, rows) is None


def test_each_side_of_a_comparison_names_its_price_class() -> None:
    """T3.3: on demand in the cloud, bought and owned in the room."""
    plan_ = plan(from_sections({"preset": "h200-32n", "lifecycle": OWNER}), today=TODAY)
    assert isinstance(plan_, MetalPlan)
    said = dict(owned_facts(plan_.bom, plan_.owned, plan_.cloud))
    assert (said["on demand"] or "").endswith("(32 x p5en.48xlarge)")
    assert (said["break-even"] or "").endswith("of full use, bought, against on demand")
