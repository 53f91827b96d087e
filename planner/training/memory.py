"""Memory of one GPU in a training job, by part, and whether it fits."""

from dataclasses import dataclass

from catalogue.model_types import Model
from catalogue.units import BYTES_PER_GB
from planner.training.activations import activation_bytes
from planner.training.job import Job, Layout
from planner.training.states import bytes_per_parameter, states_per_gpu, weight_bytes

_RESERVE = 0.075
_BUFFERS_GB = 2.0
_GATHERED_LAYERS = 2


@dataclass(frozen=True, kw_only=True)
class TrainingMemory:
    """Decimal GB on the fullest GPU of a job.

    `gathered` are the layers that ZeRO-3 and FSDP put together while they compute, `buffers` NCCL's, `reserve` what
    the CUDA context and the allocator's gaps take (5 to 10 % of the GPU in practice; 7.5 % are counted).
    """

    weights_gb: float
    gradients_gb: float
    optimizer_gb: float
    gathered_gb: float
    activations_gb: float
    buffers_gb: float
    reserve_gb: float
    gpu_gb: float

    @property
    def states_gb(self) -> float:
        """Weights, gradients and optimizer states."""
        return self.weights_gb + self.gradients_gb + self.optimizer_gb

    @property
    def total_gb(self) -> float:
        """Everything."""
        return self.states_gb + self.gathered_gb + self.activations_gb + self.buffers_gb + self.reserve_gb

    @property
    def fits(self) -> bool:
        """Whether the GPU holds everything."""
        return self.total_gb <= self.gpu_gb


def training_memory(job: Job, model: Model, layout: Layout, gpu_gb: float) -> TrainingMemory:
    """Memory of the fullest GPU. Raises nothing for a layout that does not divide; it is counted as if it did."""
    states = states_per_gpu(job, model, layout)
    return TrainingMemory(
        weights_gb=states.weights / BYTES_PER_GB,
        gradients_gb=states.gradients / BYTES_PER_GB,
        optimizer_gb=states.optimizer / BYTES_PER_GB,
        gathered_gb=_gathered_bytes(job, model, layout) / BYTES_PER_GB,
        activations_gb=activation_bytes(job, model, layout) / BYTES_PER_GB,
        buffers_gb=_BUFFERS_GB if layout.world > 1 else 0.0,
        reserve_gb=_RESERVE * gpu_gb,
        gpu_gb=gpu_gb,
    )


def _gathered_bytes(job: Job, model: Model, layout: Layout) -> float:
    """Two layers' whole weights, the computed one and the next, and one layer's gradients before they are shared out.

    Source: PyTorch documentation, fully_shard: a layer's parameters are gathered before it runs and freed after, and
    the next one's are prefetched.
    """
    if job.sharding not in ("zero3", "fsdp") or layout.shards == 1:
        return 0.0
    dense = model.parameters - model.expert_parameters - model.embedding_parameters
    layer = (dense + model.expert_parameters / layout.expert) / model.layers / layout.tensor
    gradients = bytes_per_parameter(job).gradients if job.method == "full" else 0.0
    return layer * (_GATHERED_LAYERS * weight_bytes(job) + gradients)
