"""How fast software trains on GPUs, fitted to runs that others measured and printed; each rate with its range.

`tests/planner/published/runs.csv` holds those runs with their sources, and a test holds the forecast against them. Only
what no data sheet tells is fitted: the part of the peak rate that wide matrix products reach, and what of the exchanges
the software hides. A row that no published run stands behind says so and has a wide range.
"""

from dataclasses import dataclass
from typing import Literal

from catalogue.types import Gpu

Software = Literal["megatron", "fsdp", "deepspeed", "automodel"]
"""Families: Megatron Core and what is built on it (NeMo, Bridge); PyTorch's FSDP (llm-foundry, torchtitan); DeepSpeed;
FSDP with expert parallelism (NeMo AutoModel)."""

WIDTH_OF_HALF_RATE = 250
"""Hidden units of a rank (hidden / tensor degree) at which matrix products reach half of their rate. Source: fitted."""

ATTENTION_PART = 0.5
"""Part of the bf16 peak that fused causal attention reaches, its masked half not counted. Sources: fitted to 2,048 to
16,384 tokens; Dao 2023 (FlashAttention-2) prints 0.5 to 0.73 on A100."""

EXPERT_PART = 0.5
"""Part of the bf16 peak of grouped matrix products, of experts that are wide. Source: fitted."""

EXPERT_WIDTH_OF_HALF_RATE = 225
"""Width of an expert at which its products reach half of that. Source: fitted."""

_HOPPER = 9


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Rates of a software family on an architecture, in a precision.

    `peak_part` is the part of the dense peak that wide matrix products reach. `tensor_hidden` is the part of tensor
    parallel exchanges that computation hides, `gradients_hidden` the part of a micro-batch's computation beside which
    once-a-step exchanges of gradients and weights go on. `per_expert_s` is what each expert of a GPU costs per layer
    and micro-batch beside its products: launches, sorting, quantising. A step takes (1 - `off`) to (1 + `off`) times
    the forecast in four of five runs; `published` counts the runs behind the row.
    """

    software: Software
    compute_capability: int
    precision: str
    peak_part: float
    off: float
    tensor_hidden: float = 0.0
    gradients_hidden: float = 0.7
    per_expert_s: float = 1e-4
    published: int
    source: str

    @property
    def basis(self) -> str:
        """What the row rests on, in words."""
        if self.published:
            return f"{self.published} published runs ({self.source})"
        return f"no published run: {self.source}"


_ROWS = (
    Calibration(
        software="megatron",
        compute_capability=8,
        precision="bf16",
        peak_part=0.67,
        off=0.10,
        gradients_hidden=0.0,
        per_expert_s=6e-4,
        published=5,
        source="Megatron-LM on A100: SC21 table, README of 2023",
    ),
    Calibration(
        software="megatron",
        compute_capability=9,
        precision="bf16",
        peak_part=0.64,
        off=0.10,
        tensor_hidden=0.6,
        per_expert_s=6e-4,
        published=11,
        source="Megatron-LM table of 2024, dgxc-benchmarking, Megatron Bridge",
    ),
    Calibration(
        software="megatron",
        compute_capability=9,
        precision="fp8",
        peak_part=0.515,
        off=0.12,
        tensor_hidden=0.6,
        per_expert_s=6e-4,
        published=6,
        source="dgxc-benchmarking, Megatron Bridge, NeMo 24.07",
    ),
    Calibration(
        software="fsdp",
        compute_capability=8,
        precision="bf16",
        peak_part=0.69,
        off=0.12,
        published=6,
        source="llm-foundry on A100",
    ),
    Calibration(
        software="fsdp",
        compute_capability=9,
        precision="bf16",
        peak_part=0.42,
        off=0.2,
        published=3,
        source="llm-foundry on H100, releases of 2023; later ones are faster",
    ),
    Calibration(
        software="automodel",
        compute_capability=9,
        precision="bf16",
        peak_part=0.6,
        off=0.25,
        published=2,
        source="NeMo AutoModel, mixtures of experts",
    ),
)
_DEEPSPEED_PART = 0.85
_OFF_UNMEASURED = 0.4
_OFF_EXPERTS = 0.3


def calibration(software: Software, gpu: Gpu, precision: str) -> Calibration:
    """The row of the software on the GPU, or the nearest one with a range that says how far it was stretched.

    Nearest: the same software on the generation before or after, else Megatron's rates; FP8 by what Megatron gains.
    """
    kind = min(max(int(gpu.compute_capability), 8), _HOPPER)
    known = {(row.software, row.compute_capability, row.precision): row for row in _ROWS}
    exact = known.get((software, kind, precision))
    if exact is not None and int(gpu.compute_capability) == kind:
        return exact
    like: Software = "fsdp" if software in ("deepspeed", "automodel") else software
    near = exact or known.get((software, _HOPPER, "bf16")) or known[like, kind, "bf16"]
    part = near.peak_part * (_DEEPSPEED_PART if software == "deepspeed" else 1.0)
    if precision == "fp8" and near.precision != "fp8":
        part *= known["megatron", _HOPPER, "fp8"].peak_part / known["megatron", _HOPPER, "bf16"].peak_part
    return Calibration(
        software=software,
        compute_capability=kind,
        precision=precision,
        peak_part=part,
        off=_OFF_UNMEASURED,
        tensor_hidden=near.tensor_hidden,
        gradients_hidden=near.gradients_hidden,
        per_expert_s=near.per_expert_s,
        published=0,
        source=f"taken from {near.software} in {near.precision} on compute capability {near.compute_capability}",
    )


def uncertainty(row: Calibration, experts: bool) -> float:
    """How far a step may lie from its forecast, relative to it; mixtures of experts vary more with the software."""
    return max(row.off, _OFF_EXPERTS) if experts else row.off
