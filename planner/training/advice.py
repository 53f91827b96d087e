"""GPUs that a model needs at least, and the smallest change of a job that makes it fit its GPUs."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from typing import Literal

from catalogue.model_types import Model
from catalogue.units import BYTES_PER_GB
from planner.training.job import (
    Gradients,
    Job,
    Layout,
    Recompute,
    Sharding,
    replicates,
    software_of,
    tensor_degrees,
)
from planner.training.memory import bytes_per_parameter, sharded, training_memory, weight_bytes

Mode = Literal["inference", "full", "lora", "qlora"]

FILL = 0.8
"""Part of a GPU's memory that states may take; the rest is for activations, buffers and the reserve."""
_INFERENCE_BYTES = 2
_ADAPTERS = 0.02
_ENDLESSLY = 1 << 62


@dataclass(frozen=True, kw_only=True)
class Need:
    """One row of the table: GPUs at least, by mode. None where no number of GPUs is enough."""

    parameters: float
    inference: int | None
    qlora: int | None
    lora: int | None
    full: int | None


def min_gpus(parameters: float, mode: Mode, *, memory_gb: float) -> int | None:
    """GPUs whose memory holds the weights (inference) or all states (training, by FSDP in bf16) of so many parameters.

    None where FSDP leaves more on each rank than a GPU has. LoRA's adapters are taken as 2 % of the model.
    """
    budget = memory_gb * FILL * BYTES_PER_GB
    if mode == "inference":
        return ceil(parameters * _INFERENCE_BYTES / budget)
    job = Job(method=mode, sharding="fsdp")
    trained = parameters if mode == "full" else parameters * _ADAPTERS
    each = bytes_per_parameter(job)
    kept = sharded(each, "fsdp", _ENDLESSLY)
    shared = (each.total - kept.total) * trained + (weight_bytes(job) * parameters if mode != "full" else 0)
    whole = kept.total * trained
    return max(1, ceil(shared / (budget - whole))) if whole < budget else None


def needs(parameters: float, memory_gb: float) -> Need:
    """The table's row of a model: how many GPUs it takes to serve it, to adapt it and to train it."""
    return Need(
        parameters=parameters,
        inference=min_gpus(parameters, "inference", memory_gb=memory_gb),
        qlora=min_gpus(parameters, "qlora", memory_gb=memory_gb),
        lora=min_gpus(parameters, "lora", memory_gb=memory_gb),
        full=min_gpus(parameters, "full", memory_gb=memory_gb),
    )


_FINER: dict[Sharding, int] = {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3}
_RECOMPUTES: tuple[Recompute, ...] = ("none", "selective", "full")
_COST = {"zero1": 1, "zero2": 2, "selective": 3, "microBatch": 4, "zero3": 8, "fsdp": 8, "full": 9}
_COST |= {"gradients": 10, "tensor": 11}
"""What the changes cost, in order only: memory shared out, smaller passes, more traffic, work done twice."""
_MOST_GPUS = 1 << 17


@dataclass(frozen=True, kw_only=True)
class Ways:
    """What a run's framework can be told: shardings, and whether tensor parallelism. `derived`: the run names no
    software, so that its family follows from its sharding.
    """

    shardings: tuple[Sharding, ...] = ("none", "zero1", "zero2", "fsdp")
    tensor: bool = True
    derived: bool = False

    @property
    def finest(self) -> Sharding:
        """What leaves least on each rank."""
        return max(self.shardings, key=lambda each: (_FINER[each], each == "fsdp"))

    def applied(self, job: Job, layout: Layout) -> Job:
        """The job as the planner would read it of a stack file."""
        return replace(job, software=software_of(None if self.derived else job.software, job.sharding, layout))


ANY = Ways()


@dataclass(frozen=True, kw_only=True)
class Change:
    """A job and layout that fit, and what sets them apart: keys of the run with their new values, in words."""

    job: Job
    layout: Layout
    words: tuple[str, ...]
    cost: int


def smallest_change(
    job: Job, model: Model, layout: Layout, gpu_gb: float, gpus_per_node: int, ways: Ways = ANY, *, surely: bool = False
) -> Change | None:
    """As few changes of the run as make it fit on the same GPUs, cheap ones before dear ones; None if none do.

    What likely fits is enough, unless it is to fit `surely`.
    """
    found = _changes(job, model, layout, gpus_per_node, ways)
    changes = sorted(found, key=lambda change: (len(change.words), change.cost))
    return next((each for each in changes if _fits(each.job, model, each.layout, gpu_gb, surely)), None)


def smallest_world(
    job: Job, model: Model, layout: Layout, gpu_gb: float, gpus_per_node: int, ways: Ways = ANY, *, surely: bool = False
) -> tuple[int, tuple[str, ...]] | None:
    """Nodes from which on the job fits when everything is sharded and recomputed, and what that takes, in words.

    Tensor parallelism may grow inside the node where it saves nodes. None if more nodes never help.
    """
    sharding = ways.finest
    least = ways.applied(replace(job, sharding=sharding, recompute="full", micro_batch=1, gradients="bf16"), layout)
    degrees = [
        size
        for size in tensor_degrees(model, gpus_per_node, replicated=replicates(least.software))
        if ways.tensor and size > layout.tensor
    ]
    wanted = [replace(layout, tensor=size) for size in (layout.tensor, *degrees) if gpus_per_node % size == 0]
    found = [
        (nodes, each) for each in wanted if (nodes := _least_nodes(least, model, each, gpu_gb, gpus_per_node, surely))
    ]
    if not found:
        return None
    nodes, spread = min(found, key=lambda each: (each[0], each[1].tensor))
    tensor = (f"parallelism.tensor {spread.tensor}",) if spread.tensor != layout.tensor else ()
    gradients = ("gradients bf16",) if job.gradients != "bf16" else ()
    return nodes, (*tensor, f"sharding {sharding}", "recompute full", "microBatch 1", *gradients)


def _fits(job: Job, model: Model, layout: Layout, gpu_gb: float, surely: bool) -> bool:
    """Advice is for what likely fits, not for what fits at best."""
    memory = training_memory(job, model, layout, gpu_gb)
    return memory.fits_surely if surely else memory.total_gb <= gpu_gb


def _least_nodes(job: Job, model: Model, layout: Layout, gpu_gb: float, per_node: int, surely: bool) -> int | None:
    """The smallest number of nodes on which the job fits, by bisection: more ranks never take more memory."""

    def fits(nodes: int) -> bool:
        ranks = nodes * per_node // layout.replica
        return ranks > 0 and _fits(job, model, replace(layout, data=ranks), gpu_gb, surely)

    most = _MOST_GPUS // per_node
    return bisect_left(range(1, most + 1), True, key=fits) + 1 if fits(most) else None


def _changes(job: Job, model: Model, layout: Layout, gpus_per_node: int, ways: Ways) -> Iterator[Change]:
    """Everything that can be turned on the same GPUs, alone and together."""
    finer = [each for each in ways.shardings if _FINER[each] > _FINER[job.sharding] and layout.shards > 1]
    shardings = (job.sharding, *finer)
    recomputes = _RECOMPUTES[_RECOMPUTES.index(job.recompute) :]
    gradients: tuple[Gradients, ...] = ("fp32", "bf16") if job.gradients == "fp32" else ("bf16",)
    layouts = (layout, *(_wider_tensor(model, layout, gpus_per_node) if ways.tensor else ()))
    for sharding, recompute, size, each, spread in product(
        shardings, recomputes, _halves(job.micro_batch), gradients, layouts
    ):
        passes = -(-job.micro_batch * job.accumulation * layout.data // (size * spread.data))
        changed = replace(
            job,
            sharding=sharding,
            recompute=recompute,
            micro_batch=size,
            gradients=each,
            accumulation=passes if (size, spread) != (job.micro_batch, layout) else job.accumulation,
        )
        changed = ways.applied(changed, spread)
        copies = replicates(changed.software)
        if spread == layout or spread.tensor in tensor_degrees(model, spread.tensor, replicated=copies):
            words, cost = _words(job, changed, layout, spread)
            yield Change(job=changed, layout=spread, words=words, cost=cost)


def _words(job: Job, changed: Job, layout: Layout, spread: Layout) -> tuple[tuple[str, ...], int]:
    words, cost = [], 0
    if changed.sharding != job.sharding:
        words.append(f"sharding {changed.sharding}")
        cost += _COST[changed.sharding]
    if changed.recompute != job.recompute:
        words.append(f"recompute {changed.recompute}")
        cost += _COST[changed.recompute]
    if changed.micro_batch != job.micro_batch:
        words.append(f"microBatch {changed.micro_batch} with accumulation {changed.accumulation}")
        cost += _COST["microBatch"] + job.micro_batch // changed.micro_batch // 4
    if changed.gradients != job.gradients:
        words.append(f"gradients {changed.gradients}")
        cost += _COST["gradients"]
    if spread != layout:
        words.append(f"parallelism.tensor {spread.tensor} with data {spread.data}")
        cost += _COST["tensor"] + spread.tensor // layout.tensor
    return tuple(words), cost


def _halves(size: int) -> tuple[int, ...]:
    """The micro-batch, half of it, and so on to 1."""
    return (size, *_halves(size // 2)) if size > 1 else (size,)


def _wider_tensor(model: Model, layout: Layout, gpus_per_node: int) -> Iterator[Layout]:
    """Layouts on the same GPUs with more tensor parallelism inside the node."""
    ranks = layout.data * layout.tensor
    for degree in tensor_degrees(model, gpus_per_node):
        if degree > layout.tensor and gpus_per_node % degree == 0 and ranks % degree == 0:
            yield replace(layout, tensor=degree, data=ranks // degree)
