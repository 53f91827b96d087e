"""Flags for programs on plain PyTorch: data parallel (torchrun), FSDP2, and the reference trainer.

The words are this program's own, one for each number of the plan; node/trainer/arguments.py reads them.
"""

from collections.abc import Iterator

from components.training.recipe import Recipe


def words(recipe: Recipe) -> tuple[str, ...]:
    """Flags as --name=value. An elastic run is told its global batch, from which accumulation follows at each size."""
    return tuple(f"--{name}={value}" for name, value in _pairs(recipe))


def _pairs(recipe: Recipe) -> Iterator[tuple[str, object]]:
    yield "model", recipe.model.name
    yield "sequence-length", recipe.sequence
    yield "micro-batch-size", recipe.micro_batch
    yield "global-batch-size", recipe.global_batch
    if not recipe.elastic:
        yield "accumulation", recipe.accumulation
        yield "data-parallel", recipe.data
    yield "tensor-parallel", recipe.tensor
    yield "context-parallel", recipe.context
    yield "sharding", recipe.sharding
    yield "method", recipe.method
    yield "precision", recipe.precision
    yield "gradients", recipe.gradients
    yield "recompute", recipe.recompute
    if recipe.steps is not None:
        yield "steps", recipe.steps
    if recipe.directory is not None:
        yield "data-dir", recipe.directory
    if recipe.loader_workers is not None:
        yield "loader-workers", recipe.loader_workers
    yield from _saving(recipe)
    if recipe.metrics_port is not None:
        yield "metrics-port", recipe.metrics_port
    if recipe.profile is not None:
        first, last = recipe.profile
        yield "profile-from", first
        yield "profile-to", last


def _saving(recipe: Recipe) -> Iterator[tuple[str, object]]:
    places = recipe.places
    if places is None:
        return
    yield "checkpoint-dir", places.shared
    yield "checkpoint-every-seconds", places.every_seconds
    yield "checkpoint-keep", places.keep
    if places.local is not None:
        yield "local-checkpoint-dir", places.local
        yield "shared-checkpoint-every-seconds", places.shared_seconds
    yield "resume", "auto"


def architecture(recipe: Recipe) -> tuple[str, ...]:
    """Sizes of a dense decoder, for a program that builds the model from them."""
    model = recipe.model
    sizes = {
        "layers": model.layers,
        "hidden": model.hidden,
        "ffn": model.ffn,
        "heads": model.heads,
        "kv-heads": model.kv_heads,
        "head-dim": model.head_dim,
        "vocab": model.vocab,
    }
    return tuple(f"--{name}={value}" for name, value in sizes.items())
