"""How fast software trains on GPUs, fitted to runs that others measured and printed; each rate with its range.

`tests/planner/published/runs.csv` holds those runs with their sources, and a test holds the forecast against them. Only
what no data sheet tells is fitted: the part of the peak rate that wide matrix products reach, and what of the exchanges
the software hides. Each of a source's n runs counts 1/sqrt(n), so that no single release decides a row. A row that no
published run stands behind says so and has a wide range.
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

SELECTIVE_PART = 0.5
"""Part of the products that PyTorch's selective recomputation repeats: every second one (torchtitan, `selective op`);
Megatron's repeats attention, which fused kernels repeat anyway."""

_AMPERE, _HOPPER, _BLACKWELL = 8, 9, 10


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Rates of a software family on an architecture, in a precision.

    `peak_part` is the part of the dense peak that wide matrix products reach, those of experts too, `attention_part` of
    the bf16 peak what attention does. `again_part` is what recomputing a layer takes of its forward pass, and
    `selective_part` what selective recomputation takes of that. Computation hides `tensor_hidden` of tensor parallel
    exchanges, `layers_hidden` of those of each layer (weights that FSDP gathers), `tokens_hidden` of those among
    experts; exchanges of once a step go on beside `gradients_hidden` of a micro-batch. `per_expert_s` is what each
    expert of a GPU costs per layer and micro-batch beside its products: launches, sorting, quantising. Compiled
    (torch.compile), a pass takes `compiled_part` of its time: kernels that only read and write are joined. A step takes
    (1 - `off`) to (1 + `off`) times the forecast in four of five runs; `published` counts the runs behind the row.
    """

    software: Software
    compute_capability: int
    precision: str
    peak_part: float
    off: float
    attention_part: float = ATTENTION_PART
    again_part: float = 1.0
    selective_part: float = 0.0
    tensor_hidden: float = 0.0
    layers_hidden: float = 1.0
    gradients_hidden: float = 0.7
    tokens_hidden: float = 0.0
    per_expert_s: float = 1e-4
    compiled_part: float = 1.0
    published: int
    source: str

    def again(self, recompute: str) -> float:
        """What of a layer's forward pass is computed again in the backward one."""
        return {"none": 0.0, "selective": self.selective_part, "full": 1.0}[recompute] * self.again_part

    @property
    def basis(self) -> str:
        """What the row rests on, in words."""
        if self.published:
            return f"{self.published} published runs ({self.source})"
        return f"no published run: {self.source}"


_ROWS: tuple[Calibration, ...] = (
    Calibration(
        software="megatron",
        compute_capability=8,
        precision="bf16",
        peak_part=0.71,
        off=0.13,
        gradients_hidden=0.0,
        per_expert_s=6e-4,
        published=14,
        source="Megatron-LM on A100: SC21 table, README of 2023; BLOOM's own took an eighth more",
    ),
    Calibration(
        software="megatron",
        compute_capability=9,
        precision="bf16",
        peak_part=0.658,
        off=0.15,
        tensor_hidden=0.55,
        gradients_hidden=0.95,
        tokens_hidden=0.13,
        per_expert_s=4.9e-4,
        published=22,
        source="Megatron-LM table of 2024, dgxc-benchmarking, Megatron Bridge; whole trainings take up to a tenth more",
    ),
    Calibration(
        software="megatron",
        compute_capability=9,
        precision="fp8",
        peak_part=0.522,
        off=0.2,
        tensor_hidden=0.77,
        gradients_hidden=0.28,
        per_expert_s=7.3e-4,
        published=25,
        source="dgxc-benchmarking, Megatron Bridge, NeMo 24.07; NeMo of 2024 is up to a fifth slower",
    ),
    Calibration(
        software="megatron",
        compute_capability=10,
        precision="bf16",
        # Mixtures tell no rate of wide products: it is FP8's, as Hopper's two rows have it.
        peak_part=0.57,
        off=0.3,
        tensor_hidden=0.6,
        tokens_hidden=0.49,
        per_expert_s=7.2e-4,
        published=5,
        source="Megatron Bridge 25.11 and 26.04 on B200, B300 and GB200, mixtures of experts alone",
    ),
    Calibration(
        software="megatron",
        compute_capability=10,
        precision="fp8",
        peak_part=0.463,
        off=0.2,
        tensor_hidden=0.95,
        gradients_hidden=0.81,
        tokens_hidden=0.63,
        per_expert_s=3.7e-4,
        published=15,
        source="Megatron Bridge 25.11 and 26.04 on B200, B300 and GB200",
    ),
    Calibration(
        software="fsdp",
        compute_capability=8,
        precision="bf16",
        peak_part=0.68,
        off=0.1,
        attention_part=0.316,
        again_part=0.575,
        selective_part=SELECTIVE_PART,
        layers_hidden=0.51,
        compiled_part=0.867,
        published=39,
        source="llm-foundry on A100, IBM's of 2024 with torch.compile and without",
    ),
    Calibration(
        software="fsdp",
        compute_capability=9,
        precision="bf16",
        peak_part=0.518,
        off=0.2,
        attention_part=0.176,
        again_part=0.3,
        selective_part=SELECTIVE_PART,
        layers_hidden=0.22,
        compiled_part=0.809,
        published=39,
        source="llm-foundry of 2023, IBM's of 2024 and OLMo-core of 2025 on H100, the latter with torch.compile",
    ),
    Calibration(
        software="fsdp",
        compute_capability=9,
        precision="fp8",
        peak_part=0.53,
        off=0.2,
        attention_part=0.19,
        again_part=0.46,
        selective_part=SELECTIVE_PART,
        layers_hidden=0.53,
        published=4,
        source="OLMo-core of 2025",
    ),
    Calibration(
        software="automodel",
        compute_capability=9,
        precision="bf16",
        peak_part=0.51,
        off=0.25,
        per_expert_s=6e-5,
        tokens_hidden=0.11,
        again_part=0.5,
        selective_part=SELECTIVE_PART,
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
