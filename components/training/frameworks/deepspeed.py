"""DeepSpeed reads its configuration from a file, which it checks: batch = micro-batch x accumulation x data ranks.

Source: DeepSpeed documentation, "DeepSpeed Configuration JSON" and "AutoTP training" (tensor_parallel.autotp_size).
"""

from typing import Any

from components.training.recipe import Recipe

FILE = "ds.json"
_STAGES = {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3}


def words(path: str) -> tuple[str, ...]:
    """Flags that deepspeed.add_config_arguments knows; `path` is the file's."""
    return ("--deepspeed", f"--deepspeed_config={path}")


def configuration(recipe: Recipe) -> dict[str, Any]:
    """Content of the file. Raises ValueError for sharding that DeepSpeed has no stage for."""
    if recipe.sharding not in _STAGES:
        raise ValueError(f"{recipe.sharding} is not a ZeRO stage; DeepSpeed has {', '.join(_STAGES)}")
    stage = _STAGES[recipe.sharding]
    content: dict[str, Any] = {
        "train_batch_size": recipe.global_batch,
        "train_micro_batch_size_per_gpu": recipe.micro_batch,
        "gradient_accumulation_steps": recipe.accumulation,
        "bf16": {"enabled": True},
        "data_types": {"grad_accum_dtype": recipe.gradients},
        "zero_optimization": {"stage": stage, **({"overlap_comm": True} if stage else {})},
    }
    if recipe.tensor > 1:
        content["tensor_parallel"] = {"autotp_size": recipe.tensor}
    if recipe.profile is not None:
        content["flops_profiler"] = {"enabled": True, "profile_step": recipe.profile[0]}
    return content
