"""Flags of Megatron-LM (pretrain_gpt.py), and its settings as Megatron-Bridge (NeMo) has them.

Source: Megatron-LM, megatron/training/arguments.py, whose flags are also those of the fields of TransformerConfig
(megatron/core/transformer/transformer_config.py, megatron/core/model_parallel_config.py), and
docs/user-guide/features/megatron_fsdp.md; Megatron-Bridge, scripts/training/run_recipe.py (dotted overrides of its
configuration).
"""

from collections.abc import Iterator, Mapping

from components.training.recipe import Recipe

FSDP = {"zero2": "optim_grads", "zero3": "optim_grads_params", "fsdp": "optim_grads_params"}
"""What Megatron-FSDP shares out, by what the plan calls it."""


def environment(recipe: Recipe) -> Mapping[str, str]:
    """One queue to the GPU where tensor or context ranks overlap, which arguments.py asks for; none with FSDP, whose
    guide wants it unset.
    """
    overlaps = recipe.tensor > 1 or recipe.context > 1
    return {"CUDA_DEVICE_MAX_CONNECTIONS": "1"} if overlaps and recipe.sharding not in FSDP else {}


def words(recipe: Recipe) -> tuple[str, ...]:
    """Flags as --name=value, switches as --name."""
    return tuple(f"--{name}" if value is None else f"--{name}={value}" for name, value in _flags(recipe))


def _flags(recipe: Recipe) -> Iterator[tuple[str, object]]:
    yield "tensor-model-parallel-size", recipe.tensor
    yield "pipeline-model-parallel-size", recipe.pipeline
    yield "context-parallel-size", recipe.context
    if recipe.virtual_stages > 1:
        yield "num-virtual-stages-per-pipeline-rank", recipe.virtual_stages
    if recipe.ends_as_layers:
        yield "account-for-embedding-in-pipeline-split", None
        yield "account-for-loss-in-pipeline-split", None
    yield "expert-model-parallel-size", recipe.expert
    if recipe.expert_tensor is not None:
        yield "expert-tensor-parallel-size", recipe.expert_tensor
    if recipe.tensor > 1:
        yield "sequence-parallel", None
    yield "micro-batch-size", recipe.micro_batch
    yield "global-batch-size", recipe.global_batch
    yield "seq-length", recipe.sequence
    yield "max-position-embeddings", recipe.sequence
    yield "bf16", None
    if recipe.precision == "fp8":
        yield "fp8-format", "hybrid"
    if recipe.gradients == "bf16":
        yield "grad-reduce-in-bf16", None
    else:
        yield "accumulate-allreduce-grads-in-fp32", None
    yield from _sharding(recipe)
    if recipe.recompute != "none":
        yield "recompute-granularity", recipe.recompute
    if recipe.recompute == "full":
        yield "recompute-method", "uniform"
        yield "recompute-num-layers", 1
    yield from _architecture(recipe)
    if recipe.steps is not None:
        yield "train-iters", recipe.steps
    if recipe.loader_workers is not None:
        yield "num-workers", recipe.loader_workers
    yield from _saving(recipe)
    if recipe.profile is not None:
        first, last = recipe.profile
        yield "profile", None
        yield "use-pytorch-profiler", None
        yield "profile-step-start", first
        yield "profile-step-end", last + 1
        yield "profile-ranks", 0


def _sharding(recipe: Recipe) -> Iterator[tuple[str, object]]:
    if recipe.sharding == "none":
        return
    yield "use-distributed-optimizer", None
    if recipe.sharding in FSDP:
        yield "use-megatron-fsdp", None
        yield "data-parallel-sharding-strategy", FSDP[recipe.sharding]
        yield "no-gradient-accumulation-fusion", None


def _saving(recipe: Recipe) -> Iterator[tuple[str, object]]:
    """Megatron counts steps. SIGTERM saves too; `keep` is the copier's, as Megatron deletes nothing."""
    places = recipe.places
    if places is None:
        return
    yield "save", places.shared
    yield "load", places.shared
    yield "ckpt-format", "fsdp_dtensor" if recipe.sharding in FSDP else "torch_dist"
    yield "save-interval", places.shared_steps if places.local is not None else places.every_steps
    if places.local is not None:
        yield "non-persistent-ckpt-type", "local"
        yield "non-persistent-local-ckpt-dir", places.local
        yield "non-persistent-save-interval", places.every_steps
    yield "exit-signal-handler", None


def _architecture(recipe: Recipe) -> Iterator[tuple[str, object]]:
    """Sizes of the decoder; vocabulary and tokenizer are the script's."""
    model = recipe.model
    yield "num-layers", model.layers
    yield "hidden-size", model.hidden
    yield "ffn-hidden-size", model.ffn
    yield "num-attention-heads", model.heads
    if model.latent is not None:
        yield "multi-latent-attention", None
        yield "q-lora-rank", model.latent.query_rank
        yield "kv-lora-rank", model.latent.kv_rank
        yield "qk-head-dim", model.latent.nope_dim
        yield "qk-pos-emb-head-dim", model.latent.rope_dim
        yield "v-head-dim", model.latent.value_dim
    else:
        yield "kv-channels", model.head_dim
        if model.kv_heads != model.heads:
            yield "group-query-attention", None
            yield "num-query-groups", model.kv_heads
    yield "normalization", "RMSNorm"
    yield "swiglu", None
    yield "disable-bias-linear", None
    yield "position-embedding-type", "rope"
    if not model.tied_embeddings:
        yield "untie-embeddings-and-output-weights", None
    if (experts := model.experts) is not None:
        yield "num-experts", experts.count
        yield "moe-router-topk", experts.active
        yield "moe-ffn-hidden-size", experts.ffn
        if experts.shared:
            yield "moe-shared-expert-intermediate-size", experts.shared * experts.ffn
        if dense := model.layers - experts.layers:
            yield "moe-layer-freq", f"([0]*{dense}+[1]*{experts.layers})"
