"""Memory of one GPU in a training job, by part, and whether it fits."""

from dataclasses import dataclass

from catalogue.model_types import Model
from catalogue.units import BYTES_PER_GB
from planner.training.activations import activations
from planner.training.job import GATHERED, Job, Layout, Precision, Sharding

_WEIGHT_BYTES: dict[Precision, float] = {"bf16": 2, "fp8": 2 + 1 + 1}
"""FP8 training keeps bf16 weights and two FP8 copies, one of them transposed for Hopper's matrix units (Transformer
Engine documentation, "Performance considerations"): it saves time, not memory."""
_GRADIENT_BYTES = {"bf16": 2, "fp32": 4}
_OPTIMIZER_BYTES = 4 + 4 + 4
_LORA_WEIGHT_BYTES = 2
_NF4_BYTES = (4 + 0.127) / 8


@dataclass(frozen=True, kw_only=True)
class States:
    """Bytes of weights, gradients and optimizer states: per parameter, or of a rank."""

    weights: float
    gradients: float
    optimizer: float

    @property
    def total(self) -> float:
        """All three."""
        return self.weights + self.gradients + self.optimizer

    def __add__(self, other: "States") -> "States":
        return States(
            weights=self.weights + other.weights,
            gradients=self.gradients + other.gradients,
            optimizer=self.optimizer + other.optimizer,
        )


def bytes_per_parameter(job: Job) -> States:
    """States of one trained parameter with Adam: weight, gradient, fp32 master copy and two fp32 moments.

    Source: ZeRO (Rajbhandari et al. 2020), section 3: 16 bytes with bf16 gradients, 18 with fp32 ones.
    """
    return States(
        weights=_WEIGHT_BYTES[job.precision] if job.method == "full" else _LORA_WEIGHT_BYTES,
        gradients=_GRADIENT_BYTES[job.gradients],
        optimizer=_OPTIMIZER_BYTES,
    )


def sharded(states: States, sharding: Sharding, shards: int) -> States:
    """What one of `shards` data parallel ranks keeps.

    ZeRO-1 shares out the optimizer states, ZeRO-2 the gradients too, ZeRO-3 and FSDP the weights as well.
    """
    return States(
        weights=states.weights / (shards if sharding in GATHERED else 1),
        gradients=states.gradients / (shards if sharding in ("zero2", *GATHERED) else 1),
        optimizer=states.optimizer / (shards if sharding != "none" else 1),
    )


def largest_stage(model: Model, pipeline: int) -> float:
    """The part of the model that the fullest of `pipeline` stages holds, as layers are not cut."""
    return -(-model.layers // pipeline) / model.layers


def states_per_gpu(job: Job, model: Model, layout: Layout) -> States:
    """Bytes of weights, gradients and optimizer states on one GPU.

    Dense parameters are divided by tensor and pipeline parallelism, experts by expert parallelism too; ZeRO divides
    the rest. LoRA trains adapters beside frozen bf16 weights, QLoRA beside NF4 ones (Dettmers et al. 2023).
    """
    whole_stage = largest_stage(model, layout.pipeline)
    stage = whole_stage / layout.tensor
    experts = model.expert_parameters * whole_stage / layout.expert_parts
    dense = (model.parameters - model.expert_parameters) * stage
    if job.method == "full":
        return _share(dense, job, layout.shards) + _share(experts, job, layout.expert_shards)
    frozen = _frozen_bytes(job, model, dense, experts, stage)
    shards = layout.shards if job.sharding in GATHERED else 1
    adapters = _share(lora_parameters(model, job.lora_rank) * stage, job, layout.shards)
    return States(weights=frozen / shards, gradients=0, optimizer=0) + adapters


def weight_bytes(job: Job) -> float:
    """Bytes of one weight as it stands in a layer that is gathered for its computation."""
    if job.method == "qlora":
        return _NF4_BYTES
    return bytes_per_parameter(job).weights


def lora_parameters(model: Model, rank: int) -> int:
    """Parameters of adapters of `rank` on every linear layer: rank x (inputs + outputs) each."""
    experts = model.experts
    moe_layers = experts.layers if experts else 0
    width = experts.ffn * (experts.count + experts.shared) if experts else 0
    copies = experts.count + experts.shared if experts else 0
    attention = sum(inputs + outputs for inputs, outputs in _attention(model))
    dense = 3 * (model.hidden + model.ffn) * (model.layers - moe_layers)
    return rank * (attention * model.layers + dense + 3 * (model.hidden * copies + width) * moe_layers)


def _attention(model: Model) -> list[tuple[int, int]]:
    """Inputs and outputs of the linear layers of one attention block."""
    if (latent := model.latent) is None:
        queries, keys = model.heads * model.head_dim, model.kv_heads * model.head_dim
        return [(model.hidden, queries), (model.hidden, keys), (model.hidden, keys), (queries, model.hidden)]
    return [
        (model.hidden, latent.query_rank),
        (latent.query_rank, model.heads * (latent.nope_dim + latent.rope_dim)),
        (model.hidden, latent.kv_rank + latent.rope_dim),
        (latent.kv_rank, model.heads * (latent.nope_dim + latent.value_dim)),
        (model.heads * latent.value_dim, model.hidden),
    ]


def _frozen_bytes(job: Job, model: Model, dense: float, experts: float, stage: float) -> float:
    """Frozen weights on one GPU before FSDP. QLoRA leaves embeddings in bf16."""
    if job.method == "lora":
        return (dense + experts) * _LORA_WEIGHT_BYTES
    embeddings = model.embedding_parameters * stage
    return (dense - embeddings + experts) * _NF4_BYTES + embeddings * _LORA_WEIGHT_BYTES


def _share(parameters: float, job: Job, shards: int) -> States:
    each = sharded(bytes_per_parameter(job), job.sharding, shards)
    return States(
        weights=parameters * each.weights,
        gradients=parameters * each.gradients,
        optimizer=parameters * each.optimizer,
    )


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
    if job.sharding not in GATHERED or layout.shards == 1:
        return 0.0
    dense = model.parameters - model.expert_parameters - model.embedding_parameters
    experts = model.expert_parameters / layout.expert_parts if layout.expert_shards > 1 else 0.0
    layer = (dense / layout.tensor + experts) / model.layers
    gradients = bytes_per_parameter(job).gradients if job.method == "full" else 0.0
    if layout.pipeline > 1 and which:
        return layer * model.layers / layout.pipeline * (weight_bytes(job) + gradients)
    embedding = model.vocab * model.hidden / layout.tensor * (weight_bytes(job) + gradients)
    return layer * (_GATHERED_LAYERS[which] * weight_bytes(job) + gradients) + (embedding if which else 0.0)
