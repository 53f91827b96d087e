"""Which layouts a model can have on a cluster, as plain questions that rules ask."""

from dataclasses import replace

from catalogue.calibration import Software
from catalogue.model_types import Model
from planner.training.job import Layout

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


def sequence_divides(layout: Layout, sequence: int) -> bool:
    """Whether the sequence divides among context ranks, which take two equal parts each for balance (Megatron Core)."""
    parts = 2 * layout.context if layout.context > 1 else 1
    return sequence % parts == 0
