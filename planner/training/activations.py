"""Bytes of activations that a training step keeps for its backward pass.

Source: Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models", with sequence
parallelism beside tensor parallelism. Its factors are for a GELU layer of 4 x hidden, which a SwiGLU layer of 3.5 x
hidden with grouped-query attention meets within 2 %.
"""

from catalogue.model_types import Model
from planner.training.job import Job, Layout

_LAYER = 34
_OF_IT_FEED_FORWARD = 19
_SCORES = 5
_BOUNDARY_BYTES = 2
_OUTPUT = 4
_EXPERT_INPUT_BYTES = 2
_EXPERT_INNER_BYTES = 3 * 2


def activation_bytes(job: Job, model: Model, layout: Layout) -> float:
    """Bytes of activations on the fullest GPU.

    The first pipeline stage holds as many micro-batches as there are stages (one forward, one backward), the last one
    holds one and the output layer's logits in fp32.
    """
    layers = -(-model.layers // layout.pipeline)
    in_flight = min(layout.pipeline, job.accumulation)
    kept = layers * kept_per_layer(job, model, layout) + _working(job, model, layout)
    first = kept + (in_flight - 1) * layers * kept_per_layer(job, model, layout)
    last = kept + output_bytes(job, model, layout)
    return max(first, last) if layout.pipeline > 1 else last


def kept_per_layer(job: Job, model: Model, layout: Layout) -> float:
    """Bytes that one layer keeps of one micro-batch, by what is computed again in the backward pass.

    none: s*b*h*(34 + 5*a*s/h)/t; selective, which drops the attention scores (as FlashAttention does): 34*s*b*h/t;
    full: 2*s*b*h, the layer's input alone. `s` is a context rank's part of the sequence.
    """
    block = _block(job, model, layout)
    if job.recompute == "full":
        return _BOUNDARY_BYTES * block
    factor = _layer_factor(model)
    if job.recompute == "none":
        factor += _scores_factor(job, model)
    return factor * block / layout.tensor


def output_bytes(job: Job, model: Model, layout: Layout) -> float:
    """Bytes of the last norm, the output layer's input and the fp32 logits: 4*s*b*h*(1 + v/h)/t."""
    return _OUTPUT * _block(job, model, layout) * (1 + model.vocab / model.hidden) / layout.tensor


def _block(job: Job, model: Model, layout: Layout) -> float:
    """s*b*h of one context rank."""
    return job.sequence / layout.context * job.micro_batch * model.hidden


def _scores_factor(job: Job, model: Model) -> float:
    return _SCORES * model.heads * job.sequence / model.hidden


def _layer_factor(model: Model) -> float:
    """34, or with experts what their inputs and inner products take in place of the dense feed-forward part."""
    if (experts := model.experts) is None:
        return _LAYER
    each = _EXPERT_INPUT_BYTES + _EXPERT_INNER_BYTES * experts.ffn / model.hidden
    mixture = _LAYER - _OF_IT_FEED_FORWARD + (experts.active + experts.shared) * each
    return (mixture * experts.layers + _LAYER * (model.layers - experts.layers)) / model.layers


def _working(job: Job, model: Model, layout: Layout) -> float:
    """Bytes of the one layer that full recomputation has before it at a time."""
    return _layer_factor(model) * _block(job, model, layout) / layout.tensor if job.recompute == "full" else 0.0
