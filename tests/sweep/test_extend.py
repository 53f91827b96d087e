"""A lab lives longer, within its money (Z15)."""

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sweep.extend import Life, RefusedError, extended, life, main

NOW = datetime(2026, 11, 23, 16, tzinfo=UTC)
LIFE = Life(ends=NOW + timedelta(hours=2), stopped="", hourly_usd=4, latest=NOW + timedelta(hours=3, minutes=30))
TASK = (
    '{"ends_parameter": "/gpucluster/lab/keeper/ends", "record_parameter": "/gpucluster/lab/keeper/record",'
    ' "hourly_usd": 4, "max_usd": 20}'
)


def test_an_end_moves_by_the_hours_asked_for() -> None:
    assert extended(LIFE, 1.5, NOW) == LIFE.latest
    assert extended(dataclasses.replace(LIFE, latest=None), 48, NOW) == NOW + timedelta(hours=50)


@pytest.mark.parametrize(
    ("changes", "hours", "said"),
    [
        ({}, 1.6, r"take HOURS=1.5 at most, or raise keeper.maxUsd"),
        ({"ends": None}, 1, "no end"),
        ({"stopped": "AWS Budgets"}, 1, r"was stopped \(AWS Budgets\)"),
        ({"ends": NOW}, 1, "it ended at 2026-11-23T16:00:00Z"),
        ({"latest": NOW}, 0.1, "it ended"),
    ],
)
def test_what_must_not_live_longer_does_not(changes: dict[str, Any], hours: float, said: str) -> None:
    with pytest.raises(RefusedError, match=said):
        extended(dataclasses.replace(LIFE, **changes), hours, NOW)


class Told:
    """An account that answers what a lab's keeper has left in it."""

    def __init__(self, ends: str, record: str) -> None:
        self._values = {"/gpucluster/lab/keeper/ends": ends, "/gpucluster/lab/keeper/record": record}

    def pages(self, service: str, operation: str, **request: Any) -> Any:
        raise AssertionError(f"{service} {operation} {request}")

    def call(self, service: str, operation: str, **request: Any) -> Any:
        if (service, operation) == ("lambda", "get_function_configuration"):
            assert request["FunctionName"] == "gpucluster-lab-keeper"
            return {"Environment": {"Variables": {"KEEPER": TASK}}}
        return {"Parameter": {"Value": self._values[request["Name"]]}}


def test_the_account_tells_of_a_labs_life() -> None:
    known = life(Told("2026-11-23T18:00:00Z", '{"started": "2026-11-23T14:30:00Z"}'), "gpucluster", "lab")
    assert known == dataclasses.replace(LIFE, latest=NOW + timedelta(hours=3, minutes=30))
    assert life(Told("never", "{}"), "gpucluster", "lab") == Life(ends=None, stopped="", hourly_usd=4, latest=None)


@pytest.mark.parametrize("hours", ["", "two", "0", "-1", "nan", "10000"])
def test_hours_that_are_none_are_refused(hours: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stack", "lab", "--hours", hours]) == 2
    assert "type HOURS=2" in capsys.readouterr().err


@pytest.mark.usefixtures("cloud")
def test_a_lab_without_a_keeper_is_told_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stack", "nobody", "--hours", "2"]) == 2
    assert "nobody has no keeper in us-east-1" in capsys.readouterr().err
