"""Runs and services: memory by part, and the curve of checkpoint intervals."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from planner.faces.forecast import as_set, interval
from planner.faces.nodes import (
    page_facts,
    service_facts,
    service_parts,
    sharing_words,
    training_facts,
    training_parts,
)
from planner.faces.page.charts import Axis, Curve, Mark, curves, memory_bar, step_bar, step_traffic
from planner.faces.page.elements import Markup, element, facts, section, table
from planner.metal_types import MetalPlan
from planner.reliability.checkpoints import Best, Saving, TierPlan, daly_seconds, overhead, young_seconds
from planner.serving.plan import device_gb
from planner.training.plan import TrainingPlan
from planner.types import AwsPlan
from planner.workload_types import RunPlan

_POINTS = 48
_SPAN = 8.0
_MINUTE = 60


def workloads(plan: AwsPlan | MetalPlan) -> Iterator[Markup]:
    """A part of the page for the runs, one for the services and one for people, where there are any."""
    if plan.runs:
        runs = (part for index, run in enumerate(plan.runs.values()) for part in _run(plan, index, run))
        yield section("runs", "Training runs", *runs)
    if plan.services:
        yield section("services", "Model services", *_services(plan))
    if plan.gateway and plan.gateway.people:
        yield section("pages", "Pages for people", facts(page_facts(plan.gateway.people)))


def _run(plan: AwsPlan | MetalPlan, index: int, run: RunPlan) -> Iterator[Markup]:
    pool = plan.pools[run.pool]
    gpu = pool.gpu.name if pool.gpu else "GPU"
    yield element("h3", run.name)
    yield element("p", f"{run.pods} x {pool.hardware} of pool {run.pool}, {run.gpus} {gpu}, queue {run.queue}")
    if run.training is None:
        return
    yield facts(training_facts(run, run.training))
    yield memory_bar(f"run-{index}-memory", "a GPU", training_parts(run.training), run.training.memory.gpu_gb)
    if run.forecast and run.forecast.step:
        yield step_bar(f"run-{index}-step", run.forecast.step)
        yield step_traffic(run.forecast.step) if run.forecast.step.traffic else Markup()
    if run.saving and run.training.best_checkpoint_seconds is not None:
        yield checkpoint_curve(f"run-{index}-checkpoints", run, run.training, run.saving)
    if run.tiers:
        yield _tiers(run.tiers)


def checkpoint_curve(id_: str, run: RunPlan, training: TrainingPlan, saving: Saving) -> Markup:
    """Time that checkpoints and failures take, over the interval; Young's, Daly's and the run's own are marked.

    Beside the curve of the pause that the run allows stands one for each place that it can write to, with a dot at its
    own best interval.
    """
    mttf_h, pause_s, every_s = training.mttf.hours, saving.within_s, saving.every_s
    young, daly = young_seconds(pause_s, mttf_h), daly_seconds(pause_s, mttf_h)
    allowed = _lost(
        f"pause of {pause_s:g} s, as allowed",
        pause_s,
        mttf_h,
        min(young / _SPAN, every_s / 2),
        max(young * _SPAN, every_s * 2),
    )
    places = [_place(tier, best, mttf_h) for tier in run.tiers if (best := tier.best)]
    marks = [
        Mark(name="Young", x=young / _MINUTE),
        Mark(name="Daly", x=daly / _MINUTE),
        Mark(name="this run", x=every_s / _MINUTE),
    ]
    least, own = (100 * overhead(pause_s, each, mttf_h) for each in (young, every_s))
    return curves(
        id_,
        "Time lost, by the interval between checkpoints",
        f"With pauses of {pause_s:g} s least at {young / _MINUTE:.0f} minutes, {least:.1f} %; "
        f"this run writes a checkpoint every {every_s / _MINUTE:g} minutes and loses {own:.1f} %.",
        [allowed, *places],
        Axis(name="minutes between checkpoints", written=_minutes, logarithmic=True),
        Axis(name="% of the time"),
        marks,
    )


def _lost(name: str, pause_s: float, mttf_h: float, low: float, high: float) -> Curve:
    intervals = [low * (high / low) ** (step / _POINTS) for step in range(_POINTS + 1)]
    return Curve(name=name, points=[(each / _MINUTE, 100 * overhead(pause_s, each, mttf_h)) for each in intervals])


def _place(tier: TierPlan, best: Best, mttf_h: float) -> Curve:
    curve = _lost(f"to {tier.name}", tier.pause_s, mttf_h, best.young_s / _SPAN, best.young_s * _SPAN)
    return replace(curve, dots=[(best.young_s / _MINUTE, 100 * best.overhead)])


def _tiers(tiers: Iterable[TierPlan]) -> Markup:
    rows = (
        (tier.name, interval(tier.pause_s), as_set(tier), *_best(tier.best), f"{tier.own_effective_part:.1%}")
        for tier in tiers
    )
    headings = ("place", "takes", "as set", "Young", "Daly", "lost there", "effective there", "effective as set")
    return table("Places for checkpoints", headings, rows, (1, *range(3, 8)))


def _best(best: Best | None) -> tuple[str, ...]:
    if best is None:
        return ("",) * 4
    lost, kept = f"{best.overhead:.2%}", f"{best.effective_part:.1%}"
    return interval(best.young_s), interval(best.daly_s), lost, kept


def _minutes(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _services(plan: AwsPlan | MetalPlan) -> Iterator[Markup]:
    for index, service in enumerate(plan.services.values()):
        pool = plan.pools[service.pool]
        yield element("h3", service.name)
        yield facts(service_facts(service, pool, plan.gateway))
        parts, capacity = service_parts(service), device_gb(pool) * service.pod.gpus
        yield memory_bar(f"service-{index}-memory", "a replica", parts, capacity)
    if plan.sharing:
        yield element("h3", "Room beside services")
        yield facts((pool, sharing_words(plan.pools[pool], shared)) for pool, shared in plan.sharing.items())
