"""A pool in a capacity block, from the stack file to what is registered (PF10, E21)."""

from copy import deepcopy
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest

from tests.graph.harness import Recorded
from tests.graph.stackfiles import registered, stack_config

RESERVATION = "cr-0123456789abcdef0"


def booked(first_day_in: int, **training: Any) -> Recorded:
    """The dev stack with its training pool in a block of a week that starts in so many days."""
    start = date.today() + timedelta(days=first_day_in)
    reservation = {
        "id": RESERVATION,
        "zone": "use2-az1",
        "start": start.isoformat(),
        "end": (start + timedelta(weeks=1)).isoformat(),
    }
    config = deepcopy(stack_config("dev"))
    config["gpucluster:pools"][1] |= {
        "instanceType": "p5.48xlarge",
        "capacity": "capacity-block",
        "reservation": reservation,
    }
    config["gpucluster:training"] = {"runs": [], **training}
    config["gpucluster:budget"] = {"maxHourlyUsd": 900}
    return registered(config, stack="dev")


def test_a_block_is_one_subnet_of_its_zone_and_names_its_reservation() -> None:
    """PF10, E21: no placement group, no instance types, one subnet, which is the GPU zone's."""
    graph = booked(-1)
    nodes = graph.one("pool-training-nodes").inputs
    assert (nodes["capacityType"], "instanceTypes" in nodes) == ("CAPACITY_BLOCK", False)
    (subnet,) = nodes["subnetIds"]
    zones = {each.id: each.inputs["availabilityZoneId"] for each in graph.of_type("Subnet")}
    assert zones[subnet] == "use2-az1"
    template = graph.one("pool-training-template").inputs
    target = template["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target["capacityReservationId"] == RESERVATION
    assert template["instanceMarketOptions"]["marketType"] == "capacity-block"
    assert graph.of_type("PlacementGroup") == []
    assert len(template["networkInterfaces"]) == 33


@pytest.mark.parametrize(("first_day_in", "desired"), [(-1, 2), (0, 2), (1, 0), (30, 0)])
def test_nodes_are_asked_for_once_the_block_runs(first_day_in: int, desired: int) -> None:
    """PF10: before the first day the group is empty, with room for all of its nodes."""
    nodes = booked(first_day_in).one("pool-training-nodes")
    scaling = nodes.inputs["scalingConfig"]
    assert (scaling["minSize"], scaling["desiredSize"], scaling["maxSize"]) == (0, desired, 2)
    assert nodes.ignore_changes == ("scalingConfig.desiredSize",)


def test_the_alert_knows_when_the_blocks_nodes_go() -> None:
    """40 minutes before 11:30 UTC, of the block's last day."""
    rules = booked(-1).one("rules-recording").inputs
    (plan,) = (each for each in rules["spec"]["groups"] if each["name"] == "gpucluster.plan")
    (found,) = (each for each in plan["rules"] if each["record"] == "gpucluster:pool:block_leaves_seconds")
    leaves = datetime.combine(date.today() + timedelta(days=6), time(10, 50), tzinfo=UTC)
    assert found["expr"] == f"vector({leaves.timestamp():.0f})"
    assert found["labels"] == {"pool": "training", "reservation": RESERVATION}


def test_other_pools_stay_as_they_are() -> None:
    """PF10: a block changes nothing about the pools beside it."""
    graph = booked(-1)
    for pool in ("system", "inference"):
        assert graph.one(f"pool-{pool}-nodes").ignore_changes == ()
        assert graph.one(f"pool-{pool}-nodes").inputs["capacityType"] == "ON_DEMAND"


def test_the_plan_says_what_to_run_at_the_start() -> None:
    """PF10: nobody fills the group by itself, so the preview shows the command."""
    said = " ".join(text for _, text in booked(3).messages)
    assert "nodes are not asked for yet" in said
    assert "desiredSize=2" in said
