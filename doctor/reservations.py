"""On-Demand Capacity Reservations that pools start in."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from doctor.account import AbsentError, Account
from doctor.case import Case
from doctor.results import Result, Status, judged
from settings.aws_pools import AwsPool
from settings.capacity_reservation import CapacityReservation

CHECK = "reservation"
Wrong = tuple[Status, str, str]


def held(case: Case, account: Account) -> Iterable[Result]:
    """Each reservation is active, and is what its pool needs and its file says."""
    for index, pool in enumerate(case.settings.pools):
        if (wanted := pool.capacity_reservation) is None or wanted.id is None:
            continue
        ids = {"CapacityReservationIds": [wanted.id]}
        try:
            told = account.every("ec2", "DescribeCapacityReservations", "CapacityReservations", **ids)[0]
        except AbsentError as absence:
            remedy = f"take the id from aws ec2 describe-capacity-reservations --region {case.region}"
            yield Result(check=CHECK, status=Status.FAIL, subject=wanted.id, sentence=str(absence), remedy=remedy)
            continue
        wrong = list(_wrong(pool, wanted, told, f"gpucluster:pools[{index}]"))
        fine = f"{told['TotalInstanceCount']} x {told['InstanceType']} in {told['AvailabilityZoneId']}, {told['State']}"
        yield judged(CHECK, wanted.id, fine, wrong)


def _wrong(pool: AwsPool, wanted: CapacityReservation, told: Mapping[str, Any], path: str) -> Iterator[Wrong]:
    kind, total = told.get("ReservationType", "default"), told["TotalInstanceCount"]
    if kind != "default":
        remedy = f"name it in {path}.reservation, with capacity: capacity-block"
        yield Status.FAIL, f"it is a reservation of type {kind}", remedy
    if told["State"] != "active":
        yield Status.FAIL, f"its state is {told['State']}", "name one that is active"
    for what, found, said, key in (
        ("type", told["InstanceType"], pool.instance_type, "instanceType"),
        ("zone", told["AvailabilityZoneId"], wanted.zone, "capacityReservation.zone"),
    ):
        if found != said:
            yield Status.FAIL, f"its {what} is {found}, and the stack says {said}", f"set {path}.{key} to {found}"
    if total != wanted.count:
        status = Status.FAIL if total < pool.count else Status.WARN
        sentence = f"it holds {total} instances, and the stack says {wanted.count}, on which its price is based"
        yield status, sentence, f"set {path}.capacityReservation.count to {total}"
    if told.get("InstanceMatchCriteria") != "targeted":
        sentence = "it is open, so any instance of its type in the account may use it"
        yield (
            Status.WARN,
            sentence,
            f"aws ec2 modify-capacity-reservation --capacity-reservation-id {wanted.id} "
            "--instance-match-criteria targeted",
        )
    if told.get("EndDate") is not None:
        yield (
            Status.WARN,
            f"it ends {told['EndDate']:%Y-%m-%d %H:%M} UTC",
            ("remove its end date, or write a checkpoint before"),
        )
