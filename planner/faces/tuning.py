"""Experiments as text: what their trials are, how long they take and what they cost."""

from collections.abc import Iterator

from rich.console import RenderableType

from planner.experiments import ExperimentPlan, ParameterPlan
from planner.faces.layout import facts, section, usd
from planner.types import Plan
from planner.wording import counted


def experiments(plan: Plan) -> Iterator[RenderableType]:
    """A section for each experiment."""
    for each in plan.experiments.values():
        yield section(f"experiment {each.name}", facts(experiment_facts(each)))


def experiment_facts(plan: ExperimentPlan) -> Iterator[tuple[str, str | None]]:
    """The experiment in sentences; what nobody knows is left out."""
    trial, way = plan.trial, "lowest" if plan.lowest else "highest"
    yield "trials", f"{plan.most} of run {plan.run}, {plan.parallel} at once, in queue {trial.queue}"
    yield "a trial", f"{counted(trial.pods, 'node')}, {counted(trial.gpus, 'GPU')}{_of_hours(plan.trial_hours)}"
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


def _of_hours(hours: float | None) -> str:
    return f", {hours:,.1f} h" if hours is not None else ""


def _parameter(parameter: ParameterPlan) -> str:
    if parameter.listed:
        return f"{parameter.name} of {' '.join(parameter.listed)}"
    step = f" by {parameter.step}" if parameter.step is not None else ""
    return f"{parameter.name} {parameter.low} to {parameter.high}{step}{', log' if parameter.log else ''}"
