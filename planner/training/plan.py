"""What a run makes of its model, in numbers, and how its processes are started."""

from dataclasses import dataclass
from math import ceil
from typing import Literal

from catalogue.model_types import Model
from catalogue.types import Gpu
from planner.forecast import Forecast
from planner.reliability.checkpoints import Saving, young_seconds
from planner.reliability.mttf import Mttf, failure_rate, mttf
from planner.throughput import model_flops_per_token, peak_tflops, tokens_per_s
from planner.training.job import Job, Layout, global_batch, tokens_per_step
from planner.training.memory import TrainingMemory, training_memory
from settings.workloads import TrainingRun


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """What a run makes of its model: layout, memory of the fullest GPU, batch, and what to expect.

    `tokens_per_s` is at a typical utilisation, `mttf` the mean time to an interruption of a job of that size,
    `best_checkpoint_seconds` the interval between checkpoints that loses least if each pauses training as long as the
    run allows.
    """

    model: str
    job: Job
    layout: Layout
    memory: TrainingMemory
    global_batch: int
    tokens_per_step: int
    tokens_per_s: int
    mttf: Mttf
    best_checkpoint_seconds: float | None


def plan_training(
    job: Job,
    model: Model,
    layout: Layout,
    gpu: Gpu,
    gpus: int,
    pause_s: float | None = None,
    failures_per_1000_node_days: float | None = None,
) -> TrainingPlan:
    """The numbers of a job on so many GPUs, whose checkpoints pause it for `pause_s` at most.

    `failures_per_1000_node_days` is what the site knows of its own nodes; None takes what was published of the GPU.
    """
    flops = model_flops_per_token(model, job.sequence, full=job.method == "full")
    failing = mttf(gpus, failure_rate(gpu, failures_per_1000_node_days))
    return TrainingPlan(
        model=model.name,
        job=job,
        layout=layout,
        memory=training_memory(job, model, layout, gpu.driver_gb),
        global_batch=global_batch(job, layout),
        tokens_per_step=tokens_per_step(job, layout),
        tokens_per_s=round(tokens_per_s(flops, gpus, peak_tflops(gpu))),
        mttf=failing,
        best_checkpoint_seconds=young_seconds(pause_s, failing.hours) if pause_s is not None else None,
    )


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
        **run.model_dump(include={"framework", "numa_binding", "loader_workers"}),
        architecture=model if told else None,
        least_pods=run.elastic.min_nodes if run.elastic else run.nodes,
        elastic=run.elastic is not None,
        steps=ceil(forecast.budget.steps) if told and forecast and forecast.budget else None,
        save_steps=_steps(saved.every_s, step_s) if saved and step_s else None,
        file_system_steps=_steps(saved.file_system_s, step_s) if saved and step_s else None,
        profile_from=run.profile.from_step if run.profile else None,
        profile_to=run.profile.to_step if run.profile else None,
        variables=tuple((each.name, each.value) for each in run.nccl),
    )


def _steps(seconds: float, step_s: float) -> int:
    """As many whole steps as begin within the seconds, one at least."""
    return max(1, int(seconds / step_s))
