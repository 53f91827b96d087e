"""What ends a stack by itself, and puts its GPU pools to sleep: the numbers that it goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from planner.cost.lines import Prices
from planner.pool_types import AwsPoolPlan

if TYPE_CHECKING:
    from settings.model import AwsSettings


@dataclass(frozen=True, kw_only=True)
class OffHoursPlan:
    """GPU pools have nodes from `start` to `end` (HH:MM) of `days` (mon to sun) in `time_zone`, an IANA name."""

    time_zone: str
    days: tuple[str, ...]
    start: str
    end: str


@dataclass(frozen=True, kw_only=True)
class KeeperPlan:
    """When the stack ends, None where it does not; at `max_usd` if an hour of `hourly_usd` spends that before.

    `gpu_pools` are the nodes of each pool with GPUs, those left out that are paid for in advance: they end first and
    sleep in `off_hours`. `emails` are told `warn_hours` before the end.
    """

    ends: datetime | None
    max_usd: float | None
    hourly_usd: float
    warn_hours: float
    emails: tuple[str, ...]
    gpu_pools: Mapping[str, int]
    off_hours: OffHoursPlan | None


def plan_keeper(settings: AwsSettings, pools: Mapping[str, AwsPoolPlan], prices: Prices) -> KeeperPlan | None:
    """What the keeper does; None where the stack file has none."""
    keeper = settings.keeper
    if keeper is None:
        return None
    return KeeperPlan(
        ends=end_of(settings),
        max_usd=keeper.max_usd,
        hourly_usd=prices.hourly if prices.listed else prices.hourly_high,
        warn_hours=keeper.warn_hours,
        emails=keeper.emails,
        gpu_pools={name: pool.count for name, pool in pools.items() if pool.gpus and pool.block is None},
        off_hours=OffHoursPlan(**keeper.off_hours.model_dump()) if keeper.off_hours else None,
    )


def ends_by_itself(settings: AwsSettings) -> bool:
    """Whether the keeper removes the stack some day: at its end, or when its money is spent."""
    keeper = settings.keeper
    return keeper is not None and (keeper.max_usd is not None or end_of(settings) is not None)


def end_of(settings: AwsSettings) -> datetime | None:
    """The moment at which the stack ends: the keeper's, else midnight UTC after its last day; None where it stays."""
    if settings.keeper and settings.keeper.ends_at:
        return settings.keeper.ends_at
    last = settings.lifecycle.expiry
    return datetime.combine(last + timedelta(days=1), time(), UTC) if last else None
