"""Teams: what the planner makes of them, and what it says (Y02)."""

from typing import Any

from planner.teams import admissions
from planner.types import AwsPlan
from tests.planner.stacks import planned

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
