"""Capacity blocks: how they are sold, when their nodes come and go, what one costs.

Source: EC2 user guide, "Capacity Blocks for ML", and EKS user guide, "Create a managed node group with Capacity Blocks
for ML".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from catalogue.types import Price
from catalogue.units import HOURS_PER_DAY
from planner.cost.amounts import Amount

MAX_INSTANCES = 64
MAX_INSTANCES_TOGETHER = 256
"""Of all blocks of an organization on one day; EC2 does not raise either limit."""

MAX_WEEKS_AHEAD = 8
MAX_DAYS_BY_DAY = 14
MAX_DAYS = 182
_TURNOVER = time(11, 30, tzinfo=UTC)
_TERMINATION = timedelta(minutes=30)
_SCALE_DOWN = timedelta(minutes=40)
_ULTRASERVER_MARGIN = timedelta(minutes=60)
_LAST_CHECKPOINT = timedelta(minutes=5)


@dataclass(frozen=True, kw_only=True)
class BlockTimes:
    """Moments of a block, in UTC.

    A node group that asks for nodes before `start` fails. EKS sets it to zero at `scaled_to_zero`; at `taken` EC2
    begins to end instances, and those of an UltraServer must be gone. `checkpoint_by` leaves five minutes to the
    earlier of both, to write the last checkpoint in.
    """

    start: datetime
    checkpoint_by: datetime
    scaled_to_zero: datetime
    taken: datetime
    end: datetime


@dataclass(frozen=True, kw_only=True)
class BlockShare:
    """A block of a pool, and the node group that starts in it: `count` nodes, `nodes` to ask for on the plan's day.

    EKS counts the sick by the node group: none is repaired while more than `max_unhealthy` of these are.
    """

    group: str
    reservation: str
    times: BlockTimes
    count: int
    nodes: int
    max_unhealthy: int


@dataclass(frozen=True, kw_only=True)
class BlockPlan:
    """A pool's capacity: its blocks, their zone, and the nodes to ask for on the plan's day.

    `times` are those of the hours in which all blocks run, which is when the pool is whole.
    """

    shares: tuple[BlockShare, ...]
    zone_id: str
    times: BlockTimes

    @property
    def reservation(self) -> str:
        """The blocks by their ids, as a person reads them."""
        return ", ".join(share.reservation for share in self.shares)

    @property
    def nodes(self) -> int:
        """Nodes to ask for on the plan's day."""
        return sum(share.nodes for share in self.shares)


def block_times(start: date, end: date, *, ultraserver: bool = False) -> BlockTimes:
    """Moments of the block between two days; blocks end, and with them the next ones start, at 11:30 UTC."""
    over = datetime.combine(end, _TURNOVER)
    scaled_to_zero = over - _SCALE_DOWN
    taken = over - (_ULTRASERVER_MARGIN if ultraserver else _TERMINATION)
    return BlockTimes(
        start=datetime.combine(start, _TURNOVER),
        checkpoint_by=min(scaled_to_zero, taken) - _LAST_CHECKPOINT,
        scaled_to_zero=scaled_to_zero,
        taken=taken,
        end=over,
    )


def together(blocks: Sequence[BlockTimes]) -> BlockTimes:
    """The moments of several blocks under one gang: from the last start on, until the first has to be left."""
    return BlockTimes(
        start=max(each.start for each in blocks),
        checkpoint_by=min(each.checkpoint_by for each in blocks),
        scaled_to_zero=min(each.scaled_to_zero for each in blocks),
        taken=min(each.taken for each in blocks),
        end=min(each.end for each in blocks),
    )


def days(start: date, end: date) -> int:
    """Days of a block."""
    return (end - start).days


def hours(start: date, end: date) -> int:
    """Hours of a block, each of which is paid."""
    return days(start, end) * HOURS_PER_DAY


def is_sold(days_: int) -> bool:
    """Whether blocks of so many days exist: 1 to 14, then whole weeks up to 182."""
    by_day = 1 <= days_ <= MAX_DAYS_BY_DAY
    return by_day or (days_ % 7 == 0 and MAX_DAYS_BY_DAY < days_ <= MAX_DAYS)


def nodes_on(count: int, start: date, end: date, today: date) -> int:
    """Nodes to ask for on a day: none before the block's first day, and none from its last on, which ends at 11:30."""
    return count if start <= today < end else 0


def whole_price(price: Price, count: int, start: date, end: date) -> Amount:
    """What the block costs as a whole; it is paid in advance, used or not."""
    return Amount(usd=price.usd_per_hour, low=price.low, high=price.high).times(count * hours(start, end))
