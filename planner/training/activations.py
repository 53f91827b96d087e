"""Bytes of activations that a training step keeps for its backward pass, as today's software does.

Operation by operation: what a fused kernel does not write is not counted, and selective recomputation drops what each
family computes again. Published peaks win over the factor of 34 of Korthikanti et al. 2022 (corrections T3.5, T3.7),
which is that of a GELU layer with dropout and is met here by such layers.
"""

from dataclasses import dataclass

from catalogue.model_types import Model
from planner.training.job import Job, Layout

_BYTES = 2
_LEAST_KEPT = 0.6
"""Part of all inputs that selective recomputation keeps at the least: norms, gates and products computed again."""
_SCORES = 5
_LOGIT_BYTES = {"megatron": (4, 6, 8), "fsdp": (6, 12, 12), "deepspeed": (6, 12, 12), "automodel": (4, 8, 12)}
"""Bytes of a logit, least, likely and most: bf16 output and fp32 loss, with its gradient where loss is not fused."""


@dataclass(frozen=True, kw_only=True)
class Activations:
    """Bytes on the fullest GPU: what is likely, and the least and the most that the same settings take in practice."""

    likely: float
    least: float
    most: float


def activations(job: Job, model: Model, layout: Layout) -> Activations:
    """Bytes of activations on the fullest GPU.

    The first pipeline stage holds micro-batches that are under way in all stages (one forward, one backward; with
    virtual stages a little more), the last one holds one and the output layer's logits.
    """
    least, likely, most = (_fullest(job, model, layout, which) for which in range(3))
    return Activations(likely=likely, least=min(least, likely), most=max(most, likely))


def _fullest(job: Job, model: Model, layout: Layout, which: int) -> float:
    layers = -(-model.layers // layout.pipeline)
    stages, virtual = layout.pipeline, layout.virtual_stages
    more = (stages - 1) / (stages * virtual) if virtual > 1 else 0.0
    in_flight = min(stages * (1 + more), job.accumulation)
    one = layers * kept_per_layer(job, model, layout, which)
    scores = _scores(job, model, layout)
    again = {"full": _everything(model) + scores, "selective": scores, "none": 0.0}
    working = kept_of(job, layout, again[job.recompute])
    output = output_bytes(job, model, layout, which)
    if stages == 1:
        return one + max(working, output)
    return max(in_flight * one + working, one + working + output)


def kept_per_layer(job: Job, model: Model, layout: Layout, which: int = 1) -> float:
    """Bytes that one layer keeps of one micro-batch: least (0), likely (1) or most (2).

    full: the layer's input alone, of which each tensor rank has its part of the sequence; least keeps the input of
    every second layer. selective: Megatron drops the scores and what it can fuse, FSDP keeps every second matrix
    product; none keeps everything, with scores where attention is not fused, and at the least what the backward pass
    cannot have again from its neighbours element by element (PyTorch's compiler recomputes such operations; Llama 3,
    section 3.3.2, releases tensors early, and trained 405B with 8,192 tokens in 80 GB so).
    """
    if job.recompute == "full":
        return kept_of(job, layout, _BYTES * model.hidden) * (0.5 if which == 0 else 1.0)
    everything = _everything(model)
    if job.recompute == "none":
        return kept_of(job, layout, _everything(model, lean=which == 0) + _scores(job, model, layout))
    operations = _every_second_product(model)
    least = min(operations, _LEAST_KEPT * everything)
    if job.software == "megatron":
        return kept_of(job, layout, (least, everything, everything)[which])
    return kept_of(job, layout, (least, operations, (operations + everything) / 2)[which])


def _scores(job: Job, model: Model, layout: Layout) -> float:
    """Bytes a token of attention's scores, their mask and product, which only attention that is not fused writes."""
    return 0.0 if job.fused_attention else _SCORES * model.heads * job.sequence / layout.context


def kept_of(job: Job, layout: Layout, bytes_per_token: float) -> float:
    """So many bytes of each token of a micro-batch, of which tensor and context ranks have their parts."""
    return bytes_per_token * job.micro_batch * job.sequence / layout.context / layout.tensor


def output_bytes(job: Job, model: Model, layout: Layout, which: int = 1) -> float:
    """Bytes of the logits and of the last norm's and output layer's inputs."""
    each = 2 * _BYTES * model.hidden + _LOGIT_BYTES[job.software][which] * model.vocab
    return kept_of(job, layout, each)


def _everything(model: Model, *, lean: bool = False) -> float:
    """Bytes a token and layer of all inputs of operations, with fused attention; the mean of layers of both kinds.

    `lean` leaves out the outputs of norms and the product of gate and up.
    """
    normed = (1 if lean else 2) * model.hidden
    attention = _BYTES * (normed + sum(_attention_widths(model)))
    dense = attention + _feed_forward(model, normed, lean=lean)
    if (experts := model.experts) is None:
        return dense
    each = _BYTES * (model.hidden + (2 if lean else 3) * experts.ffn)
    mixture = attention + _BYTES * normed + (experts.active + experts.shared) * each
    return (mixture * experts.layers + dense * (model.layers - experts.layers)) / model.layers


def _feed_forward(model: Model, normed: int, *, lean: bool) -> float:
    """Residual and norm, then gate, up and their product; without a gate up and GELU, with dropout's masks."""
    inner = ((3 if model.gated else 2) - lean) * model.ffn
    return _BYTES * (normed + inner) + (0 if model.gated else 2 * model.hidden)


def _attention_widths(model: Model) -> tuple[float, float, float]:
    """Queries, keys with values, and the attention's output, in units of a token."""
    if latent := model.latent:
        queries = model.heads * (latent.nope_dim + latent.rope_dim)
        return queries, queries + model.heads * latent.value_dim, model.heads * latent.value_dim
    width = model.heads * model.head_dim
    return width, 2 * model.kv_heads * model.head_dim, width


def _every_second_product(model: Model) -> float:
    """Bytes a token and layer where every second matrix product is computed again, as torchtitan does it.

    Kept are the layer's input, keys, the attention's output and its projection, and one of gate and up. Source:
    pytorch/torchtitan, torchtitan/models/llama3/infra/parallelize.py, selective activation checkpointing by operation.
    """
    _, keys, out = _attention_widths(model)
    dense = _BYTES * (2 * model.hidden + keys / 2 + out + model.ffn)
    if (experts := model.experts) is None:
        return dense
    chosen = experts.active + experts.shared
    mixture = _BYTES * (2 * model.hidden + keys / 2 + out + chosen * (model.hidden + experts.ffn))
    return (mixture * experts.layers + dense * (model.layers - experts.layers)) / model.layers
