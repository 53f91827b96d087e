"""The keeper's numbers: when a stack ends, and when its GPU pools are scaled to zero."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from planner.blocks import BlockShare
from planner.cost.amounts import Prices
from planner.pool_types import AwsPoolPlan
from settings.keeper import OffHours
from settings.model import AwsSettings


@dataclass(frozen=True, kw_only=True)
class KeptBlock:
    """A block's node group: `nodes` from its start on; its pods save `save_minutes` before the end, and it is emptied
    `empty_minutes` before. Start and end are what the stack file says; where AWS says otherwise, that counts.
    """

    group: str
    reservation: str
    start: datetime
    end: datetime
    nodes: int
    save_minutes: float
    empty_minutes: float


@dataclass(frozen=True, kw_only=True)
class KeptSpot:
    """A pool of `nodes` nodes in two node groups: `spot` is asked first, `on_demand` for what is missing after
    `wait_minutes`, and `spot` again after `again_hours`, None = never.
    """

    spot: str
    on_demand: str
    nodes: int
    wait_minutes: int
    again_hours: int | None


@dataclass(frozen=True, kw_only=True)
class KeeperPlan:
    """When the stack ends, None where it does not; at `max_usd` if an hour of `hourly_usd` spends that before.

    `gpu_pools` are the nodes of each pool with GPUs, those left out that are paid for in advance: they end first and
    sleep in `off_hours`. `emails` are told `warn_hours` before the end. `blocks` are filled and emptied, and `spots`
    get their nodes in one market or the other.
    """

    ends: datetime | None
    max_usd: float | None
    hourly_usd: float
    warn_hours: float
    emails: tuple[str, ...]
    gpu_pools: Mapping[str, int]
    off_hours: OffHours | None
    blocks: tuple[KeptBlock, ...] = ()
    spots: tuple[KeptSpot, ...] = ()


def plan_keeper(settings: AwsSettings, pools: Mapping[str, AwsPoolPlan], prices: Prices) -> KeeperPlan | None:
    """What the keeper does; None where the stack file has none."""
    keeper = settings.keeper
    if keeper is None:
        return None
    return KeeperPlan(
        ends=end_of(settings),
        **keeper.model_dump(include={"max_usd", "warn_hours", "emails"}),
        hourly_usd=prices.hourly if prices.listed else prices.hourly_high,
        gpu_pools=dict(_sleepers(pools.values())),
        off_hours=keeper.off_hours,
        blocks=tuple(kept_block(share) for pool in pools.values() for share in pool.shares) if keeper.blocks else (),
        spots=tuple(_kept_spots(pools.values())),
    )


def _sleepers(pools: Iterable[AwsPoolPlan]) -> Iterator[tuple[str, int]]:
    """Node groups with GPUs, and the nodes that each has by day. One that is a fallback has none of its own."""
    for pool in pools:
        if pool.gpus and not (pool.block or pool.scaled):
            yield pool.name, pool.count
            if pool.spot and pool.spot.falls_back:
                yield pool.spot.group, 0


def _kept_spots(pools: Iterable[AwsPoolPlan]) -> Iterator[KeptSpot]:
    for pool in pools:
        if pool.spot and pool.spot.wait_minutes is not None:
            yield KeptSpot(
                spot=pool.name,
                on_demand=pool.spot.group,
                nodes=pool.count,
                wait_minutes=pool.spot.wait_minutes,
                again_hours=pool.spot.again_hours,
            )


def kept_block(share: BlockShare) -> KeptBlock:
    """A block as the keeper knows it. It is emptied when EKS would do it, or before, where EC2 is earlier."""
    times = share.times
    minute = timedelta(minutes=1)
    return KeptBlock(
        group=share.group,
        reservation=share.reservation,
        start=times.start,
        end=times.end,
        nodes=share.count,
        save_minutes=(times.end - times.checkpoint_by) / minute,
        empty_minutes=(times.end - min(times.scaled_to_zero, times.taken)) / minute,
    )


def ends_by_itself(settings: AwsSettings) -> bool:
    """Whether the keeper removes the stack some day: at its end, or when its money is spent."""
    keeper = settings.keeper
    return keeper is not None and (keeper.max_usd is not None or end_of(settings) is not None)


def is_lab(settings: AwsSettings) -> bool:
    """Whether the stack builds on a preset of the labs, which are paid for by the hour and end by themselves."""
    return (settings.preset or "").startswith("lab-")


def end_of(settings: AwsSettings) -> datetime | None:
    """The moment at which the stack ends: the keeper's, else midnight UTC after its last day; None where it stays."""
    if settings.keeper and settings.keeper.ends_at:
        return settings.keeper.ends_at
    last = settings.lifecycle.expiry
    return datetime.combine(last + timedelta(days=1), time(), UTC) if last else None
