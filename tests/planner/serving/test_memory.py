"""Weights and KV cache of a replica (Q02, C02)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.gpus import A100_80, H100, H200, L40S
from catalogue.models import MODELS
from catalogue.types import Gpu
from planner.serving.memory import (
    GRAPHS_GB,
    Batch,
    KvCacheDtype,
    Quantization,
    ServingMemory,
    batch,
    decode_tokens_per_s,
    kv_bytes_per_token,
    kv_copies,
    loaded_bytes,
    read_bytes,
    serving_memory,
    visible_gb,
    weights_bytes,
)
from planner.training.job import tensor_degrees

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


def room(gpu: Gpu, model: str, tensor: int, use: float = 0.9, quantization: Quantization = "none") -> ServingMemory:
    """Memory of a replica on such GPUs, as CUDA shows them."""
    return serving_memory(MODELS[model], gpu, tensor, use, quantization)


SOONER, GRAPHS = Batch(tokens=8192, requests=256), GRAPHS_GB * 1e9 / 2**30
NCCL = 0.93 + (4.52 - 0.93) * (4 - 2) / (8 - 2)
"""GiB of NCCL's buffers on each of four H100: 78.57 GiB free become 77.64 on two (llm-d), 78.59 become 74.07 (vLLM,
pull 25359, taken for eight)."""


@pytest.mark.parametrize(
    ("printed", "gpu", "model", "tensor", "use", "quantization", "step", "besides"),
    [
        (6.74, H100, "llama-3.1-70b", 1, 0.98, "fp8", SOONER, 0),
        (53.29, H100, "llama-3-8b", 1, 0.9, "none", SOONER, 0),
        (51.38, H100, "llama-3.1-8b", 1, 0.9, "none", None, GRAPHS),
        (32.0, H100, "llama-3.3-70b", 2, 0.9, "fp8", None, GRAPHS),
        (34.49, H100, "qwen3-32b", 2, 0.9, "none", None, GRAPHS),
        (4.45, H100, "qwen3-32b", 1, 0.9, "none", None, GRAPHS),
        (50.28, H100, "gpt-oss-20b", 1, 0.9, "none", None, GRAPHS),
        (3.33, H100, "gpt-oss-120b", 1, 0.95, "none", None, GRAPHS),
        (36.56, A100_80, "gpt-oss-20b", 1, 0.65, "none", None, 0),
        (56.21, A100_80, "llama-3.1-8b", 1, 0.92, "none", None, 0),
        (8.11, H100, "qwen3-235b-a22b", 4, 0.9, "fp8", None, GRAPHS - NCCL),
    ],
)
def test_cache_that_vllm_printed(
    printed: float,
    gpu: Gpu,
    model: str,
    tensor: int,
    use: float,
    quantization: Quantization,
    step: Batch | None,
    besides: float,
) -> None:
    """Q02: GiB of KV cache a GPU in vLLM's own logs, within 10 %, where a release counted other things than today's:
    256 requests before 0.8, no CUDA graphs before 0.21 (0.19 for A100), NCCL's buffers before October 2025 (pull
    25359). Sources in order: vllm-project/vllm, pull 12569 (22,096 tokens of 320 KiB) and pull 10511; six of
    llm-d/llm-d-benchmark, config_explorer/empirical-vllm-memory-results.md; logs of vLLM 0.19 (myoceane.fr, April 2026)
    and 0.31 on A100; issue 21348 of July 2025."""
    memory = serving_memory(MODELS[model], gpu, tensor, use, quantization, step=step)
    assert memory.kv_cache_gb / tensor * 1e9 / 2**30 + besides == pytest.approx(printed, rel=0.10)


@pytest.mark.parametrize(
    ("gpu", "model", "printed"),
    [(H100, "gpt-oss-120b", 64.38), (H100, "gpt-oss-20b", 13.47), (A100_80, "gpt-oss-20b", 13.72)],
)
def test_experts_in_mxfp4_are_filled_up(gpu: Gpu, model: str, printed: float) -> None:
    """Q02: GiB that vLLM says loading the model took: 2,880 hidden units become 3,072, before Hopper 2,880 of an
    expert's width 2,944 too. Sources: vllm-project/vllm, issue 33155 (0.14.1); llm-d; myoceane.fr (0.19)."""
    assert loaded_bytes(MODELS[model], gpu, 1) / 2**30 == pytest.approx(printed, rel=0.005)
    assert loaded_bytes(LLAMA_70B, gpu, 1) == LLAMA_70B.weights_bytes


@pytest.mark.parametrize(("length", "tokens"), [(8192, 1.0), (16_384, 4 / 3), (131_072, 1.87)])
def test_layers_with_a_window_keep_no_more_than_it(length: int, tokens: float) -> None:
    """Q02: vLLM prints full sequences x maxModelLen, and half of the layers of gpt-oss keep 128 tokens and a step's
    8,192 of each (vllm/v1/core/kv_cache_utils.py; kv_cache_interface.py, SlidingWindowSpec)."""
    memory = room(H100, "gpt-oss-20b", 1)
    whole = memory.kv_cache_gb * 1e9 / memory.kv_bytes_per_token
    assert memory.tokens(length) / whole == pytest.approx(tokens, rel=0.02)
    assert memory.sequences(memory.longest()) == 1
    assert memory.sequences(memory.longest() + 2) == 0


def test_weights_of_a_checkpoint_in_fp8_with_attention_in_16_bits() -> None:
    """HW07: vLLM loads 57.752 GiB of Llama 3.1 405B FP8 on each of 8 GPUs (vllm-project/vllm, issue 6746), 86 GB more
    than if every matrix had one byte."""
    published = room(H100, "llama-3.1-405b-fp8", 8)
    assert published.weights_gb == pytest.approx(8 * 57.752 * 2**30 / 1e9, rel=1e-3)
    made = room(H100, "llama-3.1-405b", 8, quantization="fp8")
    assert published.weights_gb - made.weights_gb == pytest.approx(86, abs=1)


def test_the_largest_step_takes_room_from_the_cache() -> None:
    """Q02: four times the tokens of a pass, or of the requests that are sampled, and the cache shrinks by what they
    take: 165 kB of 8192 x 70B-wide activations a token on one GPU of four, 38.5 bytes a request and word."""

    def cache(tokens: int, requests: int) -> float:
        step = Batch(tokens=tokens, requests=requests)
        return serving_memory(LLAMA_70B, H100, 4, 0.9, step=step).kv_cache_gb / 4

    token = 2 * (3 * 28_672 / 4 + 5 * 8192)
    assert cache(16_384, 64) - cache(65_536, 64) == pytest.approx(49_152 * token / 1e9)
    assert cache(2048, 512) - cache(2048, 2048) == pytest.approx(1536 * 38.5 * 128_256 / 1e9)
    assert batch(H100, 85) == Batch(tokens=8192, requests=1024)
    assert batch(A100_80, 85) == batch(L40S, 47) == batch(H100, 42) == Batch(tokens=2048, requests=256)
    assert batch(H100, 85, 4096, 32) == Batch(tokens=4096, requests=32)
    assert batch(H100, 85, 100) == Batch(tokens=100, requests=100)


def test_cuda_shows_less_than_the_driver_reports() -> None:
    """T3.6: 79.1 GiB of an H100 and 139.9 of an H200, which are 85.0 and 150.2 decimal GB."""
    assert visible_gb(H100) == pytest.approx(85.0, abs=0.05)
    assert visible_gb(H200) == pytest.approx(150.2, abs=0.05)


def test_two_80_gb_gpus_hold_llama_70b_in_fp8_only() -> None:
    """C02, T3.6: 141 GB of weights leave too little of two H100 in bf16 for a sequence of 128k; in fp8 72.7 GB leave
    68 GB, 1.6 of them."""
    assert room(H100, "llama-3.1-70b", 2).sequences(131_072) == 0
    assert room(H100, "llama-3.1-70b", 2, quantization="fp8").kv_cache_gb == pytest.approx(68.2, abs=0.2)
    assert room(H100, "llama-3.1-70b", 2, quantization="fp8").sequences(131_072) == 1


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
    """C08: DeepSeek-V3 on 8 H200: each GPU's eighth of the cache holds every token's 70,272 bytes, where grouped heads
    would be divided."""
    memory = room(H200, "deepseek-v3", 8)
    assert memory.tokens(8192) == pytest.approx(memory.kv_cache_gb * 1e9 / 8 / 70_272, rel=1e-4)


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
    held = {each: serving_memory(row, gpu, each, 0.9, quantization).sequences(8192) for each in tensor_degrees(row, 8)}
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
    memory = room(H200, name, tensor)
    assert memory.sequences(length + more) <= memory.sequences(length)
    used = memory.sequences(length) * length * memory.kv_bytes_per_token * (1 - memory.windowed) / 1e9
    assert used <= max(0.0, memory.kv_cache_gb) + 1e-6


@given(name=NAMES, tensor=SIZES, utilization=st.floats(0.1, 0.95))
def test_cache_grows_with_gpus_share_and_quantization(name: str, tensor: int, utilization: float) -> None:
    """Q02: more of a GPU, smaller weights or a smaller cache type never leave fewer tokens."""
    model = MODELS[name]

    def tokens(share: float = utilization, quantization: Quantization = "none", dtype: KvCacheDtype = "auto") -> int:
        return serving_memory(model, H200, tensor, share, quantization, dtype).tokens(8192)

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
    memory = room(H100, model, tensor)
    assert memory.tokens(8192) == int(memory.kv_cache_gb * 1e9 // (memory.kv_bytes_per_token * copies))


def test_quantized_weights_are_read_in_their_own_size() -> None:
    """Int4 is published as such, fp8 is made of what was read."""
    assert read_bytes(LLAMA_70B, "int4") == weights_bytes(LLAMA_70B, "int4") < LLAMA_70B.weights_bytes / 3
    assert read_bytes(LLAMA_70B, "fp8") == read_bytes(LLAMA_70B) == LLAMA_70B.weights_bytes
