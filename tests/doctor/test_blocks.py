"""Capacity blocks that a stack names."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from doctor.case import Case
from doctor.results import Status
from rehearsal.tests.cloud.conftest import Cloud
from tests.doctor.conftest import BLOCK, NOW, REGION, Run, case

ORDER = {
    "instanceType": "p5.48xlarge",
    "zoneId": "use2-az1",
    "count": 2,
    "start": "2026-11-20T11:30:00+00:00",
    "end": "2026-11-27T11:30:00+00:00",
}


@pytest.fixture(autouse=True)
def empty_afterwards(cloud: Cloud) -> Iterator[None]:
    yield
    cloud.call("PUT", f"reservations/{REGION}/{BLOCK}", {"state": None})


def blocked(now: datetime = NOW, **changes: Any) -> Case:
    """The dev stack with its training pool in a block of a week; two nodes."""
    reservation = {"id": BLOCK, "zone": "use2-az1", "start": "2026-11-20", "end": "2026-11-27", **changes}
    return case(
        {
            "pools.1.instanceType": "p5.48xlarge",
            "pools.1.capacity": "capacity-block",
            "pools.1.reservation": reservation,
        },
        now=now,
    )


def bought(cloud: Cloud, **changes: Any) -> None:
    cloud.call("PUT", f"reservations/{REGION}/{BLOCK}", {**ORDER, **changes})


def test_a_stack_without_blocks_is_not_asked_about(examined: Run) -> None:
    """Nothing to say."""
    assert examined("capacity-block", case()) == []


def test_a_block_as_the_stack_has_it(examined: Run, cloud: Cloud) -> None:
    """Count, type, zone and window are told."""
    bought(cloud)
    (told,) = examined("capacity-block", blocked())
    assert (told.status, told.subject) == (Status.OK, BLOCK)
    window = "active, 2026-11-20 11:30 UTC to 2026-11-27 11:30 UTC"
    assert told.sentence == f"2 x p5.48xlarge in use2-az1, {window}"


def test_a_block_that_comes_later_is_fine(examined: Run, cloud: Cloud) -> None:
    """Until its start the pool has no nodes."""
    bought(cloud, state="scheduled")
    (told,) = examined("capacity-block", blocked(now=datetime(2026, 11, 18, tzinfo=UTC)))
    assert told.status is Status.OK
    assert "scheduled" in told.sentence


def test_a_block_that_does_not_exist(examined: Run) -> None:
    """The id is what AWS did not find."""
    (told,) = examined("capacity-block", blocked())
    assert (told.status, told.subject) == (Status.FAIL, BLOCK)
    assert BLOCK in told.sentence


@pytest.mark.parametrize(
    ("changes", "status", "sentence", "remedy"),
    [
        ({"instanceType": "p5en.48xlarge"}, Status.FAIL, "holds p5en.48xlarge", "pools[1].instanceType"),
        ({"zoneId": "use2-az2"}, Status.FAIL, "lies in use2-az2", "reservation.zone"),
        ({"count": 1}, Status.FAIL, "has 1 instances, and pool training counts 2", "count to at most 1"),
        ({"type": "default"}, Status.FAIL, "of type default", "capacity block"),
        ({"state": "expired"}, Status.FAIL, "state is expired", "buy another"),
        ({"state": "payment-failed"}, Status.FAIL, "state is payment-failed", "buy another"),
        ({"state": "payment-pending"}, Status.WARN, "state is payment-pending", "wait"),
        (
            {"end": "2026-11-25T11:30:00+00:00"},
            Status.FAIL,
            "end is 2026-11-25 11:30 UTC, and the stack says 2026-11-27",
            'gpucluster:pools[1].reservation.end to "2026-11-25"',
        ),
        (
            {"start": "2026-11-21T11:30:00+00:00"},
            Status.FAIL,
            "start is 2026-11-21 11:30 UTC, and the stack says 2026-11-20",
            'reservation.start to "2026-11-21"',
        ),
        ({"end": "2026-11-28T11:30:00+00:00"}, Status.WARN, "end is 2026-11-28", 'reservation.end to "2026-11-28"'),
        ({"start": "2026-11-19T11:30:00+00:00"}, Status.WARN, "start is 2026-11-19", 'start to "2026-11-19"'),
    ],
)
def test_a_block_that_is_another(
    examined: Run, cloud: Cloud, changes: Mapping[str, Any], status: Status, sentence: str, remedy: str
) -> None:
    """What differs, with both values and the key to change."""
    bought(cloud, **changes)
    (told,) = examined("capacity-block", blocked())
    assert told.status is status
    assert sentence in told.sentence
    assert remedy in str(told.remedy)


def test_everything_that_differs_is_told_at_once(examined: Run, cloud: Cloud) -> None:
    """One result per block."""
    bought(cloud, count=1, zoneId="use2-az3", state="payment-pending")
    (told,) = examined("capacity-block", blocked())
    assert told.status is Status.FAIL
    assert told.sentence.count(";") == 2


def test_a_block_that_is_about_to_end(examined: Run, cloud: Cloud) -> None:
    """On its last day; EKS takes the nodes forty minutes before the end."""
    bought(cloud)
    (told,) = examined("capacity-block", blocked(now=datetime(2026, 11, 26, 12, tzinfo=UTC)))
    assert told.status is Status.WARN
    assert "ends 2026-11-27 11:30 UTC" in told.sentence
    assert "taken from 2026-11-27 10:50 UTC" in told.sentence
    (told,) = examined("capacity-block", blocked(now=datetime(2026, 11, 26, 11, tzinfo=UTC)))
    assert told.status is Status.OK
