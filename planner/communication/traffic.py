"""What a training step sends, by the kind of parallelism that sends it. Bytes of one rank, for one optimizer step."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from catalogue.model_types import Model
from planner.communication.group import Collective, bus_factor
from planner.training.job import GATHERED, Job, Layout, Recompute, kv_heads_of_rank
from planner.training.memory import weight_bytes

_ACTIVATION_BYTES = 2
_ALL_REDUCES = 4
_ALL_REDUCES_RECOMPUTED = 6
_GRADIENT_BYTES = {"bf16": 2, "fp32": 4}
_GATHERS = 2


class Axis(StrEnum):
    """A kind of parallelism, by what its ranks divide."""

    TENSOR = "tensor"
    CONTEXT = "context"
    EXPERT = "expert"
    DATA = "data"
    PIPELINE = "pipeline"


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """An operation that a step repeats `times` among `ranks` GPUs that lie `stride` apart.

    `size_bytes` is the operation's size as nccl-tests counts it. `hidden` says that the computation of other layers or
    micro-batches can go on meanwhile. `copies` is to how many experts each token goes: it crosses the network once for
    each node among them, and NVLink once for each GPU (DeepEP; Megatron Core's flex dispatcher).
    """

    axis: Axis
    collective: Collective
    size_bytes: float
    times: int
    ranks: int
    stride: int = 1
    hidden: bool = False
    copies: int = 1

    @property
    def sent_bytes(self) -> float:
        """Bytes that a rank sends in a step, by an algorithm that sends no byte twice."""
        return (
            bus_factor(self.collective, self.ranks) * self.size_bytes * self.times * distinct(self.ranks, self.copies)
        )


def distinct(places: int, copies: int) -> float:
    """Different places among `copies` that are drawn evenly from so many: n x (1 - (1 - 1/n)^k)."""
    return places * (1 - (1 - 1 / places) ** copies) if copies > 1 else 1.0


def tensor_message_bytes(micro_batch: int, sequence: int, hidden: int) -> int:
    """Bytes of one tensor parallel all-reduce: the bf16 activations of a micro-batch."""
    return micro_batch * sequence * hidden * _ACTIVATION_BYTES


def tensor_all_reduces(recompute: Recompute) -> int:
    """All-reduces of a layer in a forward and backward pass: two each way, and two more where the forward is repeated.

    Source: Shoeybi et al. 2019 (Megatron-LM), section 3.
    """
    return _ALL_REDUCES_RECOMPUTED if recompute == "full" else _ALL_REDUCES


def pipeline_borders(layout: Layout) -> int:
    """Stage borders that activations pass: one less than the stages, however many layers a stage has."""
    return layout.pipeline - 1


def exchanges(model: Model, job: Job, layout: Layout) -> tuple[Exchange, ...]:
    """All exchanges of a step of the optimizer, seen by a rank of the fullest pipeline stage."""
    return (
        *_tensor(model, job, layout),
        *_context(model, job, layout),
        *_expert(model, job, layout),
        *_pipeline(model, job, layout),
        *_data(model, job, layout),
    )


def _stage_layers(layers: int, layout: Layout) -> int:
    return -(-layers // layout.pipeline)


def _part_of_sequence(job: Job, layout: Layout) -> int:
    return job.sequence // layout.context


def _tensor(model: Model, job: Job, layout: Layout) -> Iterator[Exchange]:
    if layout.tensor > 1:
        yield Exchange(
            axis=Axis.TENSOR,
            collective=Collective.ALL_REDUCE,
            size_bytes=tensor_message_bytes(job.micro_batch, _part_of_sequence(job, layout), model.hidden),
            times=tensor_all_reduces(job.recompute) * _stage_layers(model.layers, layout) * job.accumulation,
            ranks=layout.tensor,
        )


def _context(model: Model, job: Job, layout: Layout) -> Iterator[Exchange]:
    """Keys and values go round the ring once forward, and with their gradients backward (Liu et al. 2023)."""
    if layout.context > 1:
        width = 2 * kv_heads_of_rank(model, layout.tensor) * model.head_dim
        rounds = 3 + (1 if job.recompute == "full" else 0)
        yield Exchange(
            axis=Axis.CONTEXT,
            collective=Collective.SEND_RECEIVE,
            size_bytes=job.micro_batch * _part_of_sequence(job, layout) * width * _ACTIVATION_BYTES,
            times=rounds * (layout.context - 1) * _stage_layers(model.layers, layout) * job.accumulation,
            ranks=layout.context,
            stride=layout.tensor,
            hidden=True,
        )


def _expert(model: Model, job: Job, layout: Layout) -> Iterator[Exchange]:
    """Tokens go to their experts and come back, forward and backward (Lepikhin et al. 2020, GShard)."""
    if model.experts and layout.expert > 1:
        tokens = job.micro_batch * _part_of_sequence(job, layout) / layout.tensor
        ways = tensor_all_reduces(job.recompute)
        yield Exchange(
            axis=Axis.EXPERT,
            collective=Collective.ALL_TO_ALL,
            size_bytes=tokens * model.hidden * _ACTIVATION_BYTES,
            times=ways * _stage_layers(model.experts.layers, layout) * job.accumulation,
            ranks=layout.expert,
            stride=1 if layout.spans_tensor else layout.tensor,
            copies=model.experts.active,
        )


def _pipeline(model: Model, job: Job, layout: Layout) -> Iterator[Exchange]:
    """Activations to the next stage, and their gradients back; an inner stage meanwhile receives as much."""
    if pipeline_borders(layout):
        yield Exchange(
            axis=Axis.PIPELINE,
            collective=Collective.SEND_RECEIVE,
            size_bytes=tensor_message_bytes(job.micro_batch, _part_of_sequence(job, layout), model.hidden),
            times=2 * job.accumulation * layout.virtual_stages,
            ranks=layout.pipeline,
            stride=layout.tensor * layout.shards,
            hidden=True,
        )


def _data(model: Model, job: Job, layout: Layout) -> Iterator[Exchange]:
    """Dense weights among data and context ranks, experts among those that hold the same ones."""
    dense = model.parameters - model.expert_parameters
    experts = model.expert_parameters / layout.expert_parts / layout.pipeline
    apart = layout.expert if layout.spans_tensor else layout.tensor * layout.expert
    parts = (
        (dense / (layout.tensor * layout.pipeline), layout.shards, layout.tensor),
        (experts, layout.expert_shards, apart),
    )
    for parameters, ranks, stride in parts:
        if ranks > 1 and parameters:
            for collective, size_bytes, times in _reductions(parameters, job, layout):
                yield Exchange(
                    axis=Axis.DATA,
                    collective=collective,
                    size_bytes=size_bytes,
                    times=times,
                    ranks=ranks,
                    stride=stride,
                    hidden=True,
                )


def _reductions(parameters: float, job: Job, layout: Layout) -> Iterator[tuple[Collective, float, int]]:
    """Operation, size and number, for so many parameters of a rank.

    An all-reduce, or its two halves where ranks keep parts of the states.

    ZeRO-3 and FSDP gather and reduce in each pass; pipeline stages stay together and do so once a step (PyTorch's
    pipeline schedules; torchtitan, `reshard_after_forward: default`). Adapters (LoRA) have next to no gradients, and
    their frozen weights only move where they are gathered.
    """
    trained, gathered = job.method == "full", job.sharding in GATHERED and layout.pipeline == 1
    gradients = parameters * _GRADIENT_BYTES[job.gradients]
    weights = parameters * min(weight_bytes(job), _ACTIVATION_BYTES)
    if job.sharding == "none":
        if trained:
            yield Collective.ALL_REDUCE, gradients, 1
        return
    if job.sharding in GATHERED or trained:
        yield Collective.ALL_GATHER, weights, _GATHERS * job.accumulation if gathered else 1
    if trained:
        yield Collective.REDUCE_SCATTER, gradients, job.accumulation if gathered else 1
