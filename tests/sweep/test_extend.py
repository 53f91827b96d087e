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
        if operation == "put_parameter":
            assert (request["Type"], request["Overwrite"]) == ("String", True)
            self._values[request["Name"]] = request["Value"]
        if (service, operation) == ("lambda", "get_function_configuration"):
            assert request["FunctionName"] == "gpucluster-lab-keeper"
            return {"Environment": {"Variables": {"KEEPER": TASK}}}
        assert operation in ("get_parameter", "put_parameter")
        return {"Parameter": {"Value": self._values[request["Name"]]}}


def test_the_account_tells_of_a_labs_life() -> None:
    known = life(Told("2026-11-23T18:00:00Z", '{"started": "2026-11-23T14:30:00Z"}'), "gpucluster", "lab")
    assert known == dataclasses.replace(LIFE, latest=NOW + timedelta(hours=3, minutes=30))
    assert life(Told("never", "{}"), "gpucluster", "lab") == Life(ends=None, stopped="", hourly_usd=4, latest=None)


def test_the_command_says_the_price_and_what_to_write(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = Told("2026-11-23T18:00:00Z", "{}")
    monkeypatch.setattr("sweep.extend.AwsAccount", lambda region, profile: {("r", "p"): told}[region, profile])
    monkeypatch.setattr(Told, "region", "r", raising=False)
    words = ["--stack", "lab", "--region", "r", "--profile", "p", "--hours"]
    assert main([*words, "1.5"], now=NOW) == 0
    assert capsys.readouterr().out == (
        "lab ends at 2026-11-23T19:30:00Z; 1.5 hours more cost 6.00 USD\n"
        'set keeper.endsAt to "2026-11-23T19:30:00Z" in Pulumi.lab.yaml: its tags follow with the next pulumi up\n'
    )
    known = life(told, "gpucluster", "lab")
    assert known.ends == NOW + timedelta(hours=3.5)
    assert main([*words, "1"], now=known.ends) == 1
    assert capsys.readouterr().out == (
        "lab is not extended: it ended at 2026-11-23T19:30:00Z and is being removed; "
        "to create a new one, destroy what is left of it, then run pulumi up\n"
    )


@pytest.mark.parametrize("hours", ["", "two", "0", "-1", "nan", "10000"])
def test_hours_that_are_none_are_refused(hours: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stack", "lab", "--hours", hours]) == 2
    assert "type HOURS=2" in capsys.readouterr().err


@pytest.mark.usefixtures("cloud")
def test_a_lab_without_a_keeper_is_told_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stack", "nobody", "--hours", "2"]) == 2
    assert "nobody has no keeper in us-east-1" in capsys.readouterr().err
