"""How a run's processes are started, in numbers: what a framework counts in steps, and the fewest pods of a gang."""

from dataclasses import dataclass
from math import ceil
from typing import Literal

from catalogue.model_types import Model
from planner.forecast import Forecast
from planner.reliability.checkpoints import Saving
from planner.training.plan import TrainingPlan
from settings.workloads import TrainingRun

Framework = Literal["script", "torchrun", "fsdp2", "deepspeed", "megatron", "nemo", "reference"]


@dataclass(frozen=True, kw_only=True)
class LaunchPlan:
    """What a framework is told beside layout, batch and precision.

    `steps` are those of the whole run, `save_steps` and `file_system_steps` pass between two saves at the forecast's
    rate, for frameworks that count steps and not seconds; None where the run does not say so much. The gang starts with
    `least_pods`. Of the steps from `profile_from` to `profile_to` rank 0 writes a profile. Each rank has
    `loader_workers` processes that load data, None as the framework does by itself. `variables` are set over the
    platform's.
    """

    framework: Framework
    architecture: Model | None
    least_pods: int
    elastic: bool
    steps: int | None = None
    save_steps: int | None = None
    file_system_steps: int | None = None
    numa_binding: str | None = None
    profile_from: int | None = None
    profile_to: int | None = None
    loader_workers: int | None = None
    variables: tuple[tuple[str, str], ...] = ()


def plan_launch(
    run: TrainingRun,
    model: Model | None,
    training: TrainingPlan | None,
    forecast: Forecast | None,
    saved: Saving | None,
) -> LaunchPlan:
    """The launch of a run; a script of its own is told nothing that it did not say itself."""
    told = training if run.framework != "script" else None
    step_s = told.tokens_per_step / forecast.tokens_per_s if told and forecast and forecast.tokens_per_s else None
    return LaunchPlan(
        framework=run.framework,
        architecture=model if told else None,
        least_pods=run.elastic.min_nodes if run.elastic else run.nodes,
        elastic=run.elastic is not None,
        steps=ceil(forecast.budget.steps) if told and forecast and forecast.budget else None,
        save_steps=_steps(saved.every_s, step_s) if saved and step_s else None,
        file_system_steps=_steps(saved.file_system_s, step_s) if saved and step_s else None,
        numa_binding=run.numa_binding,
        profile_from=run.profile.from_step if run.profile else None,
        profile_to=run.profile.to_step if run.profile else None,
        loader_workers=run.loader_workers,
        variables=tuple((each.name, each.value) for each in run.nccl),
    )


def _steps(seconds: float, step_s: float) -> int:
    """As many whole steps as begin within the seconds, one at least."""
    return max(1, int(seconds / step_s))
