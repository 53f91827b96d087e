"""Overrides of a Megatron-Bridge recipe (NeMo), as scripts/training/run_recipe.py takes them: section.key=value.

Source: NVIDIA-NeMo/Megatron-Bridge, training/config.py (sections model, train, dataset, checkpoint, ddp, profiling)
and models/gpt_provider.py (what section model takes, Megatron Core's TransformerConfig among it).
The recipe itself knows the model's architecture. It may have virtual stages and an expert tensor size of its own, made
for other degrees, so that both are always said: null is no virtual stages (training/utils/omegaconf_utils.py).
"""

from collections.abc import Iterator

from components.training.frameworks.megatron import FSDP
from components.training.recipe import Recipe

_PRECISION = {"bf16": "bf16_mixed", "fp8": "bf16_with_fp8_delayed_scaling_mixed"}


def words(recipe: Recipe) -> tuple[str, ...]:
    """Overrides, each of a key that the configuration has."""
    return tuple(f"{key}={_written(value)}" for key, value in _overrides(recipe))


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _overrides(recipe: Recipe) -> Iterator[tuple[str, object]]:
    yield "model.tensor_model_parallel_size", recipe.tensor
    yield "model.pipeline_model_parallel_size", recipe.pipeline
    yield "model.context_parallel_size", recipe.context
    virtual = recipe.virtual_stages if recipe.virtual_stages > 1 else "null"
    yield "model.virtual_pipeline_model_parallel_size", virtual
    if recipe.ends_as_layers:
        yield "model.account_for_embedding_in_pipeline_split", True
        yield "model.account_for_loss_in_pipeline_split", True
    yield "model.expert_model_parallel_size", recipe.expert
    if recipe.model.experts is not None or recipe.expert_tensor is not None:
        yield "model.expert_tensor_parallel_size", recipe.expert_tensor or recipe.tensor
    yield "model.sequence_parallel", recipe.tensor > 1
    yield "model.seq_length", recipe.sequence
    yield "dataset.seq_length", recipe.sequence
    yield "train.micro_batch_size", recipe.micro_batch
    yield "train.global_batch_size", recipe.global_batch
    if recipe.steps is not None:
        yield "train.train_iters", recipe.steps
    if recipe.loader_workers is not None:
        yield "dataset.num_workers", recipe.loader_workers
    yield "mixed_precision", _PRECISION[recipe.precision]
    yield "ddp.grad_reduce_in_fp32", recipe.gradients == "fp32"
    yield "ddp.use_distributed_optimizer", recipe.sharding != "none"
    if recipe.sharding in FSDP:
        yield "ddp.use_megatron_fsdp", True
        yield "ddp.data_parallel_sharding_strategy", FSDP[recipe.sharding]
    if recipe.recompute != "none":
        yield "model.recompute_granularity", recipe.recompute
    if recipe.recompute == "full":
        yield "model.recompute_method", "uniform"
        yield "model.recompute_num_layers", 1
    if (places := recipe.places) is not None:
        yield "checkpoint.save", places.shared
        yield "checkpoint.load", places.shared
        yield "checkpoint.save_interval", places.shared_steps if places.local is not None else places.every_steps
        if places.local is not None:
            yield "checkpoint.non_persistent_ckpt_type", "local"
            yield "checkpoint.non_persistent_local_ckpt_dir", places.local
            yield "checkpoint.non_persistent_save_interval", places.every_steps
        yield "train.exit_signal_handler", True
    if recipe.profile is not None:
        yield "profiling.use_pytorch_profiler", True
        yield "profiling.profile_step_start", recipe.profile[0]
        yield "profiling.profile_step_end", recipe.profile[1] + 1
