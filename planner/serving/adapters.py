"""LoRA adapters beside a model: the ranks that vLLM has room for, and the memory that the room takes."""

from collections.abc import Iterable
from dataclasses import dataclass

from catalogue.model_types import Model
from catalogue.units import BYTES_PER_GB

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What --max-lora-rank takes. Source: vLLM 0.29.0, vllm/config/lora.py, MaxLoRARanks."""

_BYTES = 2


@dataclass(frozen=True, kw_only=True)
class AdapterPlan:
    """An adapter as a service offers it: by `name`, copied from `weights` within `copy_seconds` where it is copied,
    with the digest of their SHA256SUMS if somebody said it.
    """

    name: str
    weights: str
    weights_sha256: str | None
    rank: int
    copy_seconds: int


@dataclass(frozen=True, kw_only=True)
class LoraRoom:
    """What vLLM sets aside for adapters: `adapters` of one batch of a rank up to `rank`, in decimal GB of all GPUs."""

    adapters: int
    rank: int
    gb: float


NO_ADAPTERS = LoraRoom(adapters=0, rank=0, gb=0.0)


def room_for(model: Model, tensor: int, ranks: Iterable[int], at_once: int | None) -> LoraRoom:
    """The room for adapters of these ranks, `at_once` of them in a batch (None: all), on `tensor` GPUs.

    The smallest rank that vLLM takes and every adapter fits in; its largest where none is enough.
    """
    wanted = list(ranks)
    if not wanted:
        return NO_ADAPTERS
    rank = next((each for each in RANKS if each >= max(wanted)), RANKS[-1])
    adapters = len(wanted) if at_once is None else at_once
    size = _BYTES * adapters * rank * tensor * elements_per_rank(model, tensor) / BYTES_PER_GB
    return LoraRoom(adapters=adapters, rank=rank, gb=size)


def elements_per_rank(model: Model, tensor: int) -> float:
    """Elements that one adapter takes on each of `tensor` GPUs for each of its ranks.

    vLLM allocates both factors of every linear layer, used or not: the one with the rank before it whole for the
    column parallel layers and in parts for the row parallel ones, the other the other way round; embedding and output
    layer whole (vLLM 0.29.0, vllm/lora/layers: column_parallel_linear.py, base_linear.py, fused_moe.py,
    vocab_parallel_embedding.py, logits_processor.py; fully_sharded_loras is off).
    """
    experts = model.experts
    dense = model.layers - (experts.layers if experts else 0)
    per_layer = model.layers * _attention(model, tensor) + dense * _feed_forward(model.hidden, model.ffn, tensor)
    if experts:
        routed = experts.layers * (experts.count + experts.shared)
        per_layer += routed * _feed_forward(model.hidden, experts.ffn, tensor)
    return per_layer + 2 * (model.vocab + model.hidden)


def _attention(model: Model, tensor: int) -> float:
    if latent := model.latent:
        into = 2 * model.hidden + latent.query_rank + latent.kv_rank + latent.rope_dim
        heads = model.heads * (2 * latent.nope_dim + latent.rope_dim + 2 * latent.value_dim) / tensor
        return into + latent.query_rank + latent.kv_rank + heads + model.hidden
    queries, keys = model.heads * model.head_dim, model.kv_heads * model.head_dim
    return 3 * model.hidden + (queries + 2 * keys) / tensor + queries / tensor + model.hidden


def _feed_forward(hidden: int, ffn: int, tensor: int) -> float:
    return 2 * hidden + 2 * ffn / tensor + ffn / tensor + hidden
