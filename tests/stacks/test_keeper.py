"""What a lab's keeper is told, and that it is there before all that costs by the hour."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rehearsal.cloud.budget_periods import Cost, filled, spent
from stacks.aws_keeper import code
from tests.graph.harness import Recorded
from tests.graph.stackfiles import registered, stack_config
from tests.mutants.coverage import imported
from tests.stacks.arns import strangers
from tests.stacks.registered import keeper_task


def lab(keeper: dict[str, Any]) -> Recorded:
    return registered({**stack_config("lab"), "gpucluster:keeper": keeper}, stack="lab")


def test_the_keeper_is_told_what_the_stack_file_says() -> None:
    hours = {"timeZone": "Europe/Berlin", "days": ["mon"], "start": "07:00", "end": "19:00"}
    given = {"endsAt": "2027-06-01T18:30Z", "maxUsd": 90000, "warnHours": 3, "emails": ["a@example.com"]}
    graph = lab({**given, "offHours": hours})
    assert keeper_task(graph) == {
        "project": "gpucluster",
        "stack": "lab",
        "cluster": "gpucluster-lab",
        "ends_parameter": "/gpucluster/lab/keeper/ends",
        "record_parameter": "/gpucluster/lab/keeper/record",
        "topic": f"arn:aws:sns:us-east-2:123456789012:topic/{graph.one('keeper-told').id}",
        "off_hours": {"time_zone": "Europe/Berlin", "days": ["mon"], "start": "07:00", "end": "19:00"},
        "max_usd": 90000,
        "hourly_usd": 1.03,
        "warn_hours": 3,
        "gpu_pools": {"training": 1},
    }
    logs = graph.one("keeper-logs").inputs
    assert logs["kmsKeyId"].endswith(f":key/{graph.one('keys-key').id}")
    assert graph.one("keeper-ends").inputs["insecureValue"] == "2027-06-01T18:30:00Z"
    assert graph.one("keeper-ends").inputs["name"] == "/gpucluster/lab/keeper/ends"
    assert graph.one("keeper-told-0").inputs["endpoint"] == "a@example.com"
    assert graph.one("keeper-budget").inputs["limitAmount"] == "90000.0"
    assert logs["name"] == "/aws/eks/gpucluster-lab/keeper"
    shown = {"endsParameter": "/gpucluster/lab/keeper/ends", "keeperTopic": keeper_task(graph)["topic"]}
    assert graph.outputs["hardware"].items() >= shown.items()
    assert set(graph.one("keeper-function").inputs["code"]["assets"]) == set(code())


def test_the_archive_has_what_its_files_import_of_each_other() -> None:
    """And nothing else of the program's: the function's machine has Python and AWS' SDK alone."""
    ours = {name.removesuffix(".py").replace("/", ".") for name in code()}
    own = {name.partition(".")[0] for name in ours}
    wanted = {each for text in code().values() for each in imported(text) if each.partition(".")[0] in own}
    assert not {each for each in wanted if each not in ours | {"sweep"} and each.rpartition(".")[0] not in ours}
    assert ours == wanted & ours | {"handler", "sweep.__init__"}


def test_the_keeper_is_there_before_the_network_and_goes_after_it() -> None:
    graph = lab({"endsAt": "2027-06-01T18:30Z", "maxUsd": None})
    vpc, schedule = graph.one("network-vpc"), graph.one("keeper-schedule")
    assert schedule.urn in vpc.depends_on
    assert not [each for each in graph.resources.values() if each.name == "keeper-budget"]


STRANGERS = """
    ec2:us-east-2:123456789012:capacity-reservation/* ec2:us-east-2:123456789012:instance/*
    ec2:us-east-2:123456789012:natgateway/* ec2:us-east-2:123456789012:network-interface/*
    ec2:us-east-2:123456789012:volume/* eks:us-east-2:123456789012:nodegroup/gpucluster-lab/*/*
    elasticloadbalancing:us-east-2:123456789012:loadbalancer/* fsx:us-east-2:123456789012:file-system/*
    iam::123456789012:root iam::123456789012:role/deployer
"""


def test_beside_the_stacks_own_the_keeper_names_kinds_of_things_in_its_region_and_account() -> None:
    graph = lab({"endsAt": "2027-06-01T18:30Z", "maxUsd": 90000})
    assert strangers(graph) == {f"arn:aws:{each}" for each in STRANGERS.split()}


def test_a_stack_that_only_sleeps_never_ends() -> None:
    graph = registered(
        {**stack_config("dev"), "gpucluster:keeper": {"offHours": {"timeZone": "UTC"}}},
        stack="dev",
    )
    assert graph.one("keeper-ends").inputs["insecureValue"] == "never"
    assert keeper_task(graph)["gpu_pools"] == {"training": 2, "inference": 2}


def test_the_budget_counts_this_lab_alone_and_past_the_months_end_z15() -> None:
    """By what AWS documents of periods: none of what a lab of the same name spent before, and all of its own."""
    made = lab({"endsAt": "2027-06-01T18:30Z", "maxUsd": 90000}).one("keeper-budget")
    told = made.inputs
    begun = datetime.strptime(told.get("timePeriodStart", "2000-01-01_00:00"), "%Y-%m-%d_%H:%M").replace(tzinfo=UTC)
    assert made.ignore_changes == ("timePeriodStart",), "a later up keeps the moment of the first"
    assert timedelta(0) <= datetime.now(UTC) - begun < timedelta(minutes=10)
    body = {
        "TimeUnit": told["timeUnit"],
        "TimePeriod": filled({"Start": begun}, told["timeUnit"], begun),
        "CostFilters": {each["name"]: each["values"] for each in told["costFilters"]},
    }
    tag = "user:gpucluster:stack$lab"
    earlier = [Cost(begun - timedelta(hours=hours), tag, 80000) for hours in (1, 300)]
    own = [Cost(begun + timedelta(days=day), tag, 1000) for day in range(1, 80)]
    assert spent(body, earlier, begun) == 0
    assert spent(body, [*earlier, *own], begun + timedelta(days=90)) == 79000
