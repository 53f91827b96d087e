"""A pool on spot that may fall back: from the stack file to its two node groups and what keeps them."""

from copy import deepcopy
from functools import cache
from typing import Any

from tests.graph.harness import Recorded
from tests.graph.stackfiles import run_program, stack_config
from tests.stacks.registered import keeper_task


@cache
def deployed(**said: Any) -> Recorded:
    config = deepcopy(stack_config("dev"))
    config["gpucluster:pools"][2] |= {"instanceType": "g6.2xlarge", "capacity": "spot", "count": 2}
    config["gpucluster:pools"][2]["spot"] = {"instanceTypes": ["g6.4xlarge"], **said}
    config["gpucluster:keeper"] = {"offHours": {"timeZone": "UTC"}}
    config["gpucluster:budget"] = {"maxHourlyUsd": 1000}
    return run_program(config, stack="dev")


def test_there_is_a_group_on_spot_and_an_equal_one_on_demand_both_empty_at_first() -> None:
    spot, paid = (
        deployed(onDemandMinutes=15).one(f"pool-inference-{kind}-nodes").inputs for kind in ("spot", "on-demand")
    )
    assert (spot["nodeGroupName"], spot["capacityType"]) == ("inference", "SPOT")
    assert (paid["nodeGroupName"], paid["capacityType"]) == ("inference-on-demand", "ON_DEMAND")
    for each in (spot, paid):
        sizes = each["scalingConfig"]
        assert (sizes["minSize"], sizes["desiredSize"], sizes["maxSize"]) == (0, 0, 2)
        assert each["instanceTypes"] == ["g6.2xlarge", "g6.4xlarge"]
        assert each["labels"]["gpucluster/pool"] == "inference"
    assert spot["taints"] == paid["taints"]
    for kind in ("spot", "on-demand"):
        left = deployed(onDemandMinutes=15).one(f"pool-inference-{kind}-nodes").ignore_changes
        assert left == ("scalingConfig",), "another count moves nothing by itself: the keeper does"
    assert "instanceType" not in deployed(onDemandMinutes=15).one("pool-inference-spot-template").inputs


def test_the_keeper_looks_every_minute_for_what_is_missing() -> None:
    graph = deployed(onDemandMinutes=15)
    (told,) = keeper_task(graph)["spots"]
    assert told == {
        "spot": "inference",
        "on_demand": "inference-on-demand",
        "nodes": 2,
        "wait_minutes": 15,
        "again_hours": None,
    }
    assert graph.one("keeper-schedule").inputs["scheduleExpression"] == "rate(1 minute)"


def test_without_falling_back_it_is_one_group_of_several_types() -> None:
    graph = deployed()
    group = graph.one("pool-inference-nodes").inputs
    assert group["instanceTypes"] == ["g6.2xlarge", "g6.4xlarge"]
    assert group["scalingConfig"]["desiredSize"] == 2
    assert "spots" not in keeper_task(graph)
    assert graph.one("keeper-schedule").inputs["scheduleExpression"] == "rate(10 minutes)"


def test_both_groups_of_a_gang_start_in_one_placement_group() -> None:
    config = deepcopy(stack_config("dev"))
    pool = {"instanceType": "p5.48xlarge", "capacity": "spot", "spot": {"onDemandMinutes": 15}}
    config["gpucluster:pools"][1] |= pool
    config["gpucluster:keeper"] = {}
    config["gpucluster:budget"] = {"maxHourlyUsd": 9000}
    config["gpucluster:training"] = {"runs": []}
    graph = run_program(config, stack="dev")
    names = [
        graph.one(f"pool-training-{kind}-template").inputs["placement"]["groupName"] for kind in ("spot", "on-demand")
    ]
    assert names[0] == names[1]
    assert len(graph.of_type("PlacementGroup")) == 1
