"""A training job as memory and speed depend on it, and which layouts over GPUs a model can have."""

from dataclasses import dataclass, replace
from typing import Literal

from catalogue.calibration import Software
from catalogue.model_types import Model

Method = Literal["full", "lora", "qlora"]
Precision = Literal["bf16", "fp8"]
Gradients = Literal["bf16", "fp32"]
Sharding = Literal["none", "zero1", "zero2", "zero3", "fsdp"]
Recompute = Literal["none", "selective", "full"]
GATHERED: tuple[Sharding, ...] = ("zero3", "fsdp")
"""Weights are shared out too, and put together for each layer's computation."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """How a model is trained. `micro_batch` sequences of `sequence` tokens pass a replica at a time.

    `accumulation` such passes make a step of the optimizer. `lora_rank` is the adapters' (64 in the QLoRA paper).
    `software` is the family that trains: it decides what is hidden, kept and computed again. `compiled` says that
    torch.compile joins its kernels, `fused_attention` that scores stay within one.
    """

    method: Method = "full"
    precision: Precision = "bf16"
    gradients: Gradients = "bf16"
    sharding: Sharding = "fsdp"
    recompute: Recompute = "selective"
    micro_batch: int = 1
    accumulation: int = 1
    sequence: int = 8192
    lora_rank: int = 64
    software: Software = "megatron"
    compiled: bool = False
    fused_attention: bool = True


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Degrees of parallelism. Expert parallelism takes its ranks from those of data and context parallelism, or, where
    they are too few, from tensor parallelism too: its groups then span tensor ranks, and experts stay whole.

    `virtual_stages` are the parts of a device's layers that interleaved 1F1B gives it (1: none).
    """

    tensor: int = 1
    pipeline: int = 1
    context: int = 1
    expert: int = 1
    data: int = 1
    virtual_stages: int = 1

    @property
    def replica(self) -> int:
        """GPUs that hold one copy of the model and work on one micro-batch."""
        return self.tensor * self.pipeline * self.context

    @property
    def world(self) -> int:
        """GPUs of the whole job (Megatron Core: world = TP x PP x CP x DP)."""
        return self.replica * self.data

    @property
    def shards(self) -> int:
        """Ranks with the same dense weights, over which ZeRO and FSDP share them out: data and context ranks."""
        return self.data * self.context

    @property
    def expert_shards(self) -> int:
        """Ranks with the same experts. Not below one, so that a layout that does not divide has numbers too."""
        return max(1, self.shards * (self.tensor if self.spans_tensor else 1) // self.expert)

    @property
    def spans_tensor(self) -> bool:
        """Whether expert groups take tensor ranks in, each with whole experts (Megatron Core: expert tensor size 1)."""
        return self.shards % self.expert != 0 and self.shards * self.tensor % self.expert == 0

    @property
    def expert_parts(self) -> int:
        """GPUs of a pipeline stage among which one copy of the experts is divided."""
        return self.expert * (1 if self.spans_tensor else self.tensor)


def global_batch(job: Job, layout: Layout) -> int:
    """Sequences of one step: micro-batch x data parallel ranks x accumulation. Tensor ranks share a micro-batch."""
    return job.micro_batch * layout.data * job.accumulation


def tokens_per_step(job: Job, layout: Layout) -> int:
    """Tokens of one step of the optimizer."""
    return global_batch(job, layout) * job.sequence


_LARGEST_BOARD = 8
"""GPUs of the largest HGX baseboard."""


def layout_on(gpus: int, layout: Layout, data: int | None) -> Layout:
    """The layout on so many GPUs: `data` as given, or what the other degrees leave of the GPUs, at least one."""
    return replace(layout, data=data or max(1, gpus // layout.replica))


def covers(layout: Layout, gpus: int) -> bool:
    """Whether the degrees multiply up to the GPUs there are."""
    return layout.world == gpus


def tensor_degrees(model: Model, most: int, *, replicated: bool = True) -> tuple[int, ...]:
    """Tensor parallel degrees up to `most` that give each GPU whole heads and whole KV heads.

    Beyond the KV heads a multiple of them is a degree too where the software gives several GPUs a copy of each:
    vLLM (vllm/model_executor/models/llama.py, LlamaAttention) and Megatron (megatron/core/transformer/attention.py,
    `num_query_groups` below the tensor size). Latent attention has one latent vector for all heads, which every GPU
    holds, so its KV heads do not count.
    """
    heads = model.heads
    kv_heads = heads if model.latent else model.kv_heads
    return tuple(
        size
        for size in range(1, most + 1)
        if heads % size == 0 and (kv_heads % size == 0 or (replicated and size % kv_heads == 0))
    )


def software_of(named: Software | None, sharding: Sharding, layout: Layout) -> Software:
    """The family that a run names, or that its settings are typical of.

    Pipelines, context ranks and ZeRO-1 are Megatron's; FSDP with expert parallelism is AutoModel's, FSDP alone
    PyTorch's.
    """
    if named is not None:
        return named
    if sharding not in GATHERED or layout.pipeline > 1 or layout.context > 1:
        return "megatron"
    if sharding == "zero3":
        return "deepspeed"
    return "automodel" if layout.expert > 1 else "fsdp"


def replicates(software: Software) -> bool:
    """Whether software that trains gives several tensor ranks a copy of a KV head."""
    return software == "megatron"


def kv_heads_of_rank(model: Model, tensor: int) -> float:
    """KV heads that a tensor rank holds: its part of them, and one at least, which others hold as well."""
    return max(1.0, model.kv_heads / tensor)


def tensor_reach(gpus_per_node: int, nvlink_gpus: int) -> int:
    """GPUs that a tensor parallel group can take: those of its node, or of the rack where NVLink joins nodes (NVL72).

    A board of eight that is let in parts (one GPU of eight) joins no more than the part.
    """
    return nvlink_gpus if nvlink_gpus > _LARGEST_BOARD else gpus_per_node


def within_nvlink(tensor: int, gpus_per_node: int, nvlink_gpus: int) -> bool:
    """Whether a tensor parallel group stays where NVLink reaches: in its node, or in an NVLink domain of several."""
    reach = tensor_reach(gpus_per_node, nvlink_gpus)
    return tensor <= reach and reach % tensor == 0


def expert_degrees(model: Model, layout: Layout) -> tuple[int, ...]:
    """Expert parallel degrees: they divide the experts, and the ranks of a pipeline stage they come from.

    Source: Megatron Core user guide, "MoE": with an expert tensor size of 1, tensor ranks are part of expert groups.
    """
    count = model.experts.count if model.experts else 1
    ranks = layout.shards * layout.tensor
    return tuple(size for size in range(1, count + 1) if count % size == 0 and ranks % size == 0)


ENDS = 2
"""What Megatron can count as a layer each beside the layers: the embedding before them, the output behind them."""


def parts_of(layout: Layout) -> int:
    """Pieces in which the layers are dealt out: stages, or where they interleave the parts of all of them."""
    return layout.pipeline * layout.virtual_stages


def divides_layers(layers: int, parts: int) -> bool:
    """Whether Megatron can give all parts as many layers, embedding and output counted as layers where it takes that.

    The fullest stage then has ceil(layers / stages) of them, which memory and time are counted with: where the ends
    count as layers, only the first and the last part have one less.
    """
    return layers % parts == 0 or ends_as_layers(layers, parts)


def ends_as_layers(layers: int, parts: int) -> bool:
    """Whether layers are the same number in all parts only with the embedding and the output as a layer each.

    Source: Megatron Core, megatron/core/transformer/transformer_block.py, get_num_layers_to_build.
    """
    return layers % parts != 0 and (layers + ENDS) % parts == 0


def stage_layers(layers: int, layout: Layout) -> tuple[int, int]:
    """Layers of the fullest stage, and of the last one: where they do not divide, what the others leave it."""
    if ends_as_layers(layers, parts_of(layout)):
        fullest = -(-(layers + ENDS) // layout.pipeline)
        return fullest, fullest - 1
    fullest = -(-layers // layout.pipeline)
    return fullest, max(0, layers - fullest * (layout.pipeline - 1))


def sequence_divides(layout: Layout, sequence: int) -> bool:
    """Whether the sequence divides among context ranks, which take two equal parts each for balance (Megatron Core)."""
    parts = 2 * layout.context if layout.context > 1 else 1
    return sequence % parts == 0
