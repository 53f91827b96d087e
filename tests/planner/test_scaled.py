"""Pools whose nodes Karpenter makes: what they come to at most, and what the planner refuses of them."""

from collections.abc import Mapping
from typing import Any

import pytest

from catalogue.instances import INSTANCES
from planner.cost.amounts import PriceLine
from planner.faces.money import price_facts
from planner.findings import Severity
from planner.types import AwsPlan
from settings.errors import SettingsError
from tests.planner.stacks import planned, rules, sections, told

SCALED: Mapping[str, Any] = {
    "pools.2.instanceType": "g6.2xlarge",
    "pools.2.capacity": "spot",
    "pools.2.count": 0,
    "pools.2.karpenter": {
        "maxCount": 4,
        "capacities": ["spot", "on-demand"],
        "instanceTypes": ["g6.4xlarge"],
    },
    "budget.maxHourlyUsd": 1000,
}


def scaled(**karpenter: Any) -> AwsPlan:
    return planned("dev", {**SCALED, "pools.2.karpenter": {**SCALED["pools.2.karpenter"], **karpenter}})


def test_a_pool_counts_with_all_the_nodes_that_it_may_have() -> None:
    """Subnets, quotas, GPUs and the services' most replicas are held against that; none is asked for today."""
    plan = scaled()
    pool = plan.pools["inference"]
    assert (pool.count, pool.nodes_now, pool.gpus, pool.repair, pool.surge) == (4, 0, 4, None, 0)
    assert pool.scaled is not None
    assert [each.type for each in pool.scaled.types] == ["g6.2xlarge", "g6.4xlarge"]
    assert [str(each) for each in pool.scaled.usages] == ["spot", "on-demand"]
    assert pool.scaled.gpus == 4
    assert plan.totals.gpus == 6
    assert "karpenter" in plan.charts
    assert "karpenter" not in planned("dev").charts


FIXED = {
    **SCALED,
    "pools.2.capacity": "on-demand",
    "pools.2.karpenter": {"maxCount": 4, "instanceTypes": ["g6.4xlarge"]},
}
STAYS: Mapping[str, Any] = sections()["serving"]["services"][0]
GOES = {**STAYS, "name": "rare", "public": True, "scaleToZero": {}}
GATEWAY = {"domain": "llm.acme.com", "issuer": {"kind": "private-ca"}, "callers": ["10.0.0.0/8"]}


def line_of(plan: AwsPlan) -> PriceLine:
    return next(each for each in plan.prices.lines if each.pool == "inference")


def test_it_costs_the_dearest_of_what_it_may_take_at_most() -> None:
    line, pool = line_of(scaled()), scaled().pools["inference"]
    dearest = next(iter(pool.scaled.types[1:])).on_demand  # type: ignore[union-attr]
    assert dearest is not None
    assert line.usd_per_hour == pytest.approx(4 * dearest.usd_per_hour)
    assert line.high == pytest.approx(4 * dearest.high)
    assert line.name == "pool inference: up to 4 of g6.2xlarge or g6.4xlarge, spot or on-demand"


@pytest.mark.parametrize(
    ("services", "always"),
    [([STAYS], 1), ([{**STAYS, "minReplicas": 3, "maxReplicas": 4}], 3), ([GOES], 0), ([STAYS, GOES], 1)],
    ids=["a replica that stays", "three that stay", "none that stays", "one that stays beside none"],
)
def test_the_range_begins_where_the_fewest_replicas_find_room(services: list[Any], always: int) -> None:
    """At the lowest price of any option; the usual case, at the cheapest option, is said beside the dearest."""
    plan = planned("dev", {**FIXED, "serving": {"services": services, "gateway": GATEWAY}})
    line, types = line_of(plan), (INSTANCES["g6.2xlarge"].on_demand, INSTANCES["g6.4xlarge"].on_demand)
    small, large = (each for each in types if each)
    assert line.low == pytest.approx(always * min(small.low, large.low))
    assert plan.prices.hourly_low == pytest.approx(sum(each.low for each in plan.prices.lines), abs=0.01)
    usual = f"{always} node{'s' * (always > 1)} of pool inference while its services have their fewest replicas, "
    usual += f"{always * small.usd_per_hour:.2f} USD an hour at the cheapest"
    none = "no node of pool inference while none of its services has a replica"
    assert line.basis == f"{usual if always else none}; the sum counts 4 at the dearest, {line.usd_per_hour:.2f} USD"
    assert line.basis in dict(price_facts(plan.prices))["assumed"]  # type: ignore[operator]


def test_either_quota_must_hold_all_of_its_nodes_and_no_node_group_is_counted() -> None:
    """Four of the largest type, bought in one way or the other."""
    needs = {each.quota.name: each.need for each in scaled().quotas}
    assert needs["All G and VT Spot Instance Requests"] == 4 * 16
    assert needs["Running On-Demand G and VT instances"] == 4 * 16
    assert needs["Managed node groups per cluster"] == 2
    assert needs["Nodes per managed node group"] == 2


def test_replicas_are_held_against_the_most_nodes() -> None:
    """The autoscaler's maximum is of the same order as the ceiling of the node pool."""
    more = {"serving.services.0.maxReplicas": 5}
    assert "autoscaler-ceiling" in rules(planned("dev", {**SCALED, **more}))
    assert "autoscaler-ceiling" not in rules(planned("dev", {**SCALED, "serving.services.0.maxReplicas": 4}))


def test_a_plan_of_it_stands() -> None:
    assert [str(each) for each in scaled().findings if each.severity is Severity.ERROR] == []


def test_gangs_stay_in_node_groups() -> None:
    plan = planned("dev", {"pools.1.count": 0, "pools.1.karpenter": {"maxCount": 2}})
    (said,) = told("scaled-pool-serves", plan)
    assert said.startswith("gpucluster:pools[1].role: ")
    assert "a gang starts once all of its nodes stand close together" in said
    assert told("scaled-pool-serves", scaled()) == []


@pytest.mark.parametrize(
    ("type_", "why"),
    [
        ("g6e.4xlarge", "has 1 x L40S, and the pool's g6.2xlarge has 1 x L4"),
        ("g6.12xlarge", "has 4 x L4"),
        ("g6.xlarge", "has 4 vCPU and 16 GiB, less than the 8 and 32"),
        ("g6.superlarge", "is not in the catalogue"),
        ("m7i.2xlarge", "has 0 x no GPU"),
    ],
)
def test_every_type_has_what_pods_are_planned_for(type_: str, why: str) -> None:
    (said,) = told("scaled-types-equal", scaled(instanceTypes=["g6.4xlarge", type_]))
    assert said.startswith("gpucluster:pools[2].karpenter.instanceTypes[1]: ")
    assert why in said


def test_equal_types_are_taken() -> None:
    assert told("scaled-types-equal", scaled(instanceTypes=["g6.4xlarge", "g6.8xlarge", "g6.16xlarge"])) == []


def test_gpus_that_are_shared_are_refused() -> None:
    (said,) = told("scaled-gpus-whole", planned("dev", {**SCALED, "pools.2.timeSlices": 2}))
    assert said.startswith("gpucluster:pools[2].timeSlices: ")
    assert told("scaled-gpus-whole", scaled()) == []


def test_a_closed_network_is_refused() -> None:
    (said,) = told("scaled-needs-a-way-out", planned("dev", {**SCALED, "platform.network.nat": "none"}))
    assert said.startswith("gpucluster:pools[2].karpenter: Karpenter asks IAM")
    assert told("scaled-needs-a-way-out", scaled()) == []


def test_one_offer_on_spot_is_warned_of() -> None:
    alone = scaled(capacities=["spot"], instanceTypes=[])
    (said,) = told("scaled-spot-alone", alone)
    assert "pods of inference wait while EC2 has no spot g6.2xlarge" in said
    assert told("scaled-spot-alone", scaled(capacities=["spot"])) == []
    assert told("scaled-spot-alone", scaled(instanceTypes=[])) == []


def test_off_hours_do_not_reach_its_nodes() -> None:
    plan = planned("dev", {**SCALED, "keeper": {"offHours": {"timeZone": "UTC"}}})
    (said,) = told("scaled-off-hours", plan)
    assert said.startswith("gpucluster:pools[2].karpenter: off hours empty node groups")
    assert plan.keeper is not None
    assert "inference" not in plan.keeper.gpu_pools
    assert told("scaled-off-hours", scaled()) == []


@pytest.mark.parametrize(
    ("changes", "path", "why"),
    [
        ({"pools.2.count": 2}, "pools[2].count", "set it to 0"),
        ({"pools.2.karpenter": {"maxCount": 0}}, "pools[2].karpenter.maxCount", "1"),
        (
            {"pools.2.karpenter": {"maxCount": 2, "capacities": ["on-demand"]}},
            "pools[2].karpenter.capacities",
            "leave out spot",
        ),
        (
            {"pools.2.karpenter": {"maxCount": 2, "capacities": ["spot", "spot"]}},
            "pools[2].karpenter.capacities[1]",
            "named twice",
        ),
        (
            {"pools.2.karpenter": {"maxCount": 2, "instanceTypes": ["g6.2xlarge"]}},
            "pools[2].karpenter.instanceTypes[0]",
            "named already",
        ),
        (
            {
                "pools.2.capacity": "capacity-block",
                "pools.2.reservation": {
                    "id": "cr-0123456789abcdef0",
                    "zone": "use2-az1",
                    "start": "2026-12-01",
                    "end": "2026-12-02",
                },
            },
            "pools[2].karpenter",
            "a capacity block is paid for",
        ),
    ],
)
def test_what_cannot_stand_beside_it(changes: Mapping[str, Any], path: str, why: str) -> None:
    with pytest.raises(SettingsError) as refused:
        planned("dev", {**SCALED, **changes})
    assert path in str(refused.value)
    assert why in str(refused.value)
