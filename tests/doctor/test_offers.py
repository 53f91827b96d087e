"""Capacity blocks on offer: found, priced, never bought (PF10)."""

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore.exceptions import ClientError

from doctor.offers import main
from rehearsal.tests.cloud.conftest import Cloud
from tests.doctor.conftest import REGION
from tests.graph.stackfiles import stack_config

TODAY = date(2026, 11, 21)


@pytest.fixture
def offered(cloud: Cloud) -> Iterator[Any]:
    """Puts an offer into the account, and takes it away."""

    def put(
        offer: str, count: int, fee: float, start: str = "2026-11-23", zone: str = "use2-az1", days: int = 7
    ) -> None:
        order = {"instanceType": "p5.48xlarge", "zoneId": zone, "count": count, "days": days, "fee": fee}
        cloud.call("PUT", f"offerings/{REGION}/{offer}", {**order, "start": f"{start}T11:30:00+00:00"})
        known.append(offer)

    known: list[str] = []
    yield put
    for each in known:
        cloud.call("PUT", f"offerings/{REGION}/{each}", {"fee": None})


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command beside a dev stack whose training pool is p5.48xlarge; status and what it printed."""
    config = stack_config("dev")
    config["gpucluster:pools"][1] |= {"instanceType": "p5.48xlarge", "count": 4}
    (tmp_path / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": config}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def ask(*words: str) -> tuple[int, str]:
        status = main(["--stack", "dev", "--pool", "training", *words], today=TODAY)
        told = capsys.readouterr()
        return status, told.out + told.err

    return ask


def test_offers_are_priced_and_the_cheapest_is_told_with_its_command(offered: Any, asked: Any) -> None:
    offered("cbo-dear", 4, 40_000)
    offered("cbo-cheap", 4, 21_504, start="2026-11-25")
    offered("cbo-elsewhere", 4, 100, zone="use2-az2")
    status, told = asked()
    assert status == 0
    assert "4 in use2-az1, 2026-11-25 11:30 to 2026-12-02 11:30 UTC: 21,504.00 USD, 4.00 a GPU-hour" in told
    assert "so not for this stack" in told
    assert "--capacity-block-offering-id cbo-cheap" in told
    assert "cbo-dear" not in told
    assert "cbo-elsewhere" not in told
    assert 'reservation: {id: cr-ID, zone: use2-az1, start: "2026-11-25", end: "2026-12-02"}' in told


def test_more_than_a_block_holds_takes_several_over_the_same_days(offered: Any, asked: Any) -> None:
    offered("cbo-64-a", 64, 1000)
    offered("cbo-64-b", 64, 900, start="2026-11-25")
    offered("cbo-8", 8, 200)
    status, told = asked("--count", "72")
    assert status == 0
    assert "cheapest in use2-az1: 1,200.00 USD" in told, "the dearer one runs over the days of the other block"
    assert [line.split()[-1] for line in told.splitlines() if "purchase-capacity-block" in line] == [
        "cbo-64-a",
        "cbo-8",
    ]
    assert "count: 64}" in told


def test_one_offer_is_not_bought_twice(offered: Any, asked: Any) -> None:
    offered("cbo-64-a", 64, 1000)
    status, told = asked("--count", "128")
    assert status == 1
    assert "no offer for all 128" in told


def test_nothing_on_offer(asked: Any) -> None:
    status, told = asked("--days", "14", "--from", "2026-12-01")
    assert status == 1
    assert "4 x p5.48xlarge for 14 days from 2026-12-01" in told
    assert "nothing is on offer" in told


def test_an_offer_that_starts_before_the_first_day_is_none(offered: Any, asked: Any) -> None:
    offered("cbo-early", 4, 1000)
    assert asked("--from", "2026-11-24")[0] == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--days", "15"), "1 to 14 days, then in whole weeks"),
        (("--from", "2027-02-01"), "up to 8 weeks ahead"),
        (("--from", "2026-11-20"), "up to 8 weeks ahead"),
        (("--type", "m7i.large"), "no pool of the stack has GPUs that are sold in capacity blocks"),
    ],
)
def test_what_is_never_sold_is_not_asked_for(asked: Any, words: tuple[str, ...], sentence: str) -> None:
    status, told = asked(*words)
    assert status == 2
    assert sentence in told


def test_a_silent_account_is_told_of(cloud: Cloud, asked: Any) -> None:
    fault = {"action": "DescribeCapacityBlockOfferings", "code": "UnauthorizedOperation", "status": 403, "times": 3}
    cloud.call("POST", "faults", fault)
    status, told = asked()
    assert status == 3
    assert "grant ec2:DescribeCapacityBlockOfferings" in told


@pytest.mark.parametrize("wrong", [{"CapacityDurationHours": 15 * 24}, {"InstanceCount": 65}])
def test_the_account_refuses_what_ec2_refuses(cloud: Cloud, wrong: dict[str, int]) -> None:
    given = {"InstanceType": "p5.48xlarge", "InstanceCount": 1, "CapacityDurationHours": 24, **wrong}
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        cloud.client("ec2", REGION).describe_capacity_block_offerings(**given)


def test_ends_are_asked_for_as_well(cloud: Cloud, offered: Any) -> None:
    offered("cbo-one", 2, 5)
    ec2 = cloud.client("ec2", REGION)
    asked = {"InstanceType": "p5.48xlarge", "InstanceCount": 2, "CapacityDurationHours": 168}
    assert ec2.describe_capacity_block_offerings(**asked)["CapacityBlockOfferings"]
    early = TODAY + timedelta(days=3)
    assert not ec2.describe_capacity_block_offerings(**asked, EndDateRange=str(early))["CapacityBlockOfferings"]
