"""When a stack is warned of its end, ended, put to sleep and woken: decisions only, no calls."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from blocks import Block, Done
from markets import Spot, Waits

from sweep.ends import NEVER, written

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Phase(StrEnum):
    """Where a stack is in its life."""

    RUNS = "runs"
    WARNS = "warns"
    ENDS = "ends"


@dataclass(frozen=True, kw_only=True)
class OffHours:
    """GPU pools have nodes from `start` to `end` (HH:MM) of `days` in `time_zone`, and none at other times."""

    time_zone: str
    days: tuple[str, ...]
    start: str
    end: str

    def asleep(self, now: datetime) -> bool:
        """Whether it is a time without nodes."""
        here = now.astimezone(ZoneInfo(self.time_zone))
        return WEEKDAYS[here.weekday()] not in self.days or not self.start <= here.strftime("%H:%M") < self.end


@dataclass(frozen=True, kw_only=True)
class Task:
    """What this keeper is there for. `gpu_pools` are node groups with the nodes that the stack file asks for.

    Money is the second bound of a life: `max_usd` at `hourly_usd` an hour since the keeper's first look.
    """

    project: str
    stack: str
    cluster: str
    ends_parameter: str
    record_parameter: str
    topic: str
    warn_hours: float
    hourly_usd: float
    max_usd: float | None = None
    gpu_pools: Mapping[str, int] = field(default_factory=dict)
    off_hours: OffHours | None = None
    blocks: tuple[Block, ...] = ()
    spots: tuple[Spot, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Task":
        """From the function's environment. Raises TypeError and ValueError for what is not one."""
        given: dict[str, Any] = json.loads(text)
        hours = given.pop("off_hours", None)
        sleeps = OffHours(**{**hours, "days": tuple(hours["days"])}) if hours else None
        blocks = tuple(Block.of(each) for each in given.pop("blocks", ()))
        spots = tuple(Spot.of(each) for each in given.pop("spots", ()))
        return cls(**given, off_hours=sleeps, blocks=blocks, spots=spots)


@dataclass(frozen=True, kw_only=True)
class Record:
    """What the keeper remembers from one look to the next: its first look, the end that people were told of, why the
    stack ended before its time, that it was told to be empty, the pools that it has put to sleep, what it did of
    each capacity block, by its key, and how long each pool on spot waits for nodes, by its name.
    """

    started: datetime | None = None
    warned_of: str = ""
    stopped: str = ""
    emptied: bool = False
    asleep: tuple[str, ...] = ()
    blocks: Mapping[str, Done] = field(default_factory=dict)
    spots: Mapping[str, Waits] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "Record":
        """From the parameter's value; a record that nobody can read is begun anew, which repeats a warning at worst."""
        try:
            given = json.loads(text)
            started = given.get("started")
            return cls(
                started=moment(started) if started else None,
                warned_of=str(given.get("warnedOf", "")),
                stopped=str(given.get("stopped", "")),
                emptied=bool(given.get("emptied", False)),
                asleep=tuple(str(each) for each in given.get("asleep", ())),
                blocks={str(name): Done.of(done) for name, done in given.get("blocks", {}).items()},
                spots={str(name): Waits.of(waits) for name, waits in given.get("spots", {}).items()},
            )
        except (ValueError, TypeError, AttributeError):
            return cls()

    def text(self) -> str:
        """As it is kept."""
        told = {"warnedOf": self.warned_of, "stopped": self.stopped, "emptied": self.emptied, "asleep": self.asleep}
        blocks = {"blocks": {name: done.written() for name, done in self.blocks.items()}} if self.blocks else {}
        spots = {"spots": {name: waits.written() for name, waits in self.spots.items()}} if self.spots else {}
        started = written(self.started) if self.started else None
        return json.dumps({"started": started, **told, **blocks, **spots})

    def begun(self, now: datetime) -> "Record":
        """With the moment of the first look."""
        return self if self.started else replace(self, started=now)


def moment(text: str) -> datetime:
    """A moment as AWS and people write it, with its zone. Raises ValueError for anything else."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; end it with Z")
    return found.astimezone(UTC)


def latest(task: Task, started: datetime) -> datetime | None:
    """When the money is spent, at list prices; None where nobody has bounded it."""
    if task.max_usd is None or task.hourly_usd <= 0:
        return None
    return started + timedelta(hours=task.max_usd / task.hourly_usd)


def end(task: Task, ends: str, record: Record) -> datetime | None:
    """When the stack ends: at the moment that was set, or when its money is spent; None where it does not.

    Raises ValueError where the parameter holds no moment: a typing error neither ends a stack nor lets it live on
    unseen, as the function then fails.
    """
    bounds = [] if ends == NEVER else [moment(ends)]
    if record.started and (spent := latest(task, record.started)):
        bounds.append(spent)
    return min(bounds, default=None)


def phase(task: Task, ends: datetime | None, record: Record, now: datetime) -> Phase:
    """What to do now. A stack that was stopped stays so, whatever its parameter says."""
    if record.stopped or (ends is not None and now >= ends):
        return Phase.ENDS
    if ends is not None and now >= ends - timedelta(hours=task.warn_hours) and record.warned_of != written(ends):
        return Phase.WARNS
    return Phase.RUNS


@dataclass(frozen=True)
class Sizes:
    """What a node group asks for."""

    least: int
    wanted: int


def pools_to_change(
    task: Task, sizes: Mapping[str, Sizes], record: Record, now: datetime
) -> tuple[dict[str, Sizes], Record]:
    """What GPU pools are to ask for now, and which of them sleep.

    Only what the keeper put to sleep is woken: a pool that somebody has emptied stays empty. Pools that `sizes` leaves
    out are being made or changed, and their turn comes with a later look.
    """
    if task.off_hours is None:
        return {}, record
    if task.off_hours.asleep(now):
        awake = {name for name in task.gpu_pools if name in sizes and sizes[name] != Sizes(0, 0)}
        slept = tuple(sorted({*record.asleep, *awake}))
        return dict.fromkeys(sorted(awake), Sizes(0, 0)), replace(record, asleep=slept)
    woken = {name: Sizes(task.gpu_pools[name], task.gpu_pools[name]) for name in record.asleep if name in sizes}
    changes = {name: wanted for name, wanted in woken.items() if sizes[name] == Sizes(0, 0) != wanted}
    unseen = tuple(name for name in record.asleep if name in task.gpu_pools and name not in sizes)
    return changes, replace(record, asleep=unseen)
