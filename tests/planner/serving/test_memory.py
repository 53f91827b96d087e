"""Weights and KV cache of a replica (Q02, C02)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.gpus import H100, H200, L40S
from catalogue.models import MODELS
from catalogue.types import Gpu
from planner.serving.memory import (
    KvCacheDtype,
    Quantization,
    decode_tokens_per_s,
    kv_bytes_per_token,
    kv_copies,
    read_bytes,
    serving_memory,
    weights_bytes,
)
from planner.training.layout import tensor_degrees

LLAMA_70B = MODELS["llama-3-70b"]


@pytest.mark.parametrize(
    ("model", "dtype", "size"),
    [
        ("llama-3-70b", "auto", 320 * 1024),
        ("llama-3-70b", "fp8", 160 * 1024),
        ("llama-3-8b", "auto", 128 * 1024),
        ("qwen2.5-7b", "auto", 57_344),
        ("llama-2-7b", "auto", 512 * 1024),
        ("deepseek-v3", "auto", 70_272),
        ("gpt-oss-120b", "fp8", 36_864),
    ],
)
def test_kv_cache_bytes_per_token(model: str, dtype: KvCacheDtype, size: int) -> None:
    """Q02, T3.6: 2 x layers x KV heads x head dimension x bytes; by hand 2 x 28 x 4 x 128 x 2 for Qwen, 2 x 32 x 32 x
    128 x 2 without grouping, 61 x (512 + 64) x 2 with a latent, 2 x 36 x 8 x 64 in fp8."""
    assert kv_bytes_per_token(MODELS[model], dtype) == size


@pytest.mark.parametrize(
    ("gpus", "gpu", "pool_gb", "thousands", "sequences"),
    [(4, H100, 134.9, 412, 50), (8, H100, 410.9, 1254, 153), (4, H200, 354.5, 1082, 132)],
)
def test_kv_cache_of_llama_70b(gpus: int, gpu: Gpu, pool_gb: float, thousands: int, sequences: int) -> None:
    """Q02, T3.6: pool, tokens and full sequences of 8192 beside 141 GB of weights, at 90 % use."""
    memory = serving_memory(LLAMA_70B, gpu.memory_gb, gpus, 0.9)
    assert memory.kv_cache_gb == pytest.approx(pool_gb, abs=0.05)
    assert round(memory.kv_cache_tokens / 1000) == thousands
    assert memory.sequences(8192) == sequences


def test_an_h100_reports_more_than_its_name_says() -> None:
    """T3.6: four GPUs of 85.5 GB have a pool of 155 GB, 472,000 tokens and 57 sequences; 80 GB is the safe side."""
    memory = serving_memory(LLAMA_70B, 85.5, 4, 0.9)
    assert memory.kv_cache_gb == pytest.approx(155, abs=0.5)
    assert round(memory.kv_cache_tokens / 1000) == 472
    assert memory.sequences(8192) == 57


def test_two_80_gb_gpus_hold_llama_70b_in_fp8_only() -> None:
    """C02, T3.6: 141 GB of weights leave nothing of 2 x 80 GB in bf16; 72.7 GB in fp8 leave 65.3."""
    assert serving_memory(LLAMA_70B, H100.memory_gb, 2, 0.9).kv_cache_gb < 0
    assert serving_memory(LLAMA_70B, H100.memory_gb, 2, 0.9).sequences(8192) == 0
    assert serving_memory(LLAMA_70B, H100.memory_gb, 2, 0.9, "fp8").kv_cache_gb == pytest.approx(65.3, abs=0.1)


@pytest.mark.parametrize(
    ("model", "quantization", "gigabytes"),
    [
        ("llama-3-8b", "none", 16.06),
        ("llama-3-8b", "fp8", 9.08),
        ("llama-3-8b", "int4", 5.73),
        ("llama-2-7b", "int4", 3.89),
        ("deepseek-v3", "fp8", 671.03),
        ("gpt-oss-120b", "fp8", 65.24),
    ],
)
def test_weights_by_quantization(model: str, quantization: Quantization, gigabytes: float) -> None:
    """C02: 6.979 billion in 1 byte or 4.156 bits, and 1.051 billion of embeddings in 2 bytes; what was published in
    less does not grow."""
    assert weights_bytes(MODELS[model], quantization) / 1e9 == pytest.approx(gigabytes, abs=0.01)


def test_latent_cache_stands_on_every_gpu() -> None:
    """C08: DeepSeek-V3 on 8 H200: 8 x 126.9 - 671.0 - 24 = 320.2 GB, of which each GPU's eighth holds every token's
    70,272 bytes: 569,500 tokens, where grouped heads would be divided."""
    memory = serving_memory(MODELS["deepseek-v3"], H200.memory_gb, 8, 0.9)
    assert memory.kv_cache_gb == pytest.approx(320.17, abs=0.01)
    assert memory.kv_cache_tokens == pytest.approx(320.17e9 / 8 / 70_272, rel=1e-4)


@pytest.mark.parametrize(
    ("model", "gpu", "quantization", "size"),
    [
        ("llama-3-70b", H100, "none", 4),
        ("llama-3-70b", H100, "int4", 1),
        ("llama-3-8b", L40S, "none", 1),
        ("llama-3-70b", L40S, "none", 4),
        ("llama-3.1-405b", H100, "none", None),
        ("llama-3.1-405b", H100, "fp8", 8),
    ],
)
def test_smallest_tensor_parallel_degree(model: str, gpu: Gpu, quantization: Quantization, size: int | None) -> None:
    """Q02: of 1, 2, 4 and 8 the smallest that leaves room for a sequence of 8192."""
    row = MODELS[model]
    held = {
        each: serving_memory(row, gpu.memory_gb, each, 0.9, quantization).sequences(8192)
        for each in tensor_degrees(row, 8)
    }
    assert next((each for each, sequences in held.items() if sequences), None) == size


def test_decoding_reads_the_active_weights_for_every_token() -> None:
    """Q02: 16.06 GB over 3.35 TB/s are 209 tokens/s at most; a mixture reads what is active: 37.55 of 671 GB."""
    assert decode_tokens_per_s(MODELS["llama-3-8b"], H100.memory_tb_per_s, 1) == pytest.approx(208.6, abs=0.1)
    assert decode_tokens_per_s(MODELS["deepseek-v3"], H200.memory_tb_per_s, 8) == pytest.approx(1022.6, abs=0.5)


NAMES = st.sampled_from(sorted(MODELS))
SIZES = st.sampled_from([1, 2, 4, 8])


@given(name=NAMES, tensor=SIZES, length=st.integers(256, 1 << 20), more=st.integers(1, 1 << 20))
def test_longer_sequences_never_free_memory(name: str, tensor: int, length: int, more: int) -> None:
    """Q02: raising maxModelLen never lets more sequences in, and what is in fits the pool."""
    memory = serving_memory(MODELS[name], H200.memory_gb, tensor, 0.9)
    assert memory.sequences(length + more) <= memory.sequences(length)
    used = memory.sequences(length) * length * memory.kv_bytes_per_token / 1e9
    assert used <= max(0.0, memory.kv_cache_gb) + 1e-6


@given(name=NAMES, tensor=SIZES, utilization=st.floats(0.1, 0.95))
def test_cache_grows_with_gpus_share_and_quantization(name: str, tensor: int, utilization: float) -> None:
    """Q02: more of a GPU, smaller weights or a smaller cache type never leave fewer tokens."""
    model = MODELS[name]

    def tokens(share: float = utilization, quantization: Quantization = "none", dtype: KvCacheDtype = "auto") -> int:
        return serving_memory(model, H200.memory_gb, tensor, share, quantization, dtype).kv_cache_tokens

    assert tokens(share=utilization + 0.03) > tokens()
    assert tokens() <= tokens(quantization="fp8") <= tokens(quantization="int4")
    assert abs(tokens(dtype="fp8")) >= abs(tokens())


@pytest.mark.parametrize(
    ("model", "tensor", "copies"),
    [("llama-3-70b", 4, 1), ("llama-3-70b", 8, 1), ("llama-3-70b", 16, 2), ("qwen2.5-7b", 8, 2), ("deepseek-v3", 8, 8)],
)
def test_cache_beyond_the_kv_heads_is_held_twice(model: str, tensor: int, copies: float) -> None:
    """16 GPUs hold 8 KV heads twice, so that the cache has half the tokens that its memory would hold."""
    assert kv_copies(MODELS[model], tensor) == copies
    memory = serving_memory(MODELS[model], 80, tensor, 0.9)
    assert memory.kv_cache_tokens == int(memory.kv_cache_gb * 1e9 // (memory.kv_bytes_per_token * copies))


def test_quantized_weights_are_read_in_their_own_size() -> None:
    """Int4 is published as such, fp8 is made of what was read."""
    assert read_bytes(LLAMA_70B, "int4") == weights_bytes(LLAMA_70B, "int4") < LLAMA_70B.weights_bytes / 3
    assert read_bytes(LLAMA_70B, "fp8") == read_bytes(LLAMA_70B) == LLAMA_70B.weights_bytes
