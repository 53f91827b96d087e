"""What a run makes of its model, in numbers."""

from dataclasses import dataclass

from catalogue.model_types import Model
from catalogue.types import Gpu
from planner.reliability.checkpoints import young_seconds
from planner.reliability.mttf import Mttf, failure_rate, mttf
from planner.throughput import model_flops_per_token, peak_tflops, tokens_per_s
from planner.training.job import Job, Layout, global_batch, tokens_per_step
from planner.training.memory import TrainingMemory, training_memory


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
    flops = model_flops_per_token(model, job.sequence)
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
