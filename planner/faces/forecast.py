"""What a run comes to, as text: a step by its phases, tokens, days, money, failures, checkpoints; and experiments."""

from collections.abc import Iterable, Iterator
from math import ceil

from rich.console import RenderableType

from catalogue.units import BYTES_PER_GB, HOURS_PER_DAY
from planner.experiments import ExperimentPlan, ParameterPlan
from planner.faces.layout import facts, quantity, section
from planner.forecast import Forecast
from planner.reliability.checkpoints import TierPlan
from planner.step import FORMULAS, ExchangeTime, StepTime
from planner.types import Plan
from planner.wording import about, counted, usd

BUBBLE = "bubble"
BUBBLE_FORMULA = "(forward + backward) x (pipeline stages - 1) / (micro-batches x virtual stages)"
_MINUTE = 60
_BYTES_PER_MB = 10**6
_DIGITS = 99.95


def forecast_facts(forecast: Forecast) -> Iterator[tuple[str, str | None]]:
    """The forecast in sentences; what the run does not say is left out."""
    if forecast.measured:
        yield "measured", f"{about(forecast.tokens_per_s)} tokens/s, from the stack file; duration and cost follow it"
    if forecast.step:
        yield "step time", _step(forecast.step)
        yield "based on", forecast.step.basis
        yield "a GPU sends", ", ".join(map(_sent, forecast.step.traffic)) or None
    if forecast.budget:
        budget = forecast.budget
        yield "to train", f"{_large(budget.tokens)} tokens: {budget.steps:,.0f} steps, {budget.flops:.2g} FLOP"
    if forecast.days is not None:
        yield "takes", _days(forecast, forecast.days)
    elif forecast.budget:
        yield "takes", "never ends: failures take all of the time"
    if forecast.price:
        whole = f"{about(forecast.usd)} USD at " if forecast.usd is not None else ""
        yield "costs", f"{whole}{forecast.price.usd:.2f} USD a GPU hour ({forecast.price.basis})"
    if forecast.failure:
        lost = forecast.failure
        money = f", {about(lost.usd)} USD" if lost.usd is not None else ""
        gpu_hours = f"{lost.gpu_hours:,.0f}" if lost.gpu_hours >= 10 else quantity(round(lost.gpu_hours, 1))
        yield "a failure", f"takes {lost.hours * _MINUTE:.0f} min, {gpu_hours} GPU hours{money}"


def tier_facts(tiers: Iterable[TierPlan]) -> Iterator[tuple[str, str | None]]:
    """Each place for checkpoints with its best interval, and the time that is left for training."""
    for tier in tiers:
        own, often = f"{tier.own_effective_part:.1%}", as_set(tier)
        if tier.best is None:
            yield f"to {tier.name}", f"a copy takes {interval(tier.pause_s)}, {often}: {own} effective from there"
            continue
        best = f"best every {interval(tier.best.young_s)}: {tier.best.effective_part:.1%} effective"
        yield f"to {tier.name}", f"pause {seconds(tier.pause_s)}, {best}, {own} as set ({often})"


def as_set(tier: TierPlan) -> str:
    """How often the place gets a save, and whether training goes on meanwhile."""
    return f"every {interval(tier.every_s)}{'' if tier.waits else ', in the background'}"


def interval(seconds_: float) -> str:
    """A time between checkpoints, in minutes from ten minutes on."""
    return f"{seconds_ / _MINUTE:,.0f} min" if seconds_ >= 10 * _MINUTE else seconds(seconds_)


def phases(step: StepTime) -> list[tuple[str, float, float, float, float, str]]:
    """The step's parts: name, seconds, those of computing, of exchanges, of exchanges in the open, and the formula."""
    rows = [
        (str(each.phase), each.seconds, each.compute_s, each.exchange_s, each.exposed_s, FORMULAS[each.phase])
        for each in step.phases
    ]
    return [*rows, (BUBBLE, step.bubble_s, 0.0, 0.0, 0.0, BUBBLE_FORMULA)]


def seconds(value: float) -> str:
    """A time with three digits, in the unit that suits it."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= size:
            many = value / size
            return f"{many:,.0f} {unit}" if many >= _DIGITS else f"{many:.3g} {unit}"
    return "0 s"


def _step(step: StepTime) -> str:
    parts = ", ".join(f"{name} {seconds(took)}" for name, took, *_ in phases(step) if took)
    share = f"{step.communication_share:.0%} of the step waits for communication"
    (low, high), (few, many) = step.seconds_range, step.rate_range
    took = f"{seconds(low)} to {seconds(high)}, likely {seconds(step.seconds)}"
    used = f"MFU {step.mfu * few / step.tokens_per_s:.0%} to {step.mfu * many / step.tokens_per_s:.0%}"
    rate = f"{about(few)} to {about(many)} tokens/s, {used}"
    return f"{took} ({parts}), {share}; {rate}"


def _sent(each: ExchangeTime) -> str:
    exchange, beside = each.exchange, ", beside computation" if each.exchange.hidden else ""
    size = f"{quantity(round(exchange.sent_bytes / BYTES_PER_GB, 2))} GB"
    what = f"{exchange.axis} parallelism's {exchange.collective}"
    return f"{size} for {what}, {seconds(each.seconds)} ({each.algorithm}{beside})"


def exchange_row(each: ExchangeTime) -> tuple[str, ...]:
    """An exchange with its message, how often it is sent, and what carries it."""
    exchange = each.exchange
    return (
        f"{exchange.axis} {exchange.collective}",
        f"{exchange.ranks:,}",
        f"{exchange.size_bytes / _BYTES_PER_MB:,.1f}",
        f"{exchange.times:,}",
        f"{exchange.sent_bytes / BYTES_PER_GB:,.2f}",
        f"{each.bus_gb_per_s:,.1f}",
        seconds(each.seconds),
        str(each.algorithm),
        "beside computation" if exchange.hidden else "exposed",
    )


def duration(days: float) -> str:
    """Days, or hours or minutes where there are fewer than two of the larger unit."""
    for size, unit in ((1.0, "days"), (1 / HOURS_PER_DAY, "h")):
        if days >= 2 * size:
            return f"{quantity(round(days / size, 1))} {unit}"
    return f"{ceil(days * HOURS_PER_DAY * _MINUTE)} min"


def _days(forecast: Forecast, days: float) -> str:
    parts = [duration(days)]
    if forecast.effective_part is not None:
        parts.append(f"{forecast.effective_part:.1%} of it effective")
    if forecast.failures is not None:
        parts.append(f"{quantity(round(forecast.failures, 1))} failures")
    if forecast.restarts is not None:
        parts.append(f"at most {counted(forecast.restarts, 'restart')} in 95% of cases")
    return ", ".join(parts)


def _large(value: float) -> str:
    for size, word in ((1e12, "trillion"), (1e9, "billion")):
        if value >= size:
            return f"{quantity(round(value / size, 2))} {word}"
    return f"{value:,.0f}"


def experiments(plan: Plan) -> Iterator[RenderableType]:
    """A section for each experiment."""
    for each in plan.experiments.values():
        yield section(f"experiment {each.name}", facts(experiment_facts(each)))


def experiment_facts(plan: ExperimentPlan) -> Iterator[tuple[str, str | None]]:
    """The experiment in sentences; what nobody knows is left out."""
    trial, way = plan.trial, "lowest" if plan.lowest else "highest"
    whose = f", for team {plan.team} to see in {plan.namespace}" if plan.team else ""
    yield "trials", f"{plan.most} of run {plan.run}, {plan.parallel} at once, in queue {trial.queue}{whose}"
    hours = f", {plan.trial_hours:,.1f} h" if plan.trial_hours is not None else ""
    yield "a trial", f"{counted(trial.pods, 'node')}, {counted(trial.gpus, 'GPU')}{hours}"
    yield "parameters", ", ".join(map(_parameter, plan.parameters))
    enough = f", {plan.until:g} is enough" if plan.until is not None else ""
    yield "chosen by", f"{plan.algorithm}; the {way} {plan.metric} wins{enough}"
    if plan.after_trials is not None:
        yield "ended early", f"after {plan.after_reports} values, against {plan.after_trials} trials or more"
    if plan.hours is not None and plan.gpu_hours is not None:
        money = f", {usd(plan.usd)} USD" if plan.usd is not None else ""
        yield "takes", f"{plan.hours:,.1f} h at the most, without what gangs make it wait"
        yield "costs", f"{plan.gpu_hours:,.1f} of {plan.budget_gpu_hours:,.1f} GPU hours{money}"
    yield "fails", f"with {counted(plan.failed, 'failed trial')}"


def _parameter(parameter: ParameterPlan) -> str:
    if parameter.listed:
        return f"{parameter.name} of {' '.join(parameter.listed)}"
    step = f" by {parameter.step}" if parameter.step is not None else ""
    return f"{parameter.name} {parameter.low} to {parameter.high}{step}{', log' if parameter.log else ''}"
