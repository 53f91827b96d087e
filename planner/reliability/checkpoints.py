"""Intervals between checkpoints. Pauses and intervals in seconds, mean times to failure in hours.

A pause is what training stands still for; what is copied on in the background costs nothing here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

from catalogue.units import SECONDS_PER_HOUR

_FEW_PAUSES = 0.5


def young_seconds(pause_s: float, mttf_h: float) -> float:
    """Interval that loses least, for pauses that are short beside the MTTF: sqrt(2 x pause x MTTF) (Young 1974)."""
    return sqrt(2 * pause_s * mttf_h * SECONDS_PER_HOUR)


def daly_seconds(pause_s: float, mttf_h: float) -> float:
    """Young's interval with terms of higher order (Daly 2006); the MTTF itself where a pause takes half of it."""
    mttf_s = mttf_h * SECONDS_PER_HOUR
    if pause_s >= _FEW_PAUSES * mttf_s:
        return mttf_s
    ratio = pause_s / (2 * mttf_s)
    return young_seconds(pause_s, mttf_h) * (1 + sqrt(ratio) / 3 + ratio / 9) - pause_s


def overhead(pause_s: float, every_s: float, mttf_h: float) -> float:
    """Part of the time lost to checkpoints and to work done again: pause / interval + interval / (2 x MTTF)."""
    return pause_s / every_s + every_s / (2 * mttf_h * SECONDS_PER_HOUR)


def least_overhead(pause_s: float, mttf_h: float) -> float:
    """The overhead at Young's interval: sqrt(2 x pause / MTTF)."""
    return sqrt(2 * pause_s / (mttf_h * SECONDS_PER_HOUR))


def effective_part(pause_s: float, every_s: float, mttf_h: float, restart_s: float, queue_s: float = 0.0) -> float:
    """Effective training time ratio (ETTR), at least 0.

    1 - pause / (interval + pause) - (restart + queue + interval / 2) / MTTF: each failure costs the restart, the wait
    for nodes, and half an interval of work. Source: Kokolis et al. 2024, section 4.
    """
    lost = pause_s / (every_s + pause_s)
    failures = (restart_s + queue_s + every_s / 2) / (mttf_h * SECONDS_PER_HOUR)
    return max(0.0, 1 - lost - failures)


@dataclass(frozen=True, kw_only=True)
class Tier:
    """A place that checkpoints are written to: how long training stands for one, how long reading one back takes."""

    name: str
    pause_s: float
    restore_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class TierPlan:
    """Intervals of a tier, and the part of the time that is lost at Young's."""

    name: str
    young_s: float
    daly_s: float
    overhead: float
    effective_part: float


def plan_tiers(tiers: Iterable[Tier], mttf_h: float, restart_s: float = 0.0) -> tuple[TierPlan, ...]:
    """Each tier as if it were the only one. `restart_s` is what a restart takes beside reading the checkpoint."""
    return tuple(_tier(tier, mttf_h, restart_s) for tier in tiers)


def _tier(tier: Tier, mttf_h: float, restart_s: float) -> TierPlan:
    young_s = young_seconds(tier.pause_s, mttf_h)
    return TierPlan(
        name=tier.name,
        young_s=young_s,
        daly_s=daly_seconds(tier.pause_s, mttf_h),
        overhead=least_overhead(tier.pause_s, mttf_h),
        effective_part=effective_part(tier.pause_s, young_s, mttf_h, restart_s + tier.restore_s),
    )
