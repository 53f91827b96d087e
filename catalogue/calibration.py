"""How fast software trains on GPUs, fitted to runs that others measured and printed; each rate with its range.

`tests/planner/published/runs.csv` holds those runs with their sources, and a test holds the forecast against them. Only
what no data sheet tells is fitted: the part of the peak rate that wide matrix products reach, and what of the exchanges
the software hides. A row that no published run stands behind says so and has a wide range.
"""

from dataclasses import dataclass, replace
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

_AMPERE, _HOPPER, _BLACKWELL = 8, 9, 10


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Rates of a software family on an architecture, in a precision.

    `peak_part` is the part of the dense peak that wide matrix products reach, `attention_part` and `expert_part` of the
    bf16 peak what attention and wide experts do. `again_part` is what recomputing a layer takes of its forward pass.
    Computation hides `tensor_hidden` of tensor parallel exchanges, `layers_hidden` of those of each layer (weights that
    FSDP gathers), `tokens_hidden` of those among experts; exchanges of once a step go on beside `gradients_hidden` of a
    micro-batch. `per_expert_s` is what each expert of a GPU costs per layer and micro-batch beside its products:
    launches, sorting, quantising. A step takes (1 - `off`) to (1 + `off`) times the forecast in four of five runs;
    `published` counts the runs behind the row.
    """

    software: Software
    compute_capability: int
    precision: str
    peak_part: float
    off: float
    attention_part: float = ATTENTION_PART
    again_part: float = 1.0
    tensor_hidden: float = 0.0
    layers_hidden: float = 1.0
    gradients_hidden: float = 0.7
    expert_part: float = EXPERT_PART
    tokens_hidden: float = 0.0
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
        published=14,
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
        published=22,
        source="Megatron-LM table of 2024, dgxc-benchmarking, Megatron Bridge",
    ),
    Calibration(
        software="megatron",
        compute_capability=9,
        precision="fp8",
        peak_part=0.515,
        off=0.2,
        tensor_hidden=0.6,
        per_expert_s=6e-4,
        published=25,
        source="dgxc-benchmarking, Megatron Bridge, NeMo 24.07; NeMo of 2024 is up to a fifth slower",
    ),
    Calibration(
        software="megatron",
        compute_capability=10,
        precision="bf16",
        peak_part=0.6,
        off=0.3,
        tensor_hidden=0.6,
        tokens_hidden=0.85,
        per_expert_s=5e-4,
        published=5,
        source="Megatron Bridge 25.11 and 26.04 on B200, B300 and GB200, mixtures of experts alone",
    ),
    Calibration(
        software="megatron",
        compute_capability=10,
        precision="fp8",
        peak_part=0.48,
        off=0.2,
        tensor_hidden=0.6,
        expert_part=1.0,
        tokens_hidden=0.78,
        per_expert_s=4e-4,
        published=15,
        source="Megatron Bridge 25.11 and 26.04 on B200, B300 and GB200",
    ),
    Calibration(
        software="fsdp",
        compute_capability=8,
        precision="bf16",
        peak_part=0.68,
        off=0.1,
        attention_part=0.315,
        again_part=0.64,
        layers_hidden=0.93,
        published=37,
        source="llm-foundry on A100",
    ),
    Calibration(
        software="fsdp",
        compute_capability=9,
        precision="bf16",
        peak_part=0.54,
        off=0.2,
        attention_part=0.17,
        again_part=0.39,
        layers_hidden=0.31,
        published=33,
        source="llm-foundry on H100, releases of 2023; later ones are faster",
    ),
    Calibration(
        software="automodel",
        compute_capability=9,
        precision="bf16",
        peak_part=0.6,
        off=0.25,
        again_part=0.6,
        published=6,
        source="NeMo AutoModel, most of them mixtures of experts",
    ),
)
_DEEPSPEED_PART = 0.85
_OFF_UNMEASURED = 0.4
_OFF_EXPERTS = 0.3


def calibration(software: Software, gpu: Gpu, precision: str) -> Calibration:
    """The row of the software on the GPU, or the nearest one with a range that says how far it was stretched.

    Nearest: the same software, in the same precision before bf16, on the same generation before the others; a software
    without rows goes by FSDP's. FP8 without a row gains what Megatron gains by it.
    """
    generation = int(gpu.compute_capability)
    known = {(row.software, row.compute_capability, row.precision): row for row in _ROWS}
    exact = known.get((software, generation, precision))
    if exact is not None:
        return exact
    kinds = (min(max(generation, _AMPERE), _BLACKWELL), _HOPPER, _AMPERE)
    near = next(
        known[name, kind, kept]
        for name in (software, "fsdp")
        for kept in (precision, "bf16")
        for kind in kinds
        if (name, kind, kept) in known
    )
    part = near.peak_part * (_DEEPSPEED_PART if software == "deepspeed" else 1.0)
    if precision == "fp8" and near.precision != "fp8":
        part *= known["megatron", _HOPPER, "fp8"].peak_part / known["megatron", _HOPPER, "bf16"].peak_part
    return replace(
        near,
        software=software,
        compute_capability=generation,
        precision=precision,
        peak_part=part,
        off=_OFF_UNMEASURED,
        published=0,
        source=f"taken from {near.software} in {near.precision} on compute capability {near.compute_capability}",
    )


def uncertainty(row: Calibration, experts: bool) -> float:
    """How far a step may lie from its forecast, relative to it; mixtures of experts vary more with the software."""
    return max(row.off, _OFF_EXPERTS) if experts else row.off
