"""Capacity blocks that the stack names."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from doctor.account import AbsentError, Account
from doctor.case import Case
from doctor.results import Result, Status, judged
from planner.blocks import BlockPlan
from planner.pool_types import AwsPoolPlan

Wrong = tuple[Status, str, str]

_WAITING = {"scheduled", "pending", "assessing", "payment-pending", "delayed"}
_LAST_HOURS = timedelta(hours=24)


def capacity_blocks(case: Case, account: Account) -> Iterable[Result]:
    """Each block exists, is what its pool needs, and is neither over nor about to be."""
    for index, pool in enumerate(case.settings.pools):
        planned = case.plan.pools.get(pool.name)
        if planned is None or planned.block is None:
            continue
        block, path = planned.block, f"gpucluster:pools[{index}]"
        try:
            wanted = {"CapacityReservationIds": [block.reservation]}
            told = account.every("ec2", "DescribeCapacityReservations", "CapacityReservations", **wanted)[0]
        except AbsentError as absence:
            yield Result(
                check="capacity-block",
                status=Status.FAIL,
                subject=block.reservation,
                sentence=str(absence),
                remedy=f"take the id from aws ec2 describe-capacity-reservations --region {case.region}",
            )
            continue
        wrong = [*_mismatches(planned, block, told, path), *_moments(block, told, case.now, path)]
        fine = f"{told['TotalInstanceCount']} x {told['InstanceType']} in {told['AvailabilityZoneId']}, {_window(told)}"
        yield judged("capacity-block", block.reservation, fine, wrong)


def _mismatches(pool: AwsPoolPlan, block: BlockPlan, told: Mapping[str, Any], path: str) -> Iterable[Wrong]:
    if told.get("ReservationType", "default") != "capacity-block":
        remedy = "name a capacity block; node groups do not take other reservations"
        yield Status.FAIL, f"it is a reservation of type {told.get('ReservationType', 'default')}", remedy
    if told["InstanceType"] != pool.hardware:
        sentence = f"it holds {told['InstanceType']}, and pool {pool.name} is of {pool.hardware}"
        yield Status.FAIL, sentence, f"set {path}.instanceType to {told['InstanceType']}"
    if told["AvailabilityZoneId"] != block.zone_id:
        sentence = f"it lies in {told['AvailabilityZoneId']}, and the stack says {block.zone_id}"
        remedy = f"set {path}.reservation.zone and platform.gpuZone to {told['AvailabilityZoneId']}"
        yield Status.FAIL, sentence, remedy
    if told["TotalInstanceCount"] < pool.count:
        sentence = f"it has {told['TotalInstanceCount']} instances, and pool {pool.name} counts {pool.count}"
        yield Status.FAIL, sentence, f"set {path}.count to at most {told['TotalInstanceCount']}"


def _moments(block: BlockPlan, told: Mapping[str, Any], now: datetime, path: str) -> Iterable[Wrong]:
    """Its state and its days. Nodes are asked for by the stack's own days: outside of the block's they fail."""
    state, end = told["State"], told.get("EndDate")
    if state not in {"active", *_WAITING}:
        yield Status.FAIL, f"its state is {state}", "buy another block, and name it"
    elif state in _WAITING and state != "scheduled":
        yield Status.WARN, f"its state is {state}", "wait until AWS has processed it"
    for key, found, planned in (("start", told.get("StartDate"), block.times.start), ("end", end, block.times.end)):
        if found is not None and found.date() != planned.date():
            outside = found > planned if key == "start" else found < planned
            sentence = f"its {key} is {_moment(found)}, and the stack says {planned.date()}"
            status = Status.FAIL if outside else Status.WARN
            yield status, sentence, f'set {path}.reservation.{key} to "{found.date()}"'
    if state == "active" and end is not None and now + _LAST_HOURS > end:
        sentence = f"it ends {_moment(end)}, and its nodes are taken from {_moment(block.times.scaled_to_zero)} on"
        yield Status.WARN, sentence, "write the last checkpoint before, and extend the block or name the next one"


def _window(told: Mapping[str, Any]) -> str:
    start, end = told.get("StartDate"), told.get("EndDate")
    return f"{told['State']}, {_moment(start) if start else 'now'} to {_moment(end) if end else 'no end'}"


def _moment(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC"
