"""What a run comes to: the time of a step, and what its tokens and its failures make of it."""

from dataclasses import dataclass

from catalogue.units import HOURS_PER_DAY, SECONDS_PER_DAY
from planner.reliability.checkpoints import effective_part
from planner.reliability.losses import expected_failures, restarts_for
from planner.step import StepTime

RESTART_SECONDS = 600.0
"""From a failure until training goes on: a node in place, pods started, the checkpoint read (assumed)."""

_MOST_FAILURES = 10_000


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What to expect of a run. `tokens_per_s` is while it runs, `effective_part` the part of the time that it does.

    `step` is None where the layout does not fit the GPUs. The rest is None where the run does not say how many tokens
    it trains on: `days` with what failures take, `failures` to expect, `restarts` that are enough in 95 of 100 such
    runs, and `usd` for its nodes where they have a price by the hour.
    """

    step: StepTime | None
    tokens_per_s: float
    effective_part: float | None
    days: float | None = None
    failures: float | None = None
    restarts: int | None = None
    usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class Saving:
    """A run's checkpoints: training stands `pause_s` for each, `every_s`."""

    pause_s: float
    every_s: float


def forecast(
    step: StepTime | None,
    tokens_per_s: float,
    mttf_h: float,
    *,
    tokens: float | None = None,
    saving: Saving | None = None,
    usd_per_hour: float | None = None,
) -> Forecast:
    """The forecast of a run at so many tokens per second of undisturbed training.

    Without checkpoints nothing is known of what failures take, and the days are those of undisturbed training.
    """
    part = effective_part(saving.pause_s, saving.every_s, mttf_h, RESTART_SECONDS) if saving else None
    if tokens is None or part == 0:
        return Forecast(step=step, tokens_per_s=tokens_per_s, effective_part=part)
    days = tokens / (tokens_per_s * (part or 1.0)) / SECONDS_PER_DAY
    hours = days * HOURS_PER_DAY
    failures = expected_failures(hours, mttf_h)
    return Forecast(
        step=step,
        tokens_per_s=tokens_per_s,
        effective_part=part,
        days=days,
        failures=failures,
        restarts=restarts_for(hours, mttf_h) if failures <= _MOST_FAILURES else None,
        usd=usd_per_hour * hours if usd_per_hour is not None else None,
    )
