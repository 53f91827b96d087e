"""The function that a schedule calls again and again: it looks, does what can be done now, and is called again.

Nothing is carried from one call to the next but a small record, so a call that was throttled, failed or killed in the
middle is made good by the next. Calls may overlap: each says the same of what it sees.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

from blocks import SIGNAL, Block, Change, Done, Group, Reserved, turn
from botocore.exceptions import ClientError
from decide import Phase, Record, Sizes, Task, end, moment, phase, pools_to_change
from groups import described, seen
from markets import Waits, move

from sweep.account import AwsAccount
from sweep.ends import written
from sweep.found import look
from sweep.remove import Sweep, take_turn
from sweep.things import Account, Owner

DESTROY = "PULUMI_K8S_DELETE_UNREACHABLE=true make undeploy STACK={} ARGS=--refresh"
"""The refresh takes what was in the cluster out of the state; pulumi-kubernetes deletes no release of a cluster that is
gone, whatever it is told (its issue 2675)."""


def handle(event: Mapping[str, Any], _: object = None) -> dict[str, object]:
    """What the schedule, or a notice of the budget, brings about. Returns what was done, for the log.

    Raises botocore's errors: the call has failed then, and the next one goes on.
    """
    told = keep(_account(os.environ["AWS_REGION"]), Task.parse(os.environ["KEEPER"]), *when(event))
    print(told)
    return told


@cache
def _account(region: str) -> AwsAccount:
    """Kept from call to call while the runtime is warm."""
    return AwsAccount(region)


def when(event: Mapping[str, Any]) -> tuple[datetime, str]:
    """The moment of the call by the caller's clock, and why the stack is to stop, empty where nobody says so.

    Source: Scheduler user guide, "Adding context attributes"; SNS developer guide, Lambda's event.
    """
    if "Records" in event:
        notice = event["Records"][0]["Sns"]
        return moment(notice["Timestamp"]), notice.get("Subject") or "AWS Budgets: the budget is spent"
    return moment(event["now"]), ""


def keep(account: Account, task: Task, now: datetime, stop: str = "") -> dict[str, object]:
    """One look at the stack."""
    before = Record.parse(_value(account, task.record_parameter))
    record = before.begun(now)
    if stop and not record.stopped:
        record = replace(record, stopped=stop)
    if record != before:
        _write(account, task, record)  # before anything is done: what was decided outlives a call that is killed
    before = record
    ends = end(task, _value(account, task.ends_parameter), record)
    now_is = phase(task, ends, record, now)
    if now_is is Phase.ENDS:
        # A call that comes again late, with a moment before the end, would say that it is still to come.
        record = replace(record, warned_of=written(ends)) if ends else record
        done, record = _end(account, task, record)
    else:
        if now_is is Phase.WARNS and ends:
            left = (ends - now).total_seconds() / 3600
            text = f"{task.stack} ends at {written(ends)}, in {left:.1f} hours: its nodes, disks and scratch go.\n"
            _tell(account, task, "ends soon", text + f"make extend STACK={task.stack} HOURS=2 gives it two hours more.")
            record = replace(record, warned_of=written(ends))
        done, record = _sleep(account, task, record, now)
        kept, record = _keep_blocks(account, task, record, now)
        done |= kept
        asked, record = _keep_spots(account, task, record, now)
        done |= asked
    if record != before:
        _write(account, task, record)
    return {"phase": str(now_is), "ends": written(ends) if ends else None, **done}


def _end(account: Account, task: Task, record: Record) -> tuple[dict[str, object], Record]:
    """One round of the removal. It goes on being looked at after it was empty: an `up` that ran may add to it."""
    owner = Owner(project=task.project, stack=task.stack, expiry=None, protected=False)
    things = look(account, {task.cluster: owner})
    mine = [each for each in things if (each.owner.project, each.owner.stack) == (task.project, task.stack)]
    first = [each for each in mine if each.kind == "node group" and each.id in task.gpu_pools]
    sweep = Sweep()
    take_turn(account, [*first, *(each for each in mine if each not in first)], sweep)
    empty = not sweep.costs
    if empty and not record.emptied:
        kept = [f"{each.kind} {each.id} stays: {each.stays or 'it is protected'}" for each in mine]
        why = record.stopped or "its time was over"
        text = f"{task.stack} has ended ({why}): nothing is left of it that costs by the hour and may go.\n"
        rest = f"{DESTROY.format(task.stack)} takes along what costs nothing, and what stands in its state."
        _tell(account, task, "has ended", "\n".join([text, *kept, rest]))
    done: dict[str, object] = {
        "asked": sweep.asked,
        "left": [f"{each.kind} {each.id} {each.state}" for each in sweep.left],
        "refused": sweep.refused,
    }
    return done, replace(record, emptied=empty)


def _sleep(account: Account, task: Task, record: Record, now: datetime) -> tuple[dict[str, object], Record]:
    if task.off_hours is None:
        return {}, record
    changes, after = pools_to_change(task, _sizes(account, task), record, now)
    if after.asleep and after != record:
        _write(account, task, after)  # before they sleep: who does not remember them would never wake them
    for name, sizes in changes.items():
        _scale(account, task, name, sizes)
    return {"pools": {name: sizes.wanted for name, sizes in changes.items()}}, after


def _keep_blocks(account: Account, task: Task, record: Record, now: datetime) -> tuple[dict[str, object], Record]:
    """One look at the capacity blocks. What was done is remembered when it was done: a call that fails comes again."""
    stages: dict[str, str] = {}
    for block in task.blocks:
        known = record.blocks.get(block.key, Done())
        taken = turn(block, _reserved(account, block), _group(account, task, block), known, now)
        if taken.change:
            _change(account, task, block, taken.change)
        if taken.news:
            _tell(account, task, f"capacity block: {taken.stage}", taken.news)
        if taken.done != known:
            record = replace(record, blocks={**record.blocks, block.key: taken.done})
            _write(account, task, record)
        stages[block.key] = str(taken.stage)
    return ({"blocks": stages} if stages else {}), record


def _keep_spots(account: Account, task: Task, record: Record, now: datetime) -> tuple[dict[str, object], Record]:
    """One look at the pools on spot, by day only: who waited in the evening waits anew in the morning. Of two groups
    the one that asks for less is told first, so that there are never more nodes than the pool has.
    """
    if task.off_hours and task.off_hours.asleep(now):
        return {}, replace(record, spots={})
    sizes: dict[str, list[int]] = {}
    for pool in task.spots:
        groups = seen(account, task, pool)
        if groups is None:
            continue
        known = record.spots.get(pool.spot, Waits())
        made = move(pool, *groups, known, now)
        asked = made.sizes or tuple(each.wanted for each in groups)
        told = zip((pool.spot, pool.on_demand), groups, asked, strict=True)
        for name, before, wanted in sorted(told, key=lambda each: each[2] - each[1].wanted):
            if (before.wanted, before.most) != (wanted, pool.nodes):
                _scale(account, task, name, Sizes(0, wanted))
        if made.news:
            _tell(account, task, "spot capacity", made.news)
        if made.waits != known:
            record = replace(record, spots={**record.spots, pool.spot: made.waits})
            _write(account, task, record)
        sizes[pool.spot] = list(asked)
    return ({"spots": sizes} if task.spots else {}), record


def _reserved(account: Account, block: Block) -> Reserved | None:
    """What AWS says of the block; None where it knows none of this id."""
    try:
        told = account.call("ec2", "describe_capacity_reservations", CapacityReservationIds=[block.reservation])
    except ClientError as error:
        if error.response["Error"]["Code"] != "InvalidCapacityReservationId.NotFound":
            raise
        return None
    found = told["CapacityReservations"][0]
    return Reserved(state=found["State"], end=found.get("EndDate"))


def _group(account: Account, task: Task, block: Block) -> Group | None:
    """The block's node group, None while it cannot be changed."""
    group = described(account, task, block.group)
    if group is None:
        return None
    signalled = any(each["key"] == SIGNAL["key"] for each in group.get("taints") or ())
    sizes = group["scalingConfig"]
    return Group(sizes["minSize"], sizes["desiredSize"], sizes["maxSize"], signalled)


def _change(account: Account, task: Task, block: Block, change: Change) -> None:
    asked: dict[str, object] = {}
    if change.wanted is not None:
        asked["scalingConfig"] = {"minSize": 0, "desiredSize": change.wanted, "maxSize": block.nodes}
    if change.signal is not None:
        asked["taints"] = {"addOrUpdateTaints" if change.signal else "removeTaints": [SIGNAL]}
    account.call("eks", "update_nodegroup_config", clusterName=task.cluster, nodegroupName=block.group, **asked)


def _sizes(account: Account, task: Task) -> dict[str, Sizes]:
    """What the GPU pools ask for, those left out that cannot be changed now."""
    groups = {name: described(account, task, name) for name in task.gpu_pools}
    scaling = {name: group["scalingConfig"] for name, group in groups.items() if group}
    return {name: Sizes(sizes["minSize"], sizes["desiredSize"]) for name, sizes in scaling.items()}


def _scale(account: Account, task: Task, name: str, sizes: Sizes) -> None:
    """Groups of a pool that may fall back get its number as their most, too: EKS refuses to ask for more than that,
    and an `up` leaves it alone.
    """
    most = {group: pool.nodes for pool in task.spots for group in (pool.spot, pool.on_demand)}
    scaling = {"minSize": sizes.least, "desiredSize": sizes.wanted}
    if name in most:
        scaling["maxSize"] = most[name]
    account.call("eks", "update_nodegroup_config", clusterName=task.cluster, nodegroupName=name, scalingConfig=scaling)


def _value(account: Account, name: str) -> str:
    answer: str = account.call("ssm", "get_parameter", Name=name)["Parameter"]["Value"]
    return answer


def _write(account: Account, task: Task, record: Record) -> None:
    account.call("ssm", "put_parameter", Name=task.record_parameter, Value=record.text(), Overwrite=True)


def _tell(account: Account, task: Task, subject: str, text: str) -> None:
    account.call("sns", "publish", TopicArn=task.topic, Subject=f"{task.stack[:60]} {subject}", Message=text)
