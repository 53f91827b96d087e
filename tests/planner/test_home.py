"""People's own files in the plan: what they cost, the addresses they take, and where they are refused (G12)."""

from datetime import date
from typing import Any

import pytest

from catalogue import quotas
from planner.types import AwsPlan
from tests.planner.stacks import planned, rules

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
