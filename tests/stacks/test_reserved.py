"""Pools that start in an On-Demand Capacity Reservation."""

from copy import deepcopy
from typing import Any

import pytest

from planner.types import AwsPlan
from policy import RULES
from policy.rule import violations
from tests.graph.harness import Recorded
from tests.graph.stackfiles import registered, stack_config
from tests.planner.stacks import about, plan_of

HELD = {"id": "cr-0fedcba9876543210", "zone": "use2-az1", "count": 5}


def config(**pool: Any) -> dict[str, Any]:
    """The dev stack with these changes of its training pool."""
    found = deepcopy(stack_config("dev"))
    found["gpucluster:pools"][1] |= pool
    found["gpucluster:budget"] |= {"maxHourlyUsd": 1000, "maxGpus": 64}
    found["gpucluster:budget"]["alerts"] |= {"monthlyUsd": 700_000}
    return found


def planned(**pool: Any) -> AwsPlan:
    return plan_of(config(**pool))


def deployed(**pool: Any) -> Recorded:
    return registered(config(**pool), stack="dev")


def test_nodes_start_in_the_reservation_and_in_no_group_of_the_stacks() -> None:
    """A reservation's instances stand where they stand: only a group that it was made in would do."""
    graph = deployed(capacityReservation=HELD)
    template = graph.one("pool-training-template").inputs
    target = template["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": HELD["id"]}
    assert "instanceMarketOptions" not in template
    assert "placement" not in template
    assert graph.of_type("PlacementGroup") == []
    nodes = graph.one("pool-training-nodes").inputs
    assert (nodes["capacityType"], nodes["scalingConfig"]["minSize"]) == ("ON_DEMAND", 2)
    assert nodes["updateConfig"]["updateStrategy"] == "MINIMAL"
    assert [str(each) for each in violations(graph, RULES)] == []


def test_without_one_nothing_is_named() -> None:
    template = deployed().one("pool-training-template").inputs
    assert "capacityReservationSpecification" not in template
    assert "placement" in template


MADE = {"create": True, "zone": "use2-az1", "count": 5, "end": "2026-12-24"}


def test_the_stack_makes_one_in_the_pools_placement_group() -> None:
    graph = deployed(capacityReservation=MADE)
    made_by = graph.one("pool-training-reservation")
    made = made_by.inputs
    assert {
        key: made[key] for key in ("instanceType", "instanceCount", "instanceMatchCriteria", "availabilityZone")
    } == {
        "instanceType": "p5.4xlarge",
        "instanceCount": 5,
        "instanceMatchCriteria": "targeted",
        "availabilityZone": "us-east-2a",
    }
    assert (made["endDateType"], made["endDate"]) == ("limited", "2026-12-25T00:00:00Z")
    group, template = graph.one("pool-training-placement"), graph.one("pool-training-template")
    assert made["placementGroupArn"].endswith(group.inputs["name"])
    assert template.inputs["placement"]["groupName"] == group.inputs["name"]
    specification = template.inputs["capacityReservationSpecification"]
    assert specification["capacityReservationTarget"]["capacityReservationId"] == made_by.id
    assert [str(each) for each in violations(graph, RULES)] == []


def test_without_an_end_it_lasts_as_long_as_the_stack_and_goes_after_its_nodes() -> None:
    graph = deployed(capacityReservation={key: value for key, value in MADE.items() if key != "end"})
    made = graph.one("pool-training-reservation")
    assert made.inputs["endDateType"] == "unlimited"
    assert "endDate" not in made.inputs
    template = graph.one("pool-training-template")
    assert made.urn in template.references["capacityReservationSpecification"]
    assert template.urn in graph.one("pool-training-nodes").references["launchTemplate"]


@pytest.mark.parametrize("reservation", [HELD, MADE], ids=["held", "made"])
def test_instances_reserved_and_not_run_are_paid_for_and_full_reservations_cost_no_more(
    reservation: dict[str, Any],
) -> None:
    reserved, plain = planned(capacityReservation=reservation), planned()
    assert reserved.pools["training"].idle == 3
    price = reserved.pools["training"].instance.on_demand
    assert price is not None
    assert round(reserved.prices.hourly - plain.prices.hourly, 2) == round(3 * price.usd_per_hour, 2)
    assert planned(capacityReservation={**reservation, "count": 2}).prices.hourly == plain.prices.hourly


def test_the_quota_counts_every_instance_of_a_reservation_that_the_stack_makes() -> None:
    plain, held = planned(), planned(capacityReservation=MADE)

    def vcpu(made: AwsPlan) -> float:
        return next(each.need for each in made.quotas if "P instances" in each.quota.name)

    surge = plain.pools["training"].surge
    assert vcpu(held) - vcpu(plain) == (3 - surge) * held.pools["training"].instance.vcpu


def test_one_that_is_over_is_refused_before_ec2_does() -> None:
    last = {**MADE, "end": "2026-01-01"}
    found = about("reservation-over", planned(capacityReservation=last))
    assert [each.path for each in found] == ["gpucluster:pools[1].capacityReservation.end"]


def test_what_is_reserved_costs_in_off_hours_too_and_that_is_said() -> None:
    def warned(reservation: dict[str, Any] | None, hours: bool = True) -> list[str]:
        found = config(**({"capacityReservation": reservation} if reservation else {}))
        found["gpucluster:keeper"] = {"endsAt": "2099-01-01T00:00Z"}
        if hours:
            found["gpucluster:keeper"]["offHours"] = {"timeZone": "UTC"}
        return [each.path for each in about("reservation-at-night", plan_of(found))]

    assert warned(MADE) == warned(HELD) == ["gpucluster:pools[1].capacityReservation"]
    assert warned(None) == warned(MADE, hours=False) == []


def test_nothing_runs_yet_and_the_reservation_costs_all_the_same() -> None:
    found = deepcopy(config(capacityReservation=HELD, count=0))
    found["gpucluster:training"] = {}
    lines = plan_of(found).prices.lines
    assert [line.quantity for line in lines if line.name.startswith("reservation of pool training")] == [5]
