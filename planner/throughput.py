"""Throughput, duration and price of training. Peak rates in dense TFLOP/s of one GPU, MFU between 0 and 1.

MFU, model FLOP utilisation, is the part of the peak rate that the model's own operations take. Source of the counts:
Chowdhery et al. 2022 (PaLM), appendix B.
"""

from dataclasses import dataclass

from catalogue.model_types import Model
from catalogue.types import Gpu
from catalogue.units import HOURS_PER_DAY, SECONDS_PER_DAY

_FLOPS_PER_PARAMETER = 6
_ATTENTION_FLOPS = 12
_FLOPS_PER_TFLOP = 10**12

TYPICAL_MFU = 0.4
"""Utilisation to expect of a dense model on a healthy fabric; published runs lie between 0.35 and 0.5."""

CLAIM_TOLERANCE = 0.1
"""How far a measured utilisation may lie from the one that is told with it, relative to it."""


def model_flops_per_token(model: Model, sequence: int = 0, *, full: bool = True) -> float:
    """Floating-point operations of one trained token in sequences of so many tokens, 0 leaves attention out: 6 x active
    parameters, and 12 x layers x width x sequence of attention. Recomputed activations are no part of it. Adapters
    leave out the weights' gradients, a third (`full` False).

    The width is that of the attention, heads x what each of them compares and adds up.
    """
    attention = _ATTENTION_FLOPS * model.layers * model.heads * model.attention_dim * sequence
    return (_FLOPS_PER_PARAMETER * model.active_parameters + attention) * (1 if full else 2 / 3)


def peak_tflops(gpu: Gpu, precision: str = "bf16") -> float:
    """Dense peak rate of one GPU for training in bf16 or fp8; a GPU without the type has its fp16 rate."""
    own = gpu.fp8_tflops if precision == "fp8" else gpu.bf16_tflops
    return own or gpu.bf16_tflops or gpu.fp16_tflops


def tokens_per_s(flops_per_token_: float, gpus: int, peak_tflops_: float, mfu: float = TYPICAL_MFU) -> float:
    """Tokens per second of all GPUs together."""
    return mfu * gpus * peak_tflops_ * _FLOPS_PER_TFLOP / flops_per_token_


def mfu(flops_per_token_: float, gpus: int, peak_tflops_: float, tokens_per_s_: float) -> float:
    """The utilisation that a throughput means. Above 1 the throughput, or the model's size, is not what was said."""
    return flops_per_token_ * tokens_per_s_ / (gpus * peak_tflops_ * _FLOPS_PER_TFLOP)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A throughput and a utilisation that are told together, and what each of them says of the other.

    `least_mfu` and `most_mfu` are what the throughput means without attention and with it, as both ways of counting are
    in use. `tokens_per_s_at_mfu` is what the utilisation means, without attention.
    """

    tokens_per_s: float
    mfu: float
    least_mfu: float
    most_mfu: float
    tokens_per_s_at_mfu: float

    @property
    def possible(self) -> bool:
        """Whether the GPUs could compute so many tokens at all."""
        return self.least_mfu <= 1

    @property
    def holds(self) -> bool:
        """Whether both numbers can be true of the same run."""
        low, high = self.least_mfu * (1 - CLAIM_TOLERANCE), self.most_mfu * (1 + CLAIM_TOLERANCE)
        return self.possible and low <= self.mfu <= high


def claim(
    model: Model,
    gpus: int,
    peak_tflops_: float,
    *,
    tokens_per_s_: float,
    mfu_: float,
    sequence: int,
    full: bool = True,
) -> Claim:
    """Hold a throughput and a utilisation of a run against each other; adapters (`full` False) compute a third less."""
    plain = model_flops_per_token(model, full=full)
    return Claim(
        tokens_per_s=tokens_per_s_,
        mfu=mfu_,
        least_mfu=mfu(plain, gpus, peak_tflops_, tokens_per_s_),
        most_mfu=mfu(model_flops_per_token(model, sequence, full=full), gpus, peak_tflops_, tokens_per_s_),
        tokens_per_s_at_mfu=tokens_per_s(plain, gpus, peak_tflops_, mfu_),
    )


@dataclass(frozen=True, kw_only=True)
class TrainingBudget:
    """What a number of tokens takes: operations, steps of the optimizer, days, US dollars where there is a price."""

    tokens: float
    flops: float
    steps: float
    days: float
    usd: float | None


def training_budget(
    tokens: float, flops_per_token_: float, tokens_per_step: int, tokens_per_s_: float, usd_per_hour: float | None
) -> TrainingBudget:
    """The time is that of training alone: failures and checkpoints divide it by the effective part of the time."""
    days = tokens / tokens_per_s_ / SECONDS_PER_DAY
    return TrainingBudget(
        tokens=tokens,
        flops=tokens * flops_per_token_,
        steps=tokens / tokens_per_step,
        days=days,
        usd=days * HOURS_PER_DAY * usd_per_hour if usd_per_hour is not None else None,
    )
