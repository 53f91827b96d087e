"""Time of a training step by phase: load, forward, loss, backward with the gradients' exchange, optimizer, and again.

An estimate from rates: matrix products run at a part of the peak rate, sums over memory at memory's rate, exchanges as
NCCL's cost model has them. Of an exchange that computation can go on beside, only the rest stands in the way.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from catalogue.model_types import Model
from planner.communication.collectives import Algorithm, Collective, Protocol
from planner.communication.group import Cluster
from planner.communication.nccl import fastest
from planner.communication.traffic import Axis, Exchange, exchanges, pipeline_borders
from planner.storage.need import text_gb
from planner.throughput import mfu, model_flops_per_token, peak_tflops
from planner.training.job import Job, Layout, tokens_per_step
from planner.training.states import bytes_per_parameter, states_per_gpu

KERNEL_PART = 0.6
"""Part of the peak rate that a transformer's layers reach, their memory-bound operations included (assumed)."""

OVERLAP = 0.8
"""Part of a phase's computation beside which an exchange can go on (assumed; buckets and prefetch leave the rest)."""

_LOGIT_BYTES = 4
_LOGIT_PASSES = 3
_BYTES_PER_TB = 1e12
_FLOPS_PER_TFLOP = 1e12


class Phase(StrEnum):
    """What a step consists of, in order. After the optimizer it begins again."""

    LOAD = "load"
    FORWARD = "forward"
    LOSS = "loss"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"


FORMULAS = {
    Phase.LOAD: "4 B x tokens / storage rate, beyond what the other phases leave time for",
    Phase.FORWARD: "FLOPs / 3 / (GPUs x peak x kernel part) + exposed exchanges",
    Phase.LOSS: "3 x 4 B x tokens of the GPU x vocabulary / tensor / memory rate",
    Phase.BACKWARD: "2 x FLOPs / 3 (1 x with LoRA; 1 x more where all is computed again) / (GPUs x peak x kernel part) "
    "+ exposed exchanges",
    Phase.OPTIMIZER: "(2 x states + gradient + weight) of the GPU's share / memory rate + weights gathered",
}


@dataclass(frozen=True, kw_only=True)
class PhaseTime:
    """A phase in seconds. `exchange_s` is all communication, `exposed_s` the part that nothing hides."""

    phase: Phase
    compute_s: float
    exchange_s: float = 0.0
    exposed_s: float = 0.0

    @property
    def seconds(self) -> float:
        """What the phase takes."""
        return self.compute_s + self.exposed_s


@dataclass(frozen=True, kw_only=True)
class ExchangeTime:
    """An exchange as NCCL carries it out: `seconds` of all repetitions together, the bus bandwidth of each."""

    exchange: Exchange
    algorithm: Algorithm
    protocol: Protocol
    bus_gb_per_s: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class StepTime:
    """A step: its phases, its exchanges, and `bubble_s`, in which pipeline stages wait for each other."""

    phases: tuple[PhaseTime, ...]
    traffic: tuple[ExchangeTime, ...]
    bubble_s: float
    tokens: int
    tokens_per_s: float
    mfu: float

    @property
    def seconds(self) -> float:
        """What a step takes."""
        return sum(each.seconds for each in self.phases) + self.bubble_s

    @property
    def communication_share(self) -> float:
        """Part of the step in which nothing but communication goes on; a faster fabric shortens that part only."""
        exposed_s = sum(each.exposed_s for each in self.phases if each.phase is not Phase.LOAD)
        return communication_share(self.seconds - exposed_s, exposed_s)


def pipeline_bubble(layout: Layout, accumulation: int) -> float:
    """Part of the time that stages wait for each other: (p-1)/(m+p-1) with m micro-batches (GPipe, 1F1B)."""
    return pipeline_borders(layout) / (accumulation + pipeline_borders(layout))


def communication_share(compute_s: float, exposed_s: float) -> float:
    """Part of a step that its exposed communication takes; a faster fabric shortens that part only."""
    return exposed_s / (compute_s + exposed_s)


def step_time(
    model: Model,
    job: Job,
    layout: Layout,
    cluster: Cluster,
    *,
    storage_gb_per_s: float | None = None,
    kernel_part: float = KERNEL_PART,
    overlap: float = OVERLAP,
) -> StepTime:
    """Estimate a step of the job on GPUs of `cluster`. None as storage rate leaves the loading out.

    The backward pass takes two passes' time, for the gradients of activations and weights; frozen weights (LoRA) have
    none, and it takes one.

    Raises ValueError where the layout's ranks leave a domain that has no network.
    """
    tokens = tokens_per_step(job, layout)
    pass_flops = model_flops_per_token(model, job.sequence) / 3
    peak = peak_tflops(cluster.gpu, job.precision)
    pass_s = tokens * pass_flops / (layout.world * peak * _FLOPS_PER_TFLOP * kernel_part)
    backward_passes = 2 if job.method == "full" else 1
    sent = tuple(timed(each, cluster) for each in exchanges(model, job, layout))
    forward = _phase(Phase.FORWARD, pass_s, _of(sent, job, Phase.FORWARD), job, overlap)
    computed_s = (backward_passes + (job.recompute == "full")) * pass_s
    backward = _phase(Phase.BACKWARD, computed_s, _of(sent, job, Phase.BACKWARD), job, overlap)
    loss = PhaseTime(phase=Phase.LOSS, compute_s=_loss_s(model, job, layout, cluster))
    optimizer_s = _optimizer_s(model, job, layout, cluster)
    optimizer = _phase(Phase.OPTIMIZER, optimizer_s, _of(sent, job, Phase.OPTIMIZER), job, 0.0)
    bubble_s = (forward.seconds + backward.seconds) * pipeline_borders(layout) / job.accumulation
    beside_s = forward.seconds + loss.seconds + backward.seconds + optimizer.seconds + bubble_s
    load_s = text_gb(tokens) / storage_gb_per_s if storage_gb_per_s else 0.0
    load = PhaseTime(phase=Phase.LOAD, compute_s=0.0, exchange_s=load_s, exposed_s=max(0.0, load_s - beside_s))
    rate = tokens / (beside_s + load.seconds)
    return StepTime(
        phases=(load, forward, loss, backward, optimizer),
        traffic=sent,
        bubble_s=bubble_s,
        tokens=tokens,
        tokens_per_s=rate,
        mfu=mfu((1 + backward_passes) * pass_flops, layout.world, peak, rate),
    )


def _of(sent: Iterable[ExchangeTime], job: Job, phase: Phase) -> tuple[tuple[Exchange, float], ...]:
    """The exchanges of a phase, each with the seconds of its repetitions that belong there."""
    parts = ((each, _part(each.exchange, job, phase)) for each in sent)
    return tuple((each.exchange, part * each.seconds) for each, part in parts if part)


def _part(exchange: Exchange, job: Job, phase: Phase) -> float:
    """Forward and backward pass share what layers exchange; with full recomputation the forward runs twice.

    Weights are gathered before each pass (ZeRO-3, FSDP) or once after the optimizer (ZeRO-1 and 2); gradients are
    reduced in the backward pass.
    """
    if exchange.axis is Axis.DATA:
        if exchange.collective is not Collective.ALL_GATHER:
            return 1.0 if phase is Phase.BACKWARD else 0.0
        if job.sharding in ("zero1", "zero2"):
            return 1.0 if phase is Phase.OPTIMIZER else 0.0
        return 0.0 if phase is Phase.OPTIMIZER else 0.5
    again = job.recompute == "full" and exchange.axis is not Axis.PIPELINE
    whole = (3 if exchange.axis is Axis.CONTEXT else 2) + (1 if again else 0)
    return {Phase.FORWARD: 1 / whole, Phase.BACKWARD: 1 - 1 / whole}.get(phase, 0.0)


def _phase(
    phase: Phase,
    compute_s: float,
    sent: Iterable[tuple[Exchange, float]],
    job: Job,
    overlap: float,
) -> PhaseTime:
    """Exchanges that can be hidden share what computation there is to hide them.

    Gradients that are reduced once in a step only have the last micro-batch's backward pass for it.
    """
    open_s = hidden_s = 0.0
    window_s = overlap * compute_s
    for exchange, took_s in sent:
        if exchange.hidden:
            hidden_s += took_s
            if exchange.axis is Axis.DATA and exchange.times == 1:
                window_s = min(window_s, overlap * compute_s / job.accumulation)
        else:
            open_s += took_s
    return PhaseTime(
        phase=phase,
        compute_s=compute_s,
        exchange_s=open_s + hidden_s,
        exposed_s=open_s + max(0.0, hidden_s - window_s),
    )


def timed(exchange: Exchange, cluster: Cluster) -> ExchangeTime:
    """The exchange by the fastest algorithm and protocol, its repetitions one after the other.

    Raises ValueError where its ranks leave a domain that has no network.
    """
    best = fastest(exchange.collective, exchange.size_bytes, cluster.group(exchange.ranks, exchange.stride))
    return ExchangeTime(
        exchange=exchange,
        algorithm=best.algorithm,
        protocol=best.protocol,
        bus_gb_per_s=best.bus_gb_per_s,
        seconds=exchange.times * best.seconds,
    )


def _loss_s(model: Model, job: Job, layout: Layout, cluster: Cluster) -> float:
    """The fp32 logits are written and read, and their gradient is written."""
    tokens = job.accumulation * job.micro_batch * job.sequence / layout.context
    moved = _LOGIT_PASSES * _LOGIT_BYTES * tokens * model.vocab / layout.tensor
    return moved / (cluster.gpu.memory_tb_per_s * _BYTES_PER_TB)


def _optimizer_s(model: Model, job: Job, layout: Layout, cluster: Cluster) -> float:
    """Master copy and moments are read and written, the gradient is read, the weight is written."""
    each = bytes_per_parameter(job)
    share = states_per_gpu(job, model, layout).optimizer / each.optimizer
    moved = share * (2 * each.optimizer + each.gradients + each.weights)
    return moved / (cluster.gpu.memory_tb_per_s * _BYTES_PER_TB)
