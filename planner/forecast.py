"""A run's duration and cost: the time of a step, tokens, and failures."""

from dataclasses import dataclass, replace

from catalogue.units import HOURS_PER_DAY
from planner.reliability.checkpoints import Saving, effective_part
from planner.reliability.mttf import FailureCost, expected_failures, failure_cost, restarts_for
from planner.step import StepTime
from planner.throughput import TrainingBudget, training_budget

RESTART_SECONDS = 600.0
"""From a failure until training goes on: a node in place, pods started, the checkpoint read (assumed)."""

_MOST_FAILURES = 10_000


@dataclass(frozen=True, kw_only=True)
class GpuHour:
    """What an hour of a GPU costs in USD, and what that price is of."""

    usd: float
    basis: str


@dataclass(frozen=True, kw_only=True)
class Aim:
    """How many tokens to train on, and how many of them each step of the optimizer takes."""

    tokens: float
    tokens_per_step: int
    flops_per_token: float


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What to expect of a run. `tokens_per_s` is while it runs, `effective_part` the part of the time that it does.

    `measured` says that the rate is the site's own, not the planner's estimate, which then stands beside it in `step`.

    `step` is None where the layout does not fit the GPUs, `price` where an hour of a GPU has none, and `failure`, what
    one failure costs, where nothing is saved. The rest is None where the run does not say how many tokens it trains on:
    `budget` for training that nothing disturbs, `days` and `usd` with what failures take, `failures` to expect, and
    `restarts` that are enough in 95 of 100 such runs.
    """

    step: StepTime | None
    tokens_per_s: float
    effective_part: float | None
    measured: bool = False
    price: GpuHour | None = None
    failure: FailureCost | None = None
    budget: TrainingBudget | None = None
    days: float | None = None
    failures: float | None = None
    restarts: int | None = None
    usd: float | None = None


def forecast(
    step: StepTime | None,
    tokens_per_s: float,
    mttf_h: float,
    *,
    gpus: int,
    measured: bool = False,
    aim: Aim | None = None,
    saving: Saving | None = None,
    price: GpuHour | None = None,
) -> Forecast:
    """The forecast of a run on so many GPUs, at so many tokens per second of undisturbed training.

    Without checkpoints nothing is known of what failures take, and the days are those of undisturbed training.
    """
    part = effective_part(saving.within_s, saving.every_s, mttf_h, RESTART_SECONDS) if saving else None
    gpu_hour = price.usd if price else None
    found = Forecast(
        step=step,
        tokens_per_s=tokens_per_s,
        effective_part=part,
        measured=measured,
        price=price,
        failure=failure_cost(gpus, gpu_hour, every_s=saving.every_s, restart_s=RESTART_SECONDS) if saving else None,
    )
    if aim is None:
        return found
    hourly = gpu_hour * gpus if gpu_hour is not None else None
    budget = training_budget(aim.tokens, aim.flops_per_token, aim.tokens_per_step, tokens_per_s, hourly)
    return _to_the_end(replace(found, budget=budget), budget, part, mttf_h)


def _to_the_end(found: Forecast, budget: TrainingBudget, part: float | None, mttf_h: float) -> Forecast:
    """With what failures take; a run that never gets on has no end."""
    if part == 0:
        return found
    days = budget.days / (part or 1.0)
    hours = days * HOURS_PER_DAY
    failures = expected_failures(hours, mttf_h)
    return replace(
        found,
        days=days,
        failures=failures,
        restarts=restarts_for(hours, mttf_h) if failures <= _MOST_FAILURES else None,
        usd=budget.usd / (part or 1.0) if budget.usd is not None else None,
    )
