"""What a stack on AWS costs."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.instances import INSTANCES
from catalogue.prices import RATES, SERVICES
from catalogue.types import UsageClass
from planner.cost.amounts import Prices
from planner.cost.stack import Around, Traffic, fsx_service, stack_prices
from planner.faces.money import price_facts
from planner.pool_types import AwsPoolPlan
from tests.planner.pools import bought
from tests.planner.stacks import planned

OD, SPOT, BLOCK = UsageClass.ON_DEMAND, UsageClass.SPOT, UsageClass.CAPACITY_BLOCK
LAB = Around(nat_gateways=1, fsx="fsx-SCRATCH_2-gib", fsx_gib=1200)


def prices(*pools: AwsPoolPlan, around: Around = LAB) -> Prices:
    return stack_prices(pools, around, SERVICES, RATES)


def line(prices_: Prices, name: str) -> float:
    return next(each.usd_per_hour for each in prices_.lines if each.name == name)


def test_prod_costs_what_its_parts_cost() -> None:
    """PW14, T3.3: 8 x 55.04 + 30.13 + 3 x 0.40, and storage, cluster and NAT; the eight p5 nodes alone are 440 USD."""
    prices_ = planned("prod").prices
    by_name = {each.name: each.usd_per_hour for each in prices_.lines}
    assert by_name["pool training: p5.48xlarge, on-demand"] == pytest.approx(440.32)
    assert by_name["EKS control plane"] == pytest.approx(0.10)
    assert by_name["NAT gateway"] == pytest.approx(0.045)
    assert by_name["FSx for Lustre, GiB of PERSISTENT_2-1000"] == pytest.approx(19200 * 0.6 / 730)
    assert prices_.hourly == pytest.approx(sum(by_name.values()), abs=0.005)
    assert prices_.monthly == pytest.approx(prices_.hourly * 730, rel=1e-4)
    assert prices_.hourly_low <= prices_.hourly <= prices_.hourly_high


@pytest.mark.parametrize(("type_", "hourly", "monthly"), [("p5.48xlarge", 440, 0.32e6), ("p5en.48xlarge", 506, 0.37e6)])
def test_eight_nodes_on_demand(type_: str, hourly: float, monthly: float) -> None:
    """T3.3: p5 440 USD/h and p5en 506 USD/h, 0.32 and 0.37 million a month of 730 hours."""
    usd = prices(bought(type_, 8)).lines[0].usd_per_hour
    assert usd == pytest.approx(hourly, abs=0.5)
    assert usd * 730 == pytest.approx(monthly, abs=0.005e6)


def test_the_cheapest_lab_is_more_than_its_gpu() -> None:
    """PW14, Z12: a g5.xlarge is 1.006 USD/h; with two m7i.large, EKS, NAT and storage the hour is about 1.69."""
    lab = prices(bought("m7i.large", 2, role="system", name="system"), bought("g5.xlarge", 1))
    assert line(lab, "pool training: g5.xlarge, on-demand") == pytest.approx(1.006)
    volumes, file_system = 3 * 200 * 0.08 / 730, 1200 * 0.14 / 730
    use = (3 * 60 * 0.045 + 2 * 200 * 0.02 + 1000 * 0.023 + 20 * 0.5) / 730
    assert lab.hourly == pytest.approx(1.006 + 2 * 0.1008 + 0.1 + 0.045 + volumes + file_system + use, abs=0.005)


def test_spot_is_priced_as_spot() -> None:
    """PW18: capacity decides which price counts, and its range is the spread that was seen."""
    changes = {"pools.1.instanceType": "p5.48xlarge", "budget.maxHourlyUsd": 900}
    on_demand = planned(changes=changes).prices.hourly
    spot = planned(changes={**changes, "pools.1.capacity": "spot"}).prices
    row = INSTANCES["p5.48xlarge"]
    assert row.on_demand is not None
    assert row.spot is not None
    assert on_demand - spot.hourly == pytest.approx(2 * (row.on_demand.usd_per_hour - row.spot.usd_per_hour), abs=0.02)
    assert spot.hourly - spot.hourly_low == pytest.approx(2 * (row.spot.usd_per_hour - row.spot.low), abs=0.01)


def test_block_counts_by_the_hour_and_is_paid_as_a_whole() -> None:
    """PF10, T3.9: 4 x p5e for 7 days: 159.20 USD/h, 168 of the month's 730 hours, 26,745.60 USD in advance."""
    block = bought("p5e.48xlarge", 4, usage=BLOCK, blocks=((date(2026, 12, 1), date(2026, 12, 8), 4),))
    prices_ = prices(block)
    (paid,) = prices_.blocks
    assert (paid.pool, paid.hours) == ("training", 168)
    assert paid.usd == pytest.approx(4 * 168 * 39.80)
    assert paid.low < paid.usd < paid.high
    assert line(prices_, "pool training: p5e.48xlarge, capacity-block") == pytest.approx(159.20)
    without = prices()
    use_of_four_nodes = 4 * 60 * 0.045 + 4 * 200 * 0.08
    assert prices_.monthly - without.monthly == pytest.approx(paid.usd + use_of_four_nodes, abs=0.05)


def test_extended_support_is_six_times_the_price() -> None:
    """KJ30: a minor beyond standard support costs 0.60 instead of 0.10 USD an hour."""
    extended = prices(around=replace(LAB, extended_support=True))
    assert extended.hourly - prices().hourly == pytest.approx(0.5, abs=0.006)
    assert line(extended, "EKS control plane, extended support") == pytest.approx(0.6)


def test_use_is_assumed_and_says_so() -> None:
    """PW14: NAT and zones are charged per GB as well as per hour; what is assumed stands in the plan."""
    busy = replace(LAB, traffic=Traffic(nat_gb_per_node=1000, cross_zone_gb_per_system_node=500, object_gb=5e4))
    used = prices(bought("m7i.large", 3, role="system", name="system"), around=busy)
    assert line(used, "GB a month through the NAT gateway") == pytest.approx(3 * 1000 * 0.045 / 730)
    assert line(used, "GB a month across zones") == pytest.approx(3 * 500 * 0.02 / 730)
    assert line(used, "GB in S3") == pytest.approx(50_000 * 0.023 / 730)
    assert any("1000 GB a month for each of 3 nodes" in assumption for assumption in used.assumptions)
    assert len(used.assumptions) == 4


def test_costs_are_told_apart_by_purpose() -> None:
    """Z18: who pays for what: the shares add up to the whole."""
    prices_ = planned("prod").prices
    shares = prices_.by_purpose
    assert set(shares) == {"system", "training", "inference", "platform", "storage", "traffic"}
    assert shares["training"] == pytest.approx(440.32)
    assert sum(shares.values()) == pytest.approx(prices_.hourly, abs=0.005)
    assert "training 440.32, " in str(dict(price_facts(prices_))["an hour of"])


def test_pool_without_a_price_is_named_and_not_free() -> None:
    """PW14: a sum that leaves something out says so; an empty pool leaves nothing out."""
    changes = {"pools.1.instanceType": "p5e.48xlarge"}
    assert planned(changes=changes).prices.unpriced == ("training",)
    empty = {**changes, "pools.1.count": 0, "training.runs": []}
    assert planned(changes=empty).prices.unpriced == ()


@pytest.mark.parametrize(
    ("type_", "tier", "key"),
    [("SCRATCH_2", None, "fsx-SCRATCH_2-gib"), ("PERSISTENT_2", 500, "fsx-PERSISTENT_2-500-gib")],
)
def test_file_systems_have_a_price(type_: str, tier: int | None, key: str) -> None:
    """ST18, T3.9: scratch about 0.14 USD per GB-month, persistent by tier."""
    assert fsx_service(type_, tier) == key
    assert key in SERVICES
    assert SERVICES["fsx-SCRATCH_2-gib"].usd_per_hour * 730 == pytest.approx(0.14)


@given(
    type_=st.sampled_from(sorted(INSTANCES)),
    usage=st.sampled_from([OD, SPOT, BLOCK]),
    count=st.integers(0, 500),
    more=st.integers(0, 100),
)
def test_more_nodes_never_cost_less(type_: str, usage: UsageClass, count: int, more: int) -> None:
    """A07, PW14: growing a pool lowers no line, neither by the hour nor by the month nor in advance."""

    def booked(nodes: int) -> tuple[tuple[date, date, int], ...]:
        return ((date(2026, 12, 1), date(2026, 12, 15), nodes),) if usage is BLOCK and nodes else ()

    before = prices(bought(type_, count, usage=usage, blocks=booked(count)))
    after = prices(bought(type_, count + more, usage=usage, blocks=booked(count + more)))
    assert after.hourly >= before.hourly
    assert after.hourly_low >= before.hourly_low
    assert after.monthly >= before.monthly
    assert sum(each.usd for each in after.blocks) >= sum(each.usd for each in before.blocks)
