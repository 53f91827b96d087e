"""Memory of one GPU in a training job, by part, and whether it fits."""

from dataclasses import dataclass

from catalogue.model_types import Model
from catalogue.units import BYTES_PER_GB
from planner.training.activations import activations
from planner.training.job import Job, Layout
from planner.training.states import bytes_per_parameter, states_per_gpu, weight_bytes

_CONTEXT_GB = (0.8, 1.5, 2.0)
_NCCL_GB = (0.5, 1.5, 3.0)
_GAPS = (0.0, 0.03, 0.08)
"""CUDA's context and libraries, NCCL's buffers, and the part of the rest that the allocator's gaps take: least, likely,
most (assumed; PyTorch's expandable segments leave next to no gaps)."""
_GATHERED_LAYERS = (1, 2, 3)


@dataclass(frozen=True, kw_only=True)
class TrainingMemory:
    """Decimal GB on the fullest GPU of a job: what is likely by part, and `least_gb` and `most_gb` in practice.

    `gathered` are the layers that ZeRO-3 and FSDP put together while they compute, `buffers` NCCL's, `reserve` what
    the CUDA context and the allocator's gaps take. `gpu_gb` is what the driver reports.
    """

    weights_gb: float
    gradients_gb: float
    optimizer_gb: float
    gathered_gb: float
    activations_gb: float
    buffers_gb: float
    reserve_gb: float
    gpu_gb: float
    least_gb: float
    most_gb: float

    @property
    def states_gb(self) -> float:
        """Weights, gradients and optimizer states."""
        return self.weights_gb + self.gradients_gb + self.optimizer_gb

    @property
    def total_gb(self) -> float:
        """Everything, as is likely."""
        return self.states_gb + self.gathered_gb + self.activations_gb + self.buffers_gb + self.reserve_gb

    @property
    def fits(self) -> bool:
        """Whether the GPU can hold everything: a run that does not fit at its least is refused."""
        return self.least_gb <= self.gpu_gb

    @property
    def fits_surely(self) -> bool:
        """Whether the GPU holds everything even at the most that such a run takes."""
        return self.most_gb <= self.gpu_gb


def training_memory(job: Job, model: Model, layout: Layout, gpu_gb: float) -> TrainingMemory:
    """Memory of the fullest GPU. Raises nothing for a layout that does not divide; it is counted as if it did.

    The least counts FP8 weights without a 16-bit copy, which some software keeps.
    """
    states = states_per_gpu(job, model, layout)
    kept = activations(job, model, layout)
    whole = states.total / BYTES_PER_GB
    spared = states.weights / 2 / BYTES_PER_GB if job.precision == "fp8" and job.method == "full" else 0.0
    wide = layout.world > 1

    def total(which: int, kept_bytes: float) -> float:
        gathered = _gathered_bytes(job, model, layout, which) / BYTES_PER_GB
        used = whole + gathered + kept_bytes / BYTES_PER_GB
        return used * (1 + _GAPS[which]) + _CONTEXT_GB[which] + (_NCCL_GB[which] if wide else 0.0)

    gathered_gb, kept_gb = _gathered_bytes(job, model, layout, 1) / BYTES_PER_GB, kept.likely / BYTES_PER_GB
    return TrainingMemory(
        weights_gb=states.weights / BYTES_PER_GB,
        gradients_gb=states.gradients / BYTES_PER_GB,
        optimizer_gb=states.optimizer / BYTES_PER_GB,
        gathered_gb=gathered_gb,
        activations_gb=kept_gb,
        buffers_gb=_NCCL_GB[1] if wide else 0.0,
        reserve_gb=_CONTEXT_GB[1] + _GAPS[1] * (whole + gathered_gb + kept_gb),
        gpu_gb=gpu_gb,
        least_gb=total(0, kept.least) - spared,
        most_gb=total(2, kept.most),
    )


def _gathered_bytes(job: Job, model: Model, layout: Layout, which: int) -> float:
    """Two layers' whole weights, the computed one and the next, one layer's gradients before they are shared out, and
    the embedding or the output layer. Experts are gathered among those GPUs that hold the same ones. Pipeline stages
    keep all their layers together from micro-batch to micro-batch, gradients too, but at the least.

    Sources: PyTorch documentation, fully_shard: a layer's parameters are gathered before it runs and freed after, and
    the next one's are prefetched; torchtitan, `reshard_after_forward: default` is never with pipelines.
    """
    if job.sharding not in ("zero3", "fsdp") or layout.shards == 1:
        return 0.0
    dense = model.parameters - model.expert_parameters - model.embedding_parameters
    experts = model.expert_parameters / layout.expert_parts if layout.expert_shards > 1 else 0.0
    layer = (dense / layout.tensor + experts) / model.layers
    gradients = bytes_per_parameter(job).gradients if job.method == "full" else 0.0
    if layout.pipeline > 1 and which:
        return layer * model.layers / layout.pipeline * (weight_bytes(job) + gradients)
    embedding = model.vocab * model.hidden / layout.tensor * (weight_bytes(job) + gradients)
    return layer * (_GATHERED_LAYERS[which] * weight_bytes(job) + gradients) + (embedding if which else 0.0)
