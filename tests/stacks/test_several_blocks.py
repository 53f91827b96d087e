"""A pool in several capacity blocks, and what keeps them: from the stack file to what is registered (PF10)."""

from copy import deepcopy
from datetime import date, timedelta
from typing import Any

from tests.graph.harness import Recorded
from tests.graph.stackfiles import registered, stack_config
from tests.stacks.registered import keeper_task

IDS = ("cr-0123456789abcdef0", "cr-0123456789abcdef1")


def config(first_day_in: int = -1, counts: tuple[int, ...] = (64, 8), **sections: Any) -> dict[str, Any]:
    """The prod stack's program over a training pool in two blocks."""
    start = date.today() + timedelta(days=first_day_in)
    days = {"zone": "use2-az1", "start": str(start), "end": str(start + timedelta(weeks=1))}
    found = deepcopy(stack_config("dev"))
    found["gpucluster:pools"][1] |= {
        "instanceType": "p5.48xlarge",
        "count": sum(counts),
        "capacity": "capacity-block",
        "reservations": [{"id": id_, "count": count, **days} for id_, count in zip(IDS, counts, strict=False)],
    }
    found["gpucluster:training"] = {"runs": []}
    found["gpucluster:budget"] = {"maxHourlyUsd": 9000}
    found["gpucluster:platform"]["vpcCidr"] = "10.64.0.0/16"
    return {**found, **{f"gpucluster:{name}": value for name, value in sections.items()}}


def deployed(**changes: Any) -> Recorded:
    return registered(config(**changes), stack="dev")


def test_each_block_has_a_node_group_whose_template_names_it() -> None:
    graph = deployed()
    for number, (id_, count) in enumerate(zip(IDS, (64, 8), strict=True), 1):
        template = graph.one(f"pool-training-{number}-template").inputs
        target = template["capacityReservationSpecification"]["capacityReservationTarget"]
        assert target["capacityReservationId"] == id_
        group = graph.one(f"pool-training-{number}-nodes").inputs
        assert group["nodeGroupName"] == f"training-{number}"
        sizes = group["scalingConfig"]
        assert (sizes["minSize"], sizes["desiredSize"], sizes["maxSize"]) == (0, count, count)


def test_the_sick_are_counted_by_the_node_group() -> None:
    """A fifth of 64 and of 8, not of 72: EKS counts within a group."""
    graph = deployed()
    limits = [
        graph.one(f"pool-training-{number}-nodes").inputs["nodeRepairConfig"]["maxUnhealthyNodeThresholdCount"]
        for number in (1, 2)
    ]
    assert limits == [12, 1]


def test_the_scheduler_sees_one_pool() -> None:
    graph = deployed()
    groups = [graph.one(f"pool-training-{number}-nodes").inputs for number in (1, 2)]
    assert groups[0]["labels"] == groups[1]["labels"]
    assert groups[0]["labels"]["gpucluster/pool"] == "training"
    assert groups[0]["taints"] == groups[1]["taints"]
    assert groups[0]["subnetIds"] == groups[1]["subnetIds"]


def test_what_runs_on_the_pool_waits_for_all_of_its_groups() -> None:
    graph = deployed()
    groups = {graph.one(f"pool-training-{number}-nodes").urn for number in (1, 2)}
    waiting = [each for each in graph.resources.values() if groups <= set(each.depends_on)]
    assert waiting, "the GPU checks of the pool"


def test_the_keeper_is_told_of_every_block_and_looks_every_minute() -> None:
    graph = deployed(first_day_in=3, keeper={"blocks": True})
    told = keeper_task(graph)["blocks"]
    assert [(each["group"], each["reservation"], each["nodes"]) for each in told] == [
        ("training-1", IDS[0], 64),
        ("training-2", IDS[1], 8),
    ]
    left = {graph.one(f"pool-training-{number}-nodes").ignore_changes for number in (1, 2)}
    assert left == {("scalingConfig",)}
    start = date.today() + timedelta(days=3)
    assert {each["start"] for each in told} == {f"{start}T11:30:00Z"}
    assert {(each["save_minutes"], each["empty_minutes"]) for each in told} == {(45, 40)}
    assert graph.one("keeper-schedule").inputs["scheduleExpression"] == "rate(1 minute)"
    policy = graph.one("keeper-role-policy").inputs["policy"]
    assert "ec2:DescribeCapacityReservations" in policy
    assert "the keeper asks for them" in " ".join(text for _, text in graph.messages)


def test_a_keeper_without_blocks_is_what_it_was() -> None:
    graph = deployed(keeper={"offHours": {"timeZone": "UTC"}})
    assert "blocks" not in keeper_task(graph)
    assert graph.one("pool-training-1-nodes").ignore_changes == ("scalingConfig.desiredSize",)
    assert graph.one("keeper-schedule").inputs["scheduleExpression"] == "rate(10 minutes)"
