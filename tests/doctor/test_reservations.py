"""On-Demand Capacity Reservations that a stack names."""

from collections.abc import Iterator
from typing import Any

import pytest

from doctor.results import Result, Status
from rehearsal.tests.cloud.conftest import Cloud
from tests.doctor.conftest import REGION, Run, case

HELD = "cr-0fedcba9876543210"
ORDER = {"instanceType": "p5.4xlarge", "zoneId": "use2-az1", "count": 4, "type": "default"}


@pytest.fixture(autouse=True)
def empty_afterwards(cloud: Cloud) -> Iterator[None]:
    yield
    cloud.call("PUT", f"reservations/{REGION}/{HELD}", {"state": None})


def told(examined: Run, cloud: Cloud, **changes: Any) -> Result:
    """What is said of a reservation of four for the dev stack's training pool."""
    cloud.call("PUT", f"reservations/{REGION}/{HELD}", {**ORDER, **changes})
    (found,) = examined("reservation", named())
    return found


def named() -> Any:
    held = {"id": HELD, "zone": "use2-az1", "count": 4}
    return case({"pools.1.instanceType": "p5.4xlarge", "pools.1.capacityReservation": held})


def test_a_stack_without_any_is_not_asked_about(examined: Run) -> None:
    assert examined("reservation", case()) == []


def test_one_as_the_stack_has_it(examined: Run, cloud: Cloud) -> None:
    found = told(examined, cloud)
    assert (found.status, found.subject) == (Status.OK, HELD)
    assert found.sentence == "4 x p5.4xlarge in use2-az1, active"


def test_one_that_is_not_there(examined: Run) -> None:
    (found,) = examined("reservation", named())
    assert found.status is Status.FAIL
    assert "describe-capacity-reservations" in str(found.remedy)


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"type": "capacity-block"}, Status.FAIL, "of type capacity-block"),
        ({"state": "expired"}, Status.FAIL, "its state is expired"),
        ({"instanceType": "p5.48xlarge"}, Status.FAIL, "its type is p5.48xlarge, and the stack says p5.4xlarge"),
        ({"zoneId": "use2-az2"}, Status.FAIL, "its zone is use2-az2"),
        ({"count": 1}, Status.FAIL, "it holds 1 instances"),
        ({"count": 6}, Status.WARN, "it holds 6 instances, and the stack says 4"),
        ({"match": "open"}, Status.WARN, "any instance of its type"),
        ({"end": "2026-12-01T11:30:00+00:00"}, Status.WARN, "it ends 2026-12-01 11:30 UTC"),
    ],
)
def test_one_that_is_something_else(
    examined: Run, cloud: Cloud, changes: dict[str, Any], status: Status, words: str
) -> None:
    found = told(examined, cloud, **changes)
    assert found.status is status
    assert words in found.sentence


def test_a_permission_that_is_missing(examined: Run, cloud: Cloud) -> None:
    """The check does not know, and names the action to grant."""
    fault = {"action": "DescribeCapacityReservations", "code": "UnauthorizedOperation", "status": 403}
    cloud.call("POST", "faults", fault)
    (found,) = examined("reservation", named())
    assert found.status is Status.UNKNOWN
    assert "grant ec2:DescribeCapacityReservations" in str(found.remedy)
