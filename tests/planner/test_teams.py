"""Teams and people: what the planner makes of them, and what it says (Y02)."""

from datetime import date
from math import ceil
from typing import Any

import pytest

from catalogue import quotas
from planner.faces.outputs import aws_numbers
from planner.teams import admissions
from planner.types import AwsPlan
from tests.planner.stacks import about, planned, rules, sections

ALICE = "arn:aws:iam::123456789012:role/ml/alice"


def team(**changes: Any) -> dict[str, Any]:
    known = {"name": "vision", "queue": "training", "gpus": 2, "members": [{"role": "viewer", "group": "research"}]}
    return {**known, **changes}


def of(*teams: dict[str, Any], **changes: Any) -> AwsPlan:
    given = {"teams": list(teams), **{key.replace("__", "."): value for key, value in changes.items()}}
    return planned(changes=given)


def about_teams(found: AwsPlan) -> list[str]:
    return [each.rule for each in found.findings if each.rule.startswith("team-")]


def test_people_known_by_themselves_get_a_group_of_the_team() -> None:
    members = [{"role": "trainer", "arn": ALICE}, {"role": "trainer", "group": "research"}]
    (planned_,) = of(team(members=members)).teams
    assert planned_.groups == {"trainer": ("gpucluster:vision:trainer", "research")}
    assert admissions([planned_]) == {ALICE: ("gpucluster:vision:trainer",)}


def test_two_roles_of_one_team_are_two_groups() -> None:
    members = [{"role": "viewer", "group": "all"}, {"role": "operator", "group": "leads"}]
    (planned_,) = of(team(members=members)).teams
    assert planned_.groups == {"viewer": ("all",), "operator": ("leads",)}


def test_a_quota_that_the_queue_never_gives_is_refused() -> None:
    gpus = sum(pool.gpus for pool in planned().pools.values() if pool.role == "training")
    assert about_teams(of(team(gpus=gpus))) == []
    assert about_teams(of(team(gpus=gpus + 1))) == ["team-quota-beyond-queue"]
    capped = {"scheduling__queues": [{"name": "training", "gpus": 1}], "training__runs": []}
    assert about_teams(of(team(gpus=1), **capped)) == []
    assert about_teams(of(team(gpus=2), **capped)) == ["team-quota-beyond-queue"]


def test_a_budget_is_held_against_the_quota() -> None:
    """p5.4xlarge: one H100, at its price of an hour, for the 730 hours of a month."""
    pool = planned().pools["training"]
    price = pool.instance.on_demand
    assert price
    month = 2 * price.usd_per_hour / pool.gpus_per_node * 730
    assert about_teams(of(team(monthlyUsd=month + 1))) == []
    found = of(team(monthlyUsd=month - 1))
    assert about_teams(found) == ["team-budget"]
    (told,) = [each for each in found.findings if each.rule == "team-budget"]
    assert "set gpus to 1" in told.remedy


HOME = {"expectedGib": 730}


def with_home(**changes: Any) -> AwsPlan:
    return planned(changes={"storage.home": HOME, **{key.replace("__", "."): value for key, value in changes.items()}})


def test_what_is_kept_read_and_written_is_on_the_bill() -> None:
    lines = {line.name: line for line in with_home().prices.lines if "EFS" in line.name}
    assert {name: line.usd_per_hour for name, line in lines.items()} == pytest.approx(
        {"GB in EFS": 0.30, "GB a month read from EFS": 0.03, "GB a month written to EFS": 0.006}
    )
    assert {line.layer for line in lines.values()} == {"storage"}
    assert any("730 GB of people's own files" in each for each in with_home().prices.assumptions)
    assert not [line for line in planned().prices.lines if "EFS" in line.name]


def test_backups_are_on_it_where_they_are_kept() -> None:
    kept = with_home(lifecycle__protect=True)
    (line,) = (line for line in kept.prices.lines if "Backup" in line.name)
    assert line.usd_per_hour == pytest.approx(0.05)
    assert kept.home
    assert kept.home.backed_up


def test_a_mount_target_takes_an_address_in_each_zone() -> None:
    without, found = planned(), with_home()
    more = {
        subnet.name: subnet.needed - before.needed
        for subnet, before in zip(found.subnets, without.subnets, strict=True)
    }
    assert {name for name, extra in more.items() if extra} == {
        subnet.name for subnet in found.subnets if subnet.role == "system"
    }
    assert set(more.values()) == {0, 1}


def test_its_interfaces_count_against_the_quota() -> None:
    def need(plan: AwsPlan) -> float:
        (found,) = (each.need for each in plan.quotas if each.quota == quotas.INTERFACES)
        return found

    assert need(with_home()) - need(planned()) == len({subnet.zone_id for subnet in with_home().subnets})


def test_each_team_has_one_beside_the_runs() -> None:
    team = {"name": "vision", "queue": "vision", "gpus": 1, "members": [{"role": "viewer", "group": "people"}]}
    found = with_home(teams=[team], scheduling={"queues": [{"name": "training"}, {"name": "vision"}]}).home
    assert found
    assert found.namespaces == ("training", "team-vision")
    assert found.cold_days == 30


def test_what_ends_by_itself_keeps_nobodys_files() -> None:
    """Z15: the keeper would remove what is meant to last."""
    ends = {"lifecycle__expiry": str(date(2026, 11, 30)), "keeper": {}}
    (finding,) = with_home(**ends).errors
    assert (finding.rule, finding.path) == ("keeper-protected", "gpucluster:storage.home")
    assert rules(with_home()) == []


TOLD = {"emails": ["ml@your-company.com"]}


@pytest.mark.parametrize(("limit", "refused"), [(71, ["gpu-ceiling"]), (72, [])])
def test_more_gpus_than_allowed_are_refused(limit: int, refused: list[str]) -> None:
    """Z15: the ceiling itself is allowed."""
    assert [finding.rule for finding in planned("prod", {"budget.maxGpus": limit}).errors] == refused


def test_the_ceiling_points_at_the_pool_with_the_most() -> None:
    (finding,) = planned("prod", {"budget.maxGpus": 1}).errors
    assert finding.path == "gpucluster:pools[1].count"
    assert "72 GPUs, 64 of them in training" in finding.sentence
    assert "raise budget.maxGpus to 72" in finding.remedy


def test_without_a_ceiling_nothing_is_counted_and_that_is_told() -> None:
    """Z15: but for a stack without GPUs, where no count is dear."""
    assert rules(planned("prod", {"budget.maxGpus": None})) == ["gpus-unbounded"]
    (found,) = about("gpus-unbounded", planned("dev", {"budget.maxGpus": None}))
    assert (str(found.severity), found.path) == ("warning", "gpucluster:budget.maxGpus")
    assert found.sentence.startswith("the stack has 4 GPUs and no limit")
    assert found.remedy.startswith("set it to 4, ")
    bare: dict[str, Any] = {"training": {}, "serving.services": [], "pools": [sections()["pools"][0]]}
    assert "gpus-unbounded" not in rules(planned("dev", {**bare, "budget.maxGpus": None}))


def test_a_stack_whose_cost_nobody_is_told_is_warned_of() -> None:
    """Z15: alerts of AWS do, and so does an amount at which the keeper ends it; hours off do not."""
    unwatched = {"budget.alerts": None}
    (found,) = about("spending-unwatched", planned("dev", unwatched))
    assert (str(found.severity), found.path) == ("warning", "gpucluster:budget.alerts")
    monthly = ceil(planned().prices.monthly)
    assert found.sentence.startswith(f"the stack may cost {monthly} USD a month, and nobody")
    assert f"alerts: {{monthlyUsd: {monthly}, emails: [...]}}" in found.remedy
    nights = {"keeper": {"offHours": {"timeZone": "Europe/Berlin"}}}
    assert rules(planned("dev", {**unwatched, **nights})) == ["spending-unwatched"]
    assert rules(planned("dev", {**unwatched, "keeper": {"maxUsd": 90_000}})) == []
    assert rules(planned("dev")) == []


@pytest.mark.parametrize("stack", ["dev", "lab", "prod"])
def test_every_shipped_stack_in_the_cloud_has_its_rails(stack: str) -> None:
    """Z15: a limit of an hour and of GPUs, and somebody who is told, or an amount at which it ends."""
    plan = planned(stack)
    assert not {"gpus-unbounded", "spending-unwatched"} & {each.rule for each in plan.findings}, "not even waived"


def _month(monthly_usd: float) -> list[str]:
    plan = planned("dev", {"budget.alerts": {"monthlyUsd": monthly_usd, **TOLD}})
    return [rule for rule in rules(plan) if rule.startswith("month-")]


def test_a_month_is_compared_with_what_always_stands_and_with_everything() -> None:
    """Z15: below what the stack costs without GPU nodes it is refused; below the whole price it is a warning."""
    prices = planned("dev").prices
    gpu = sum(line.usd_per_hour for line in prices.lines if line.pool in ("training", "inference"))
    fixed = (prices.hourly - gpu) * 730
    assert _month(fixed - 5) == ["month-below-fixed", "month-above-alerts"]
    assert _month(fixed + 5) == ["month-above-alerts"]
    assert _month(prices.monthly - 1) == ["month-above-alerts"]
    assert _month(prices.monthly + 1) == []


def test_the_price_is_split_by_layer() -> None:
    """Z12: what each layer costs an hour is shown where a preview shows it, and adds up to the whole."""
    shown = aws_numbers(planned("prod"))["priceUsd"]
    layers = shown["hourlyByLayer"]
    assert set(layers) == {"hardware", "kubePlatform", "fabric", "storage", "monitoring"}
    assert sum(layers.values()) == pytest.approx(shown["hourly"], abs=0.03)
    assert layers["kubePlatform"] == 0.1
    assert layers["hardware"] > 440
