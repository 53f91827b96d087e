"""Throughput, days and claims (C09-C11, HW22, NC20, NC21)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.gpus import A100_80, H100, T4
from catalogue.models import MODELS
from planner.throughput import (
    claim,
    mfu,
    model_flops_per_token,
    peak_tflops,
    tokens_per_s,
    training_budget,
)
from planner.training.job import Job, Layout, global_batch, tokens_per_step

PEAK = peak_tflops(H100)
LLAMA_70B = MODELS["llama-3-70b"]
OF_70_BILLION = 6 * 70.6e9


@pytest.mark.parametrize(("utilisation", "tokens"), [(0.35, 52), (0.40, 60), (0.45, 67), (0.50, 75)])
def test_tokens_per_second_of_64_h100(utilisation: float, tokens: int) -> None:
    """T3.5, C10: 70 billion parameters at an MFU of 35 to 50 % are 52,000 to 75,000 tokens/s."""
    assert round(tokens_per_s(OF_70_BILLION, 64, PEAK, utilisation) / 1000) == tokens


def test_impossible_throughput() -> None:
    """NC20: 380,000 tokens/s of 70.6 billion parameters are 161 PFLOP/s, and 64 H100 have 63.3: 254 %."""
    assert pytest.approx(161, abs=0.05) == OF_70_BILLION * 380e3 / 1e15
    assert pytest.approx(63.3, abs=0.05) == 64 * PEAK / 1000
    assert round(mfu(OF_70_BILLION, 64, PEAK, 380_000) * 100) == 254


@pytest.mark.parametrize(("tokens", "utilisation"), [(380_000, 0.52), (395_000, 0.54), (398_000, 0.55)])
def test_claims_that_no_gpu_can_meet(tokens: float, utilisation: float) -> None:
    """NC20, C10: the log's three pairs; at 52 % it would be about 78,000 tokens/s."""
    told = claim(LLAMA_70B, 64, PEAK, tokens_per_s_=tokens, mfu_=utilisation, sequence=4096)
    assert not told.possible
    assert not told.holds
    assert told.least_mfu > 2.5
    assert told.tokens_per_s_at_mfu == pytest.approx(78_000 * utilisation / 0.52, rel=0.005)


@pytest.mark.parametrize(
    ("tokens", "utilisation", "holds"),
    [
        (60_000, 0.40, True),
        # counted with attention: 12 x 80 x 8192 x 4096 on 6 x 70.6e9 are 7.6 % more
        (60_000, 0.432, True),
        (60_000, 0.52, False),
        (60_000, 0.30, False),
        (140_000, 0.94, True),
        (180_000, 1.1, False),
    ],
)
def test_claims_that_may_hold(tokens: float, utilisation: float, holds: bool) -> None:
    """NC20: both ways of counting are accepted, 10 % beside them, and nothing above the peak."""
    told = claim(LLAMA_70B, 64, PEAK, tokens_per_s_=tokens, mfu_=utilisation, sequence=4096)
    assert told.holds is holds


@given(gpus=st.integers(1, 100_000), utilisation=st.floats(0.01, 0.99), parameters=st.floats(1e8, 1e12))
def test_throughput_and_utilisation_say_the_same(gpus: int, utilisation: float, parameters: float) -> None:
    """T3.5: each follows from the other."""
    flops = 6 * parameters
    assert mfu(flops, gpus, PEAK, tokens_per_s(flops, gpus, PEAK, utilisation)) == pytest.approx(utilisation)


def test_attention_adds_to_the_operations_of_a_token() -> None:
    """T3.5: 12*L*h*s of Llama 3 8B at 8192 tokens is 12 x 32 x 4096 x 8192 = 12.9 GFLOP beside 48.2 of parameters."""
    llama = MODELS["llama-3-8b"]
    assert model_flops_per_token(llama, 8192) - model_flops_per_token(llama) == 12_884_901_888
    assert model_flops_per_token(llama) == 6 * 8_030_261_248
    assert model_flops_per_token(llama, full=False) == pytest.approx(4 * 8_030_261_248)


def test_attention_is_as_wide_as_its_heads() -> None:
    """T3.5: Qwen3 32B has 64 heads of 128 in a hidden size of 5120; DeepSeek compares 192 wide and adds up 128."""
    qwen, deepseek = MODELS["qwen3-32b"], MODELS["deepseek-v3"]
    assert model_flops_per_token(qwen, 1000) - model_flops_per_token(qwen) == 12 * 64 * 8192 * 1000
    attention = model_flops_per_token(deepseek, 1000) - model_flops_per_token(deepseek)
    assert attention == 6 * 61 * 128 * (192 + 128) * 1000


def test_only_active_parameters_compute() -> None:
    """C08: DeepSeek-V3 takes 6 x 37.6 billion operations a token, not 6 x 671, and is 17.9 times as fast for it."""
    deepseek = MODELS["deepseek-v3"]
    ratio = 6 * deepseek.parameters / model_flops_per_token(deepseek)
    assert ratio == pytest.approx(671.03 / 37.55, abs=0.01)


def test_peak_rates() -> None:
    """HW06, HW07, T3.5: by type: 989 and 1979 on H100; A100 has no FP8 and T4 neither that nor bf16."""
    assert (peak_tflops(H100), peak_tflops(H100, "fp8")) == (989, 1979)
    assert peak_tflops(A100_80, "fp8") == 312
    assert peak_tflops(T4) == peak_tflops(T4, "fp8") == 65


def test_global_batch_is_of_data_parallel_ranks() -> None:
    """NC21, C09: 64 GPUs with TP 8 and DP 8 take 4 x 8 = 32 sequences of 4096 tokens, 131,072, and not 256."""
    job = Job(micro_batch=4, sequence=4096)
    assert global_batch(job, Layout(tensor=8, data=8)) == 32
    assert tokens_per_step(job, Layout(tensor=8, data=8)) == 131_072
    assert global_batch(job, Layout(data=64)) == 256


def test_budget_of_a_training() -> None:
    """C11: a million tokens/s for ten days are 8.64e11 tokens, 216,000 steps of 4 million; at 100 USD/h 24,000 USD."""
    budget = training_budget(8.64e11, 6e9, 4_000_000, 1e6, 100)
    assert budget.days == pytest.approx(10)
    assert budget.steps == pytest.approx(216_000)
    assert budget.usd == pytest.approx(24_000)
    assert budget.flops == pytest.approx(5.184e21)
