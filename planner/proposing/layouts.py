"""The fastest layout of a model on so many GPUs: every one of a space of degrees, in the order of what can be best.

A layout's GPUs cannot be faster than their own computing, so that layouts are timed in the order of that bound until
the best one timed beats every bound left: nothing of the space is missed (a test tries all of it). What computes all
again is slower than its twin that does not, and is timed only where that does not fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from catalogue.calibration import Software, calibration
from catalogue.model_types import Model
from catalogue.types import Gpu
from planner.communication.group import Cluster
from planner.kernels import forward_pass
from planner.proposing.question import STEP_SEQUENCES
from planner.step import StepTime, step_time
from planner.training.job import Job, Layout, Precision, Recompute, Sharding, replicates, tensor_degrees
from planner.training.memory import training_memory

_MORE_GPUS = 0.99
"""A layout's GPUs are no faster among more of them: steps are shorter, exchanges are not. A hundredth is left for
numbers of micro-batches that do not divide."""

_ENDLESS = 2**20

_PIPELINES = (1, 2, 4, 8, 16)
_EXPERTS = (1, 8, 16, 32, 64)
_MICRO_BATCHES = (1, 2, 4)
_RECOMPUTE: tuple[Recompute, ...] = ("selective", "full")
_SOFTWARE: tuple[tuple[Software, Sharding], ...] = (("megatron", "zero1"), ("fsdp", "fsdp"), ("automodel", "fsdp"))


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How a model can be trained, whatever the number of nodes; `gpu_s_per_token` is computing alone."""

    job: Job
    layout: Layout
    gpu_s_per_token: float


@dataclass(frozen=True, kw_only=True)
class Timed:
    """A layout on so many GPUs, and its step."""

    job: Job
    layout: Layout
    step: StepTime


def shapes(model: Model, gpu: Gpu, per_node: int, sequence: int) -> list[Shape]:
    """Every layout of the space on such GPUs, the quickest bound first. Tensor parallelism stays in a node."""
    return sorted(_shapes(model, gpu, per_node, sequence), key=lambda each: each.gpu_s_per_token)


def _shapes(model: Model, gpu: Gpu, per_node: int, sequence: int) -> Iterator[Shape]:
    precisions: tuple[Precision, ...] = ("bf16", "fp8") if gpu.fp8_tflops else ("bf16",)
    for software, sharding in _SOFTWARE:
        for precision in precisions:
            for layout in _degrees(model, per_node, software):
                for micro in _MICRO_BATCHES:
                    for recompute in _RECOMPUTE:
                        job = Job(
                            software=software,
                            sharding=sharding,
                            precision=precision,
                            micro_batch=micro,
                            recompute=recompute,
                            sequence=sequence,
                        )
                        one = forward_pass(model, job, layout, gpu)
                        again = calibration(software, gpu, precision).again(recompute)
                        took = one.forward_s + one.backward_s(full=True, again=again)
                        yield Shape(job=job, layout=layout, gpu_s_per_token=took * layout.replica / (micro * sequence))


def _degrees(model: Model, per_node: int, software: Software) -> Iterator[Layout]:
    """Degrees without data parallelism. FSDP has no pipelines here; AutoModel is FSDP with experts apart."""
    experts = [each for each in _EXPERTS if model.experts and model.experts.count % each == 0] or [1]
    if software == "megatron":
        for tensor in tensor_degrees(model, per_node, replicated=replicates(software)):
            for pipeline in _PIPELINES:
                if per_node % tensor == 0 and pipeline <= model.layers:
                    yield from (Layout(tensor=tensor, pipeline=pipeline, expert=expert) for expert in experts)
    elif (software == "automodel") is (model.experts is not None):
        yield from (Layout(expert=expert) for expert in experts)


def on(shape: Shape, gpus: int) -> tuple[Job, Layout] | None:
    """The shape with as many data parallel ranks as there are GPUs for, in steps of STEP_SEQUENCES sequences or more;
    None where the GPUs do not divide.
    """
    data, left = divmod(gpus, shape.layout.replica)
    if left or data * shape.layout.tensor % shape.layout.expert:
        return None
    layout = replace(shape.layout, data=data)
    passes = max(1, STEP_SEQUENCES // (shape.job.micro_batch * layout.data))
    return replace(shape.job, accumulation=passes), layout


class Space:
    """The layouts of a model on one kind of node. Ask for more and more GPUs: what one did with fewer bounds it."""

    def __init__(self, found: list[Shape], model: Model, cluster: Cluster) -> None:
        self._model, self._cluster = model, cluster
        self._shapes = [each for each in found if self._may_fit(each)]
        self._bounds = [each.gpu_s_per_token for each in self._shapes]

    def _may_fit(self, shape: Shape) -> bool:
        """Whether it fits where endless data parallel ranks share what they can share."""
        layout = replace(shape.layout, data=_ENDLESS)
        return training_memory(shape.job, self._model, layout, self._cluster.gpu.driver_gb).fits_surely

    def fastest(self, gpus: int) -> Timed | None:
        """The layout with the most tokens a second among those that surely fit the memory; None where none does."""
        best: Timed | None = None
        kept: set[tuple[object, ...]] = set()
        for index in sorted(range(len(self._shapes)), key=self._bounds.__getitem__):
            if best is not None and gpus / self._bounds[index] <= best.step.tokens_per_s:
                break
            shape = self._shapes[index]
            twin = (shape.job.software, shape.job.precision, shape.job.micro_batch, shape.layout)
            if twin in kept or (found := timed(shape, self._model, self._cluster, gpus)) is None:
                continue
            if shape.job.recompute == "selective":
                kept.add(twin)
            rate = found.step.tokens_per_s
            self._bounds[index] = max(self._bounds[index], _MORE_GPUS * gpus / rate)
            if best is None or rate > best.step.tokens_per_s:
                best = found
        return best


def timed(shape: Shape, model: Model, cluster: Cluster, gpus: int) -> Timed | None:
    """The shape's step on so many GPUs; None where it does not divide them or may not fit."""
    placed = on(shape, gpus)
    if placed is None:
        return None
    job, layout = placed
    if not training_memory(job, model, layout, cluster.gpu.driver_gb).fits_surely:
        return None
    return Timed(job=job, layout=layout, step=step_time(model, job, layout, cluster))
