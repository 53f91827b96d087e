"""Intervals between checkpoints. Pauses and intervals in seconds, mean times to failure in hours.

A pause is what training stands still for; what is copied on in the background costs nothing here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from catalogue.units import SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from settings.checkpoints import Checkpoint

STOP_S = 30
"""For the ranks to end after their last save, as a pod's grace period has it."""

_FEW_PAUSES = 0.5


@dataclass(frozen=True, kw_only=True)
class Saving:
    """When a run saves, in seconds: every `every_s`, standing for `within_s` at most; `keep` saves are kept.

    With `local` each node saves its part to its own disks, and the shared file system has a save every
    `file_system_s`, until which it may take it; otherwise training waits for the file system. One that it is to have at
    once, since the run was told to stop, takes `copy_s` more at the rates of nodes and file system. The newest save
    goes on to the object store every `object_store_s`, None for never. `sidecar` says where a container beside the
    ranks finds saves of their framework to seal, None without one.
    """

    every_s: int
    within_s: float
    keep: int
    local: bool
    file_system_s: int
    object_store_s: int | None = None
    sidecar: Literal["local", "shared"] | None = None
    copy_s: float = 0.0

    @property
    def last_s(self) -> float:
        """From the signal until the last save lies where nodes that go do not take it along."""
        return self.within_s + self.copy_s


def saving(checkpoint: Checkpoint, framework: str) -> Saving:
    """The stack file's minutes and hours in seconds, one at least. Megatron keeps two sets of saves, one on local disks
    that it alone can read, and writes the other to the file system itself.
    """
    own_disks = checkpoint.local and framework not in ("megatron", "nemo")
    every_s, file_system_s = (
        max(1, round(minutes * SECONDS_PER_MINUTE))
        for minutes in (checkpoint.every_minutes, checkpoint.on_file_system_minutes)
    )
    hours = checkpoint.object_store_hours
    return Saving(
        every_s=every_s,
        within_s=checkpoint.within_seconds,
        keep=checkpoint.keep,
        local=checkpoint.local,
        file_system_s=file_system_s,
        object_store_s=hours and hours * SECONDS_PER_HOUR,
        sidecar=("local" if own_disks else "shared") if checkpoint.sidecar else None,
    )


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


def effective_part(pause_s: float, every_s: float, mttf_h: float, restart_s: float) -> float:
    """Effective training time ratio (ETTR), at least 0.

    1 - pause / (interval + pause) - (restart + interval / 2) / MTTF: each failure costs the restart, with the wait for
    nodes, and half an interval of work. Source: Kokolis et al. 2024, section 4.
    """
    lost = stood_part(pause_s, every_s)
    failures = (restart_s + every_s / 2) / (mttf_h * SECONDS_PER_HOUR)
    return max(0.0, 1 - lost - failures)


@dataclass(frozen=True, kw_only=True)
class Tier:
    """A place that checkpoints get to every `every_s`, and how long one takes: training stands for it if it `waits`.

    To a place that is not `direct` training never writes itself: a copier does. `stood_part` is the part of the time
    that training stands for saves to another place, from which they go on to this one.
    """

    name: str
    pause_s: float
    every_s: float
    waits: bool = True
    direct: bool = True
    stood_part: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Best:
    """The intervals that lose least where training stands for each save, and what is lost at Young's.

    `overhead` is the part of the time that checkpoints and repeated work take, `effective_part` the effective training
    time ratio.
    """

    young_s: float
    daly_s: float
    overhead: float
    effective_part: float


@dataclass(frozen=True, kw_only=True)
class TierPlan:
    """A place for checkpoints: how long one takes, and the effective training time ratio as the run is set.

    That is a save every `every_s`, for which training stands if it `waits`, and every failure sends it back to this
    place. `best` is what would lose least; None for a place that training does not write to itself.
    """

    name: str
    pause_s: float
    every_s: float
    waits: bool
    best: Best | None
    own_effective_part: float


def stood_part(pause_s: float, every_s: float) -> float:
    """Part of the time that a pause after every interval takes."""
    return pause_s / (every_s + pause_s)


def plan_tiers(tiers: Iterable[Tier], mttf_h: float, restart_s: float) -> tuple[TierPlan, ...]:
    """Each tier as if it were the only one, for a run that takes `restart_s` to go on."""
    return tuple(_tier(tier, mttf_h, restart_s) for tier in tiers)


def _best(pause_s: float, mttf_h: float, restart_s: float) -> Best:
    young_s = young_seconds(pause_s, mttf_h)
    return Best(
        young_s=young_s,
        daly_s=daly_seconds(pause_s, mttf_h),
        overhead=least_overhead(pause_s, mttf_h),
        effective_part=effective_part(pause_s, young_s, mttf_h, restart_s),
    )


def _tier(tier: Tier, mttf_h: float, restart_s: float) -> TierPlan:
    # A copy that nobody waits for is whole when it has been made: until then the one before is the newest.
    pause_s, lag_s = (tier.pause_s, 0.0) if tier.waits else (0.0, tier.pause_s)
    own = effective_part(pause_s, tier.every_s, mttf_h, restart_s + lag_s)
    return TierPlan(
        name=tier.name,
        pause_s=tier.pause_s,
        every_s=tier.every_s,
        waits=tier.waits,
        best=_best(tier.pause_s, mttf_h, restart_s) if tier.direct else None,
        own_effective_part=max(0.0, own - tier.stood_part),
    )
