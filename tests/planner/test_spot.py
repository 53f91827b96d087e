"""Pools on spot in node groups: further types, falling back on demand, and what the planner refuses of them."""

from collections.abc import Mapping
from typing import Any

import pytest

from planner.findings import Severity
from planner.keeper import KeptSpot
from planner.types import AwsPlan
from settings.errors import SettingsError
from tests.planner.stacks import planned, told

SPOT: Mapping[str, Any] = {
    "pools.2.instanceType": "g6.2xlarge",
    "pools.2.capacity": "spot",
    "pools.2.count": 2,
    "pools.2.spot": {"instanceTypes": ["g6.4xlarge"], "onDemandMinutes": 15},
    "keeper": {},
    "budget.maxHourlyUsd": 1000,
}


def spot(changes: Mapping[str, Any] | None = None, **said: Any) -> AwsPlan:
    return planned("dev", {**SPOT, "pools.2.spot": {**SPOT["pools.2.spot"], **said}, **(changes or {})})


def test_a_plan_of_it_stands_and_asks_for_no_node_by_itself() -> None:
    plan = spot()
    assert [str(each) for each in plan.findings if each.severity is Severity.ERROR] == []
    pool = plan.pools["inference"]
    assert (pool.count, pool.nodes_now, pool.falls_back) == (2, 0, True)
    assert told("keeper-idle", plan) == [], "there is something to keep"


def test_further_types_alone_change_nothing_else() -> None:
    pool = spot({"keeper": None}, onDemandMinutes=None).pools["inference"]
    assert (pool.nodes_now, pool.falls_back) == (2, False)


def test_it_costs_the_dearest_of_what_it_may_be_in_the_range_of_all() -> None:
    plan = spot({"pools.2.instanceType": "g6.12xlarge"}, instanceTypes=["g6.24xlarge"])
    line = next(each for each in plan.prices.lines if each.pool == "inference")
    types = plan.pools["inference"].offers.types
    cheapest, dearest = types[0].spot, types[1].on_demand
    assert cheapest
    assert dearest
    assert line.usd_per_hour == pytest.approx(2 * dearest.usd_per_hour)
    assert line.low == pytest.approx(2 * cheapest.low)
    assert line.name == "pool inference: g6.12xlarge or g6.24xlarge, spot or on-demand"


def test_either_quota_holds_all_of_its_nodes_and_there_is_a_group_more() -> None:
    needs = {each.quota.name: each.need for each in spot().quotas}
    plain = {each.quota.name: each.need for each in spot(onDemandMinutes=None).quotas}
    with_update = 2 + spot().pools["inference"].surge
    assert needs["All G and VT Spot Instance Requests"] == with_update * 16
    assert needs["Running On-Demand G and VT instances"] >= with_update * 16
    assert needs["Managed node groups per cluster"] == plain["Managed node groups per cluster"] + 1


def test_both_groups_may_be_updated_at_once_and_their_nodes_have_addresses() -> None:
    both, one = (
        next(each.needed for each in plan.subnets if each.role == "gpu")
        for plan in (spot(), spot(onDemandMinutes=None))
    )
    pool = spot().pools["inference"]
    assert both - one == pool.surge * pool.addresses_per_node


def test_the_keeper_has_both_groups_of_which_one_sleeps_empty() -> None:
    kept = spot({"keeper": {"offHours": {"timeZone": "UTC"}}}, againHours=6).keeper
    assert kept
    assert kept.spots == (
        KeptSpot(spot="inference", on_demand="inference-on-demand", nodes=2, wait_minutes=15, again_hours=6),
    )
    assert (kept.gpu_pools["inference"], kept.gpu_pools["inference-on-demand"]) == (2, 0)


def test_nobody_to_ask_is_refused() -> None:
    (said,) = told("spot-fallback-kept", spot({"keeper": None}))
    assert said.startswith("gpucluster:pools[2].spot.onDemandMinutes: nothing asks")
    assert told("spot-fallback-kept", spot()) == []


def test_types_are_equal_and_of_one_kind_over_efa() -> None:
    (said,) = told("spot-types-equal", spot(instanceTypes=["g6.4xlarge", "g5.4xlarge"]))
    assert said.startswith("gpucluster:pools[2].spot.instanceTypes[1]: g5.4xlarge has 1 x A10G")
    fabric = {
        "pools.1.instanceType": "p5.48xlarge",
        "pools.1.capacity": "spot",
        "pools.1.spot": {"instanceTypes": ["p5en.48xlarge"], "onDemandMinutes": 15},
    }
    (said,) = told("spot-fabric-one-type", planned("dev", {**fabric, "keeper": {}}))
    assert said.startswith("gpucluster:pools[1].spot.instanceTypes: the 32 EFA interfaces of p5.48xlarge")
    alone = {**fabric, "pools.1.spot": {"onDemandMinutes": 15}, "keeper": {}}
    assert told("spot-fabric-one-type", planned("dev", alone)) == []
    assert told("spot-is-rare", planned("dev", alone)) == []
    (said,) = told("spot-without-checkpoint", planned("dev", {**alone, "training.runs.0.checkpoint": None}))
    assert "two minutes' notice" in said, "what falls back still begins on spot"


def test_a_pool_may_not_have_the_second_groups_name() -> None:
    taken = {"pools.1.name": "inference-on-demand", "training.runs.0.pool": "inference-on-demand"}
    (said,) = told("spot-group-taken", spot(taken))
    assert said.startswith("gpucluster:pools[2].spot.onDemandMinutes: the node group")


@pytest.mark.parametrize(
    ("changes", "path", "why"),
    [
        ({"pools.2.capacity": "on-demand"}, "pools[2].spot", "capacity is on-demand"),
        ({"pools.2.count": 0, "pools.2.karpenter": {"maxCount": 2}}, "pools[2].spot", "Karpenter chooses"),
        ({"pools.2.count": 0}, "pools[2].spot", "count is 0"),
        ({"pools.2.spot": {}}, "pools[2].spot", "is empty"),
        ({"pools.2.spot": {"againHours": 3, "instanceTypes": ["g6.4xlarge"]}}, "spot.againHours", "onDemandMinutes"),
        ({"pools.2.spot": {"instanceTypes": ["g6.2xlarge"]}}, "pools[2].spot.instanceTypes[0]", "named already"),
        ({"pools.2.spot": {"onDemandMinutes": 1}}, "pools[2].spot.onDemandMinutes", "5"),
        (
            {"pools.0.capacity": "spot", "pools.0.spot": {"onDemandMinutes": 15}},
            "pools[0].spot",
            "system pods have to run",
        ),
    ],
)
def test_what_is_meaningless_is_refused(changes: Mapping[str, Any], path: str, why: str) -> None:
    with pytest.raises(SettingsError) as refused:
        planned("dev", {**SPOT, **changes})
    assert path in str(refused.value)
    assert why in str(refused.value)


def test_what_is_sold_in_blocks_alone_falls_back_on_nothing() -> None:
    pool = {"pools.1.instanceType": "p6e-gb200.36xlarge", "pools.1.capacity": "spot"}
    (said,) = told(
        "spot-fallback-sold", planned("dev", {**pool, "pools.1.spot": {"onDemandMinutes": 15}, "keeper": {}})
    )
    assert said == "gpucluster:pools[1].spot.onDemandMinutes: EC2 does not sell p6e-gb200.36xlarge on demand"
    assert told("spot-fallback-sold", spot()) == []
