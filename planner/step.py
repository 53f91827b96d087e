"""Time of a training step by phase: load, forward, loss, backward with the gradients' exchange, optimizer, and again.

An estimate from rates: what GPUs compute as in `planner/kernels.py`, exchanges as NCCL's cost model has them, of which
computation hides what the software lets it. The answer is a range: rates come from runs that others measured.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from catalogue.calibration import Calibration, calibration, uncertainty
from catalogue.model_types import Model
from planner.communication.group import Cluster, Collective
from planner.communication.nccl import Timing, fastest
from planner.communication.traffic import Axis, Exchange, distinct, exchanges, pipeline_borders
from planner.kernels import forward_pass, loss_s, optimizer_s
from planner.storage.need import text_gb
from planner.throughput import mfu, model_flops_per_token, peak_tflops
from planner.training.job import Job, Layout, tokens_per_step

OVERLAP = 0.8
"""Part of a phase's computation beside which an exchange can go on (assumed; buckets and prefetch leave the rest)."""


class Phase(StrEnum):
    """What a step consists of, in order. After the optimizer it begins again."""

    LOAD = "load"
    FORWARD = "forward"
    LOSS = "loss"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"


FORMULAS = {
    Phase.LOAD: "4 B x tokens / storage rate, beyond what the other phases leave time for",
    Phase.FORWARD: "micro-batches x (products / calibrated rate + half of attention / its rate + sums / memory rate + "
    "experts) + exposed exchanges",
    Phase.LOSS: "3 x 4 B x tokens of the GPU x vocabulary / tensor / memory rate",
    Phase.BACKWARD: "2 x forward (1 x with LoRA), attention 2.5 x, the layers once more where all is computed again, "
    "half of that where PyTorch recomputes selectively + exposed exchanges",
    Phase.OPTIMIZER: "(2 x states + gradient + weight) of the GPU's share / memory rate",
}


@dataclass(frozen=True, kw_only=True)
class PhaseTime:
    """A phase in seconds. `exchange_s` is all communication, `exposed_s` the part that nothing hides.

    `once_s` is what of that comes once in a step, however many micro-batches there are.
    """

    phase: Phase
    compute_s: float
    exchange_s: float = 0.0
    exposed_s: float = 0.0
    once_s: float = 0.0

    @property
    def seconds(self) -> float:
        """What the phase takes."""
        return self.compute_s + self.exposed_s


@dataclass(frozen=True, kw_only=True)
class ExchangeTime(Timing):
    """An exchange as NCCL carries it out: `seconds` of all repetitions together, the bus bandwidth of each."""

    exchange: Exchange


@dataclass(frozen=True, kw_only=True)
class StepTime:
    """A step: its phases, its exchanges, and `bubble_s`, in which pipeline stages wait for each other.

    Four of five runs take (1 - `off`) to (1 + `off`) times as long; `basis` says what the rates rest on.
    """

    phases: tuple[PhaseTime, ...]
    traffic: tuple[ExchangeTime, ...]
    bubble_s: float
    tokens: int
    tokens_per_s: float
    mfu: float
    off: float
    basis: str

    @property
    def seconds(self) -> float:
        """What a step takes."""
        return sum(each.seconds for each in self.phases) + self.bubble_s

    @property
    def seconds_range(self) -> tuple[float, float]:
        """The shortest and the longest step to expect."""
        return self.seconds * (1 - self.off), self.seconds * (1 + self.off)

    @property
    def rate_range(self) -> tuple[float, float]:
        """The fewest and the most tokens a second to expect."""
        return self.tokens_per_s / (1 + self.off), self.tokens_per_s / (1 - self.off)

    @property
    def communication_share(self) -> float:
        """Part of the step in which nothing but communication goes on; a faster fabric shortens that part only."""
        exposed_s = sum(each.exposed_s for each in self.phases if each.phase is not Phase.LOAD)
        return communication_share(self.seconds - exposed_s, exposed_s)


def pipeline_bubble(layout: Layout, accumulation: int) -> float:
    """Part of the time that stages wait for each other: (p-1)/(v m+p-1) with m micro-batches and v virtual stages.

    Source: Narayanan et al. 2021, section 2.2: interleaved 1F1B divides the bubble by the virtual stages.
    """
    return pipeline_borders(layout) / (layout.virtual_stages * accumulation + pipeline_borders(layout))


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
) -> StepTime:
    """Estimate a step of the job on GPUs of `cluster`. None as storage rate leaves the loading out.

    Raises ValueError where the layout's ranks leave a domain that has no network.
    """
    tokens = tokens_per_step(job, layout)
    row = calibration(job.software, cluster.gpu, job.precision)
    one = forward_pass(model, job, layout, cluster.gpu)
    full, passes = job.method == "full", job.accumulation
    sent = tuple(timed(each, cluster) for each in exchanges(model, job, layout))
    forward = _phase(Phase.FORWARD, passes * one.forward_s, sent, job, row)
    backward_s = one.backward_s(full=full, again=row.again(job.recompute))
    backward = _phase(Phase.BACKWARD, passes * backward_s, sent, job, row)
    loss = PhaseTime(phase=Phase.LOSS, compute_s=loss_s(model, job, layout, cluster.gpu))
    optimizer = PhaseTime(phase=Phase.OPTIMIZER, compute_s=optimizer_s(model, job, layout, cluster.gpu))
    waiting = pipeline_borders(layout) / (passes * layout.virtual_stages)
    bubble_s = (forward.seconds + backward.seconds - forward.once_s - backward.once_s) * waiting
    beside_s = forward.seconds + loss.seconds + backward.seconds + optimizer.seconds + bubble_s
    load_s = text_gb(tokens) / storage_gb_per_s if storage_gb_per_s else 0.0
    load = PhaseTime(phase=Phase.LOAD, compute_s=0.0, exchange_s=load_s, exposed_s=max(0.0, load_s - beside_s))
    rate = tokens / (beside_s + load.seconds)
    flops = model_flops_per_token(model, job.sequence, full=full)
    return StepTime(
        phases=(load, forward, loss, backward, optimizer),
        traffic=sent,
        bubble_s=bubble_s,
        tokens=tokens,
        tokens_per_s=rate,
        mfu=mfu(flops, layout.world, peak_tflops(cluster.gpu, job.precision), rate),
        off=uncertainty(row, model.experts is not None),
        basis=row.basis,
    )


def _part(exchange: Exchange, job: Job, phase: Phase) -> float:
    """Forward and backward pass share what layers exchange; with full recomputation the forward runs twice.

    Weights are gathered before each pass (ZeRO-3, FSDP) or once, before the first one; gradients are reduced in the
    backward pass.
    """
    if exchange.axis is Axis.DATA:
        if exchange.collective is not Collective.ALL_GATHER:
            return 1.0 if phase is Phase.BACKWARD else 0.0
        if exchange.times == 1:
            return 1.0 if phase is Phase.FORWARD else 0.0
        return 0.5
    again = job.recompute == "full" and exchange.axis is not Axis.PIPELINE
    whole = (3 if exchange.axis is Axis.CONTEXT else 2) + (1 if again else 0)
    return 1 / whole if phase is Phase.FORWARD else 1 - 1 / whole


def _phase(phase: Phase, compute_s: float, sent: Iterable[ExchangeTime], job: Job, row: Calibration) -> PhaseTime:
    """Exchanges that can be hidden share what computation there is to hide them.

    What is exchanged once in a step only has one micro-batch's computation for it; of tensor parallel exchanges the
    software hides its own part, by computing on pieces of a message.
    """
    open_s = hidden_s = shown_s = once_s = 0.0
    for each in sent:
        took_s = _part(each.exchange, job, phase) * each.seconds
        if each.exchange.axis is Axis.TENSOR:
            open_s += took_s
            shown_s += (1 - row.tensor_hidden) * took_s
        elif each.exchange.axis is Axis.EXPERT:
            open_s += took_s
            shown_s += (1 - row.tokens_hidden) * took_s
        elif each.exchange.axis is Axis.DATA and each.exchange.times == 1:
            once_s += took_s
        else:
            hidden_s += took_s
    window_s = row.gradients_hidden * compute_s / job.accumulation
    return PhaseTime(
        phase=phase,
        compute_s=compute_s,
        exchange_s=open_s + hidden_s + once_s,
        exposed_s=shown_s
        + max((1 - row.layers_hidden) * hidden_s, hidden_s - OVERLAP * compute_s)
        + max(0.0, once_s - window_s),
        once_s=max(0.0, once_s - window_s),
    )


def timed(exchange: Exchange, cluster: Cluster) -> ExchangeTime:
    """The exchange by the fastest algorithm and protocol, its repetitions one after the other.

    Raises ValueError where its ranks leave a domain that has no network.
    """
    group = cluster.group(exchange.ranks, exchange.stride)
    places = group.domains if group.domains > 1 else group.ranks
    size_bytes = exchange.size_bytes * distinct(places, exchange.copies)
    best = fastest(exchange.collective, size_bytes, group)
    return ExchangeTime(exchange=exchange, **{**vars(best), "seconds": exchange.times * best.seconds})
