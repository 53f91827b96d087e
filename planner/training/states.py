"""Bytes of weights, gradients and optimizer states, and what each data parallel rank keeps of them."""

from dataclasses import dataclass

from catalogue.model_types import Model
from planner.training.job import Job, Layout, Precision, Sharding

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
        weights=states.weights / (shards if sharding in ("zero3", "fsdp") else 1),
        gradients=states.gradients / (shards if sharding in ("zero2", "zero3", "fsdp") else 1),
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
        return _sum(
            _share(dense, job, layout.shards),
            _share(experts, job, layout.expert_shards),
        )
    frozen = _frozen_bytes(job, model, dense, experts, stage)
    shards = layout.shards if job.sharding in ("zero3", "fsdp") else 1
    adapters = _share(lora_parameters(model, job.lora_rank) * stage, job, layout.shards)
    return _sum(States(weights=frozen / shards, gradients=0, optimizer=0), adapters)


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


def _sum(one: States, other: States) -> States:
    return States(
        weights=one.weights + other.weights,
        gradients=one.gradients + other.gradients,
        optimizer=one.optimizer + other.optimizer,
    )
