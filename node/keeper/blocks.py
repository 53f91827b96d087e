"""Capacity blocks over time: when a node group is filled, told to save, emptied and cleaned. Decisions only, no calls.

The calendar says what a block was bought for, AWS says what became of it: an extension moves its end, a delayed start
its state, without anybody changing the stack.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sweep.ends import written

SIGNAL = {"key": "gpucluster/block-ends", "value": "now", "effect": "NO_EXECUTE"}
"""The taint that ends pods, each with its own grace period: SIGTERM is what every run saves at. New ones stay away.

EKS brings a node group's taints to nodes that run already. Source: EKS user guide, "Node taints on managed node
groups" (UpdateNodegroupConfig); Kubernetes documentation, "Taints and Tolerations" (NoExecute).
"""
GONE = frozenset({"expired", "cancelled", "failed", "payment-failed", "unavailable", "unsupported"})
"""States of a reservation that will not have instances again (EC2 API reference, CapacityReservation)."""
LATE = timedelta(minutes=30)


class Stage(StrEnum):
    """Where a block is in its life."""

    WAITS = "waits"
    RUNS = "runs"
    SAVES = "saves"
    EMPTIES = "empties"
    OVER = "over"


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block and its node group, as the stack file has it."""

    group: str
    reservation: str
    start: datetime
    end: datetime
    nodes: int
    save_minutes: float
    empty_minutes: float

    @property
    def key(self) -> str:
        """Two pools may be in one block."""
        return f"{self.reservation} {self.group}"

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Block":
        """From the function's task. Raises TypeError and ValueError for what is not one."""
        moments = {key: datetime.fromisoformat(given[key]).astimezone(UTC) for key in ("start", "end")}
        return cls(**{**given, **moments})


@dataclass(frozen=True)
class Reserved:
    """What AWS says of a reservation: its state, and its end where it has one."""

    state: str
    end: datetime | None = None


@dataclass(frozen=True)
class Group:
    """What a block's node group asks for, the most that it may, and whether it carries the signal."""

    least: int
    wanted: int
    most: int
    signalled: bool


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a node group is to be told; None leaves it as it is."""

    wanted: int | None = None
    signal: bool | None = None

    def __bool__(self) -> bool:
        return self.wanted is not None or self.signal is not None


@dataclass(frozen=True, kw_only=True)
class Done:
    """What was done of a block, kept from one look to the next: until when it was filled, empty where it was not, and
    of what people were told.
    """

    filled: str = ""
    told: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Done":
        return cls(filled=str(given.get("filled") or ""), told=tuple(str(each) for each in given.get("told", ())))

    def written(self) -> dict[str, Any]:
        return {"filled": self.filled, "told": list(self.told)}


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What one look brings about: a change of the group, what is remembered, and what people are told."""

    stage: Stage
    change: Change = field(default_factory=Change)
    done: Done
    news: str = ""


def stage(block: Block, reserved: Reserved | None, now: datetime) -> Stage:
    """Where the block is now. `reserved` None is a reservation that AWS does not know any more."""
    end = ending(block, reserved)
    if reserved is None:
        return Stage.OVER if now >= end else Stage.WAITS
    if now >= end or reserved.state in GONE:
        return Stage.OVER
    if reserved.state != "active":
        return Stage.WAITS
    if now >= end - timedelta(minutes=block.empty_minutes):
        return Stage.EMPTIES
    if now >= end - timedelta(minutes=block.save_minutes):
        return Stage.SAVES
    return Stage.RUNS


def ending(block: Block, reserved: Reserved | None) -> datetime:
    """The block's end: AWS' own, which an extension moves, or the one it was bought with."""
    return reserved.end if reserved and reserved.end else block.end


def turn(block: Block, reserved: Reserved | None, group: Group | None, done: Done, now: datetime) -> Turn:
    """What to do about a block now. `group` None is being made or changed: its turn comes with a later look.

    A group is filled once for each end of its block: nodes that somebody took away stay away, until the stack file has
    another number of them.
    """
    at, until = stage(block, reserved, now), ending(block, reserved)
    name, when = f"block {block.reservation} ({block.group})", f"{until:%Y-%m-%d %H:%M} UTC"
    if at is Stage.WAITS:
        late = now >= block.start + LATE
        state = reserved.state if reserved else "unknown to AWS"
        told = f"{name} was to start at {block.start:%Y-%m-%d %H:%M} UTC and is {state}: its pool has no nodes"
        return _telling(Turn(stage=at, done=done), "late", told if late else "")
    if group is None:
        return Turn(stage=at, done=done)
    if at is Stage.RUNS:
        return _running(block, group, done, until, now)
    if at is Stage.SAVES:
        signalled = Turn(stage=at, change=Change(signal=None if group.signalled else True), done=done)
        return _telling(signalled, "saves", f"{name} ends at {when}: its pods are told to save and end")
    empty = 0 if (group.least, group.wanted) != (0, 0) else None
    if at is Stage.EMPTIES:
        return Turn(stage=at, change=Change(wanted=empty), done=Done(told=done.told))
    over = Turn(stage=at, change=Change(wanted=empty, signal=False if group.signalled else None), done=done)
    told = f"{name} is over: name the next block in the stack file, or remove its pool"
    return _telling(over, "over", told)


def _running(block: Block, group: Group, done: Done, until: datetime, now: datetime) -> Turn:
    """A block that runs. What was filled for an end that an extension has moved is looked at again when that end is
    near: EKS has scheduled its own emptying for it, and no documentation says that an extension moves that.
    """
    wanted, first = written(until), not done.filled
    before = datetime.fromisoformat(done.filled) if done.filled else until
    moved = before < until and now >= before
    due = first or (before < until and _emptied(block, group, before, now))
    fill = (due and group.wanted != block.nodes) or group.most != block.nodes
    news = f"block {block.reservation} ({block.group}) has begun: {block.nodes} nodes are asked for, until {wanted}"
    return Turn(
        stage=Stage.RUNS,
        change=Change(wanted=block.nodes if fill else None, signal=False if group.signalled else None),
        done=Done(filled=wanted if first or moved else done.filled),
        news=news if first else "",
    )


def _emptied(block: Block, group: Group, before: datetime, now: datetime) -> bool:
    """Whether EKS has emptied the group for the end that the block once had."""
    return group.wanted == 0 and now >= before - timedelta(minutes=block.empty_minutes)


def _telling(what: Turn, subject: str, news: str) -> Turn:
    """With news that people have not been told of this block."""
    if not news or subject in what.done.told:
        return what
    done = Done(filled=what.done.filled, told=(*what.done.told, subject))
    return Turn(stage=what.stage, change=what.change, done=done, news=news)
