"""Runs and services: memory by part, and the curve of checkpoint intervals."""

from collections.abc import Iterator

from planner.faces.nodes import device_gb, service_facts, service_parts, training_facts, training_parts
from planner.faces.page.charts import Axis, Curve, Mark, curves, memory_bar
from planner.faces.page.elements import Markup, element, facts, section
from planner.reliability.checkpoints import daly_seconds, overhead, young_seconds
from planner.training.plan import TrainingPlan
from planner.types import AwsPlan, MetalPlan, RunPlan

_POINTS = 48
_SPAN = 8.0
_MINUTE = 60


def workloads(plan: AwsPlan | MetalPlan) -> Iterator[Markup]:
    """A part of the page for the runs and one for the services, where there are any."""
    if plan.runs:
        runs = (part for index, run in enumerate(plan.runs.values()) for part in _run(plan, index, run))
        yield section("runs", "Training runs", *runs)
    if plan.services:
        yield section("services", "Model services", *_services(plan))


def _run(plan: AwsPlan | MetalPlan, index: int, run: RunPlan) -> Iterator[Markup]:
    pool = plan.pools[run.pool]
    gpu = pool.gpu.name if pool.gpu else "GPU"
    yield element("h3", run.name)
    yield element("p", f"{run.pods} x {pool.hardware} of pool {run.pool}, {run.gpus} {gpu}, queue {run.queue}")
    if run.training is None:
        return
    yield facts(training_facts(run, run.training))
    yield memory_bar(f"run-{index}-memory", "a GPU", training_parts(run.training), run.training.memory.gpu_gb)
    saved = plan.storage.runs.get(run.name) if plan.storage else None
    if saved and run.training.best_checkpoint_seconds is not None:
        yield checkpoint_curve(f"run-{index}-checkpoints", run.training, saved.io.within_s, saved.io.every_s)


def checkpoint_curve(id_: str, training: TrainingPlan, pause_s: float, every_s: float) -> Markup:
    """Time that checkpoints and failures take, over the interval; Young's, Daly's and the run's own are marked."""
    mttf_h = training.mttf_hours
    young, daly = young_seconds(pause_s, mttf_h), daly_seconds(pause_s, mttf_h)
    low, high = min(young / _SPAN, every_s / 2), max(young * _SPAN, every_s * 2)
    intervals = [low * (high / low) ** (step / _POINTS) for step in range(_POINTS + 1)]
    points = [(each / _MINUTE, 100 * overhead(pause_s, each, mttf_h)) for each in intervals]
    marks = [
        Mark(name="Young", x=young / _MINUTE),
        Mark(name="Daly", x=daly / _MINUTE),
        Mark(name="this run", x=every_s / _MINUTE),
    ]
    least, own = (100 * overhead(pause_s, each, mttf_h) for each in (young, every_s))
    return curves(
        id_,
        "Time lost, by the interval between checkpoints",
        f"Least at {young / _MINUTE:.0f} minutes, {least:.1f} %; "
        f"this run saves every {every_s / _MINUTE:g} minutes and loses {own:.1f} %.",
        [Curve(name="lost time", points=points)],
        Axis(name="minutes between checkpoints", written=_minutes, logarithmic=True),
        Axis(name="% of the time"),
        marks,
    )


def _minutes(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _services(plan: AwsPlan | MetalPlan) -> Iterator[Markup]:
    for index, service in enumerate(plan.services.values()):
        pool = plan.pools[service.pool]
        yield element("h3", service.name)
        yield facts(service_facts(service, pool))
        parts, capacity = service_parts(service), device_gb(pool) * service.pod.gpus
        yield memory_bar(f"service-{index}-memory", "a replica", parts, capacity)
