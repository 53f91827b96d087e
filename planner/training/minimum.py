"""How many GPUs a model needs by the way it is used, from its number of parameters alone; activations are extra."""

from dataclasses import dataclass
from math import ceil
from typing import Literal

from catalogue.units import BYTES_PER_GB
from planner.training.job import Gradients, Job, Precision, Sharding
from planner.training.states import bytes_per_parameter, sharded, weight_bytes

Mode = Literal["inference", "full", "lora", "qlora"]

FILL = 0.8
"""Part of a GPU's memory that states may take; the rest is for activations, buffers and the reserve."""
_INFERENCE_BYTES: dict[Precision, float] = {"bf16": 2, "fp8": 1}
_ADAPTERS = 0.02
_ENDLESSLY = 1 << 62


@dataclass(frozen=True, kw_only=True)
class Need:
    """One row of the table: GPUs at least, by mode. None where no number of GPUs is enough."""

    parameters: float
    inference: int | None
    qlora: int | None
    lora: int | None
    full: int | None


def min_gpus(
    parameters: float,
    mode: Mode,
    *,
    memory_gb: float,
    precision: Precision = "bf16",
    gradients: Gradients = "bf16",
    sharding: Sharding = "fsdp",
    fill: float = FILL,
) -> int | None:
    """GPUs whose memory holds the weights (inference) or all states (training) of so many parameters.

    None where the sharding leaves more on each rank than a GPU has. LoRA's adapters are taken as 2 % of the model.
    """
    budget = memory_gb * fill * BYTES_PER_GB
    if mode == "inference":
        return ceil(parameters * _INFERENCE_BYTES[precision] / budget)
    job = Job(method=mode, precision=precision, gradients=gradients, sharding=sharding)
    trained = parameters if mode == "full" else parameters * _ADAPTERS
    each = bytes_per_parameter(job)
    kept = sharded(each, sharding, _ENDLESSLY)
    whole = kept.total * trained
    shared = (each.total - kept.total) * trained
    if mode != "full":
        frozen = weight_bytes(job) * parameters
        whole, shared = (whole, shared + frozen) if sharding in ("zero3", "fsdp") else (whole + frozen, shared)
    if sharding == "none":
        return 1 if whole <= budget else None
    return max(1, ceil(shared / (budget - whole))) if whole < budget else None


def needs(parameters: float, memory_gb: float) -> Need:
    """The table's row of a model: how many GPUs it takes to serve it, to adapt it and to train it."""
    return Need(
        parameters=parameters,
        inference=min_gpus(parameters, "inference", memory_gb=memory_gb),
        qlora=min_gpus(parameters, "qlora", memory_gb=memory_gb),
        lora=min_gpus(parameters, "lora", memory_gb=memory_gb),
        full=min_gpus(parameters, "full", memory_gb=memory_gb),
    )
