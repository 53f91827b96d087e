"""The hourly price."""

import pytest

from catalogue.instances import INSTANCES
from tests.planner.stacks import planned


def test_prod_costs_what_its_parts_cost() -> None:
    """PW14: 8 x 55.04 + 30.13 + 3 x 0.40, and storage, cluster and NAT; the eight p5 nodes alone are 440 USD."""
    prices = planned("prod").prices
    by_name = {line.name: line.usd_per_hour for line in prices.lines}
    assert by_name["pool training: p5.48xlarge, on-demand"] == pytest.approx(440.32)
    assert by_name["EKS control plane"] == pytest.approx(0.10)
    assert by_name["NAT gateway"] == pytest.approx(0.045)
    assert by_name["FSx for Lustre, GiB of PERSISTENT_2"] == pytest.approx(19200 * 0.6 / 730)
    assert prices.hourly == pytest.approx(sum(by_name.values()), abs=0.005)
    assert prices.monthly == pytest.approx(prices.hourly * 730, rel=1e-4)
    assert prices.hourly_low <= prices.hourly <= prices.hourly_high


def test_spot_is_priced_as_spot() -> None:
    """PW18: capacity decides which price counts."""
    changes = {"pools.1.instanceType": "p5.48xlarge", "budget.maxHourlyUsd": 900}
    on_demand = planned(changes=changes).prices.hourly
    spot = planned(changes={**changes, "pools.1.capacity": "spot"}).prices.hourly
    row = INSTANCES["p5.48xlarge"]
    assert row.on_demand is not None
    assert row.spot is not None
    assert on_demand - spot == pytest.approx(2 * (row.on_demand.usd_per_hour - row.spot.usd_per_hour), abs=0.02)


def test_pool_without_a_price_is_named_and_not_free() -> None:
    """PW14: a sum that leaves something out says so; an empty pool leaves nothing out."""
    changes = {"pools.1.instanceType": "p5e.48xlarge"}
    assert planned(changes=changes).prices.unpriced == ("training",)
    empty = {**changes, "pools.1.count": 0, "training.runs": []}
    assert planned(changes=empty).prices.unpriced == ()
