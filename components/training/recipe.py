"""The plan of a run as plain values, for any framework."""

from collections.abc import Sequence
from dataclasses import dataclass

from catalogue.model_types import Model


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """Directories and times of checkpoints. `local` is where saves go first, None where training waits for `shared`.

    Times are seconds, and steps for a framework that counts those; it saves to `shared` every `shared_steps`.
    """

    shared: str
    local: str | None
    every_seconds: int
    shared_seconds: int
    keep: int
    every_steps: int | None
    shared_steps: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """How a model is trained: degrees of parallelism, batch (sequences), sequence length (tokens), precision, recompute
    and places. `script` is the file that torchrun starts, with arguments of its own, which come last.

    `data` is the degree at the run's full size. `steps` None is training without an end; `directory` holds the dataset,
    which `loader_workers` processes of each rank load, None as the framework does by itself.

    Each pipeline rank takes `virtual_stages` parts of the layers in turn. `expert_tensor` is the degree to which each
    expert is divided, None as everything else is. With `ends_as_layers` embedding and output are counted as a layer
    each where layers are dealt out.
    """

    framework: str
    script: Sequence[str]
    model: Model
    tensor: int
    pipeline: int
    context: int
    expert: int
    data: int
    micro_batch: int
    accumulation: int
    global_batch: int
    sequence: int
    method: str
    precision: str
    gradients: str
    sharding: str
    recompute: str
    elastic: bool
    steps: int | None = None
    places: Places | None = None
    directory: str | None = None
    metrics_port: int | None = None
    profile: tuple[int, int] | None = None
    loader_workers: int | None = None
    virtual_stages: int = 1
    expert_tensor: int | None = None
    ends_as_layers: bool = False
