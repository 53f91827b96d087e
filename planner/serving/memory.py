"""Memory of one replica of a model service: weights, overhead, and the KV cache that fits beside them.

vLLM loads the weights, runs a pass of the most tokens that a step may have and a sampler of the most requests, and
gives what that leaves of its share to the KV cache (vLLM 0.29.0, vllm/v1/worker/gpu_worker.py).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Literal

from catalogue.model_types import Model
from catalogue.types import Gpu
from catalogue.units import BYTES_PER_GB

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What --max-lora-rank takes. Source: vLLM 0.29.0, vllm/config/lora.py, MaxLoRARanks."""

_BYTES = 2


@dataclass(frozen=True, kw_only=True)
class AdapterPlan:
    """An adapter as a service offers it: by `name`, copied from `weights` within `copy_seconds` where it is copied,
    with the digest of their SHA256SUMS if somebody said it.
    """

    name: str
    weights: str
    weights_sha256: str | None
    rank: int
    copy_seconds: int


@dataclass(frozen=True, kw_only=True)
class LoraRoom:
    """What vLLM sets aside for adapters: `adapters` of one batch of a rank up to `rank`, in decimal GB of all GPUs."""

    adapters: int
    rank: int
    gb: float


NO_ADAPTERS = LoraRoom(adapters=0, rank=0, gb=0.0)


def room_for(model: Model, tensor: int, ranks: Iterable[int], at_once: int | None) -> LoraRoom:
    """The room for adapters of these ranks, `at_once` of them in a batch (None: all), on `tensor` GPUs.

    The smallest rank that vLLM takes and every adapter fits in; its largest where none is enough.
    """
    wanted = list(ranks)
    if not wanted:
        return NO_ADAPTERS
    rank = next((each for each in RANKS if each >= max(wanted)), RANKS[-1])
    adapters = len(wanted) if at_once is None else at_once
    size = _BYTES * adapters * rank * tensor * elements_per_rank(model, tensor) / BYTES_PER_GB
    return LoraRoom(adapters=adapters, rank=rank, gb=size)


def elements_per_rank(model: Model, tensor: int) -> float:
    """Elements that one adapter takes on each of `tensor` GPUs for each of its ranks.

    vLLM allocates both factors of every linear layer, used or not: the one with the rank before it whole for the
    column parallel layers and in parts for the row parallel ones, the other the other way round; embedding and output
    layer whole (vLLM 0.29.0, vllm/lora/layers: column_parallel_linear.py, base_linear.py, fused_moe.py,
    vocab_parallel_embedding.py, logits_processor.py; fully_sharded_loras is off).
    """
    experts = model.experts
    dense = model.layers - (experts.layers if experts else 0)
    per_layer = model.layers * _attention(model, tensor) + dense * _feed_forward(model.hidden, model.ffn, tensor)
    if experts:
        routed = experts.layers * (experts.count + experts.shared)
        per_layer += routed * _feed_forward(model.hidden, experts.ffn, tensor)
    return per_layer + 2 * (model.vocab + model.hidden)


def _attention(model: Model, tensor: int) -> float:
    if latent := model.latent:
        into = 2 * model.hidden + latent.query_rank + latent.kv_rank + latent.rope_dim
        heads = model.heads * (2 * latent.nope_dim + latent.rope_dim + 2 * latent.value_dim) / tensor
        return into + latent.query_rank + latent.kv_rank + heads + model.hidden
    queries, keys = model.heads * model.head_dim, model.kv_heads * model.head_dim
    return 3 * model.hidden + (queries + 2 * keys) / tensor + queries / tensor + model.hidden


def _feed_forward(hidden: int, ffn: int, tensor: int) -> float:
    return 2 * hidden + 2 * ffn / tensor + ffn / tensor + hidden


Quantization = Literal["none", "fp8", "int4"]
KvCacheDtype = Literal["auto", "fp8"]

_GIB = 2**30 / 1e9
_KEPT_BY_DRIVER_GB = 0.5 * _GIB
"""What the driver reports and CUDA does not show: 80 GB GPUs 79.1 to 79.25 GiB of 79.6 to 80.0, an H200 139.8 of 140.4
(lines of vLLM's log, "total_gpu_memory" and "Free memory on device")."""

GRAPHS_GB = 0.35 * _GIB
_BESIDE_TORCH_GB = (0.2 * _GIB, 0.6 * _GIB)
"""CUDA graphs (0.23 to 1.0 GiB printed by vLLM 0.22 to 0.31 for 51 to 86 graphs), and what is allocated beside PyTorch
on one GPU (0.07 to 0.35) and on each of several (0.55), with NCCL's buffers."""

_SAMPLER_BYTES = 38.5
"""Of each request and word of the vocabulary. Fitted to peaks that vLLM printed on H100 with 1,024 requests: 4.76 GiB
(Llama 3.1 8B), 5.56 (Qwen3 0.6B), 7.38 (gpt-oss 20B); and to 1.44 GiB with 256 on A100 (Llama 3.1 8B, vLLM 0.31)."""

_HIDDEN_PASSES = 5
_LARGE_GB, _HOPPER = 70 * _GIB, 9
_BATCH = {True: (8192, 1024), False: (2048, 256)}
"""Tokens of a step and requests of a batch where the stack file says neither: on GPUs from 70 GiB but A100, and on the
others (vLLM, vllm/engine/arg_utils.py, get_batch_defaults)."""

_MXFP4_HIDDEN, _MXFP4_WIDTH = 256, {True: 64, False: 128}
"""What vLLM rounds hidden units and an expert's part on a GPU up to, in MXFP4: for Triton's kernels from Hopper on, for
Marlin's before (vllm/model_executor/layers/quantization/mxfp4.py). It prints 64.38 GiB for the 60.8 of gpt-oss-120b."""
_BLOCK_TOKENS = 16

_KV_BYTES: dict[KvCacheDtype, int] = {"auto": 2, "fp8": 1}
_KEYS_AND_VALUES = 2
_EMBEDDING_BYTES = 2
_INT4_GROUP = 128
_QUANTIZED_BYTES: dict[Quantization, float] = {"fp8": 1, "int4": (4 + (16 + 4) / _INT4_GROUP) / 8}


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The largest step that the server is started for: `tokens` of a pass, `requests` that are sampled."""

    tokens: int
    requests: int


@dataclass(frozen=True, kw_only=True)
class ServingMemory:
    """One replica over all its GPUs, in decimal GB. `kv_cache_gb` is negative where the weights alone do not fit.

    `overhead_gb` is what the largest step, CUDA graphs and libraries take. `lora_gb` is kept free for adapters. Of
    `kv_bytes_per_token`, held `kv_copies` times, the `windowed` part ends after `window` tokens of a sequence.
    """

    weights_gb: float
    overhead_gb: float
    lora_gb: float
    kv_cache_gb: float
    kv_bytes_per_token: int
    kv_copies: float
    windowed: float
    window: int

    def tokens(self, length: int) -> int:
        """Tokens that the KV cache holds in sequences of that length, as vLLM prints them for maxModelLen."""
        kept = 1 - self.windowed * max(0, 1 - self.window / length)
        return int(self.kv_cache_gb * BYTES_PER_GB // (self.kv_bytes_per_token * self.kv_copies * kept))

    def sequences(self, length: int) -> int:
        """Sequences of full length that the KV cache holds at a time."""
        return max(0, self.tokens(length)) // length

    def longest(self) -> int:
        """Tokens of the longest sequence that the KV cache holds."""
        whole = self.kv_cache_gb * BYTES_PER_GB / (self.kv_bytes_per_token * self.kv_copies)
        return int(max(0, whole, (whole - self.windowed * self.window) / (1 - self.windowed)))


def visible_gb(gpu: Gpu) -> float:
    """What CUDA shows of a GPU."""
    return gpu.driver_gb - _KEPT_BY_DRIVER_GB


def batch(gpu: Gpu, gpu_gb: float, tokens: int | None = None, requests: int | None = None) -> Batch:
    """What the stack file says of a step, else what vLLM chooses for a GPU, or a slice of it, that shows `gpu_gb`."""
    usual = _BATCH[gpu_gb >= _LARGE_GB and "A100" not in gpu.name]
    tokens = tokens or usual[0]
    return Batch(tokens=tokens, requests=requests or min(usual[1], tokens))


def serving_memory(
    model: Model,
    gpu: Gpu,
    tensor: int,
    utilization: float,
    quantization: Quantization = "none",
    kv_cache_dtype: KvCacheDtype = "auto",
    lora_gb: float = 0.0,
    step: Batch | None = None,
    gpu_gb: float | None = None,
) -> ServingMemory:
    """Memory of a replica on `tensor` GPUs, or slices that show `gpu_gb`; vLLM may take the part `utilization`."""
    shown = gpu_gb or visible_gb(gpu)
    step = step or batch(gpu, shown)
    weights = loaded_bytes(model, gpu, tensor, quantization) / BYTES_PER_GB
    overhead = tensor * overhead_gb(model, tensor, step)
    return ServingMemory(
        weights_gb=weights,
        overhead_gb=overhead,
        lora_gb=lora_gb,
        kv_cache_gb=tensor * shown * utilization - weights - overhead - lora_gb,
        kv_bytes_per_token=kv_bytes_per_token(model, kv_cache_dtype),
        kv_copies=kv_copies(model, tensor),
        windowed=model.windowed_layers / model.layers,
        window=model.window - 1 + step.tokens + _BLOCK_TOKENS,
    )


def overhead_gb(model: Model, tensor: int, step: Batch) -> float:
    """What each GPU keeps free for the largest step: the layers' pass or the sampler, whichever takes more."""
    sampler = _SAMPLER_BYTES * step.requests * model.vocab
    passing = step.tokens * _pass_bytes(model, tensor)
    return max(sampler, passing) / BYTES_PER_GB + _BESIDE_TORCH_GB[tensor > 1] + GRAPHS_GB


def _pass_bytes(model: Model, tensor: int) -> float:
    """Bytes of a token: gate, up and their product of the GPU's part, or those of its experts; residuals and norms on
    every GPU.
    """
    inner = 3 * model.ffn / tensor
    if experts := model.experts:
        inner = max(inner, experts.active * (model.hidden + 3 * experts.ffn / tensor))
    return _KV_BYTES["auto"] * (inner + _HIDDEN_PASSES * model.hidden)


def kv_bytes_per_token(model: Model, kv_cache_dtype: KvCacheDtype = "auto") -> int:
    """Bytes of the KV cache of one token: 2 x layers x KV heads x head dimension x bytes of the cache's type.

    Latent attention caches one vector per layer instead, (latent + rotary dimension), on every tensor parallel GPU
    (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1). `auto` is the model's own 16 bits.
    """
    if model.latent:
        return model.layers * (model.latent.kv_rank + model.latent.rope_dim) * _KV_BYTES[kv_cache_dtype]
    return _KEYS_AND_VALUES * model.layers * model.kv_heads * model.head_dim * _KV_BYTES[kv_cache_dtype]


def kv_copies(model: Model, tensor: int) -> float:
    """GPUs that hold the cache of the same token: all with latent attention, else those beyond one for each KV head."""
    return tensor if model.latent else max(1.0, tensor / model.kv_heads)


def read_bytes(model: Model, quantization: Quantization = "none") -> int:
    """Bytes that a replica reads when it starts: fp8 is made of the published weights after they are read, while int4
    weights are published as such (vLLM documentation, "Quantization": FP8 online, AWQ and GPTQ offline).
    """
    return weights_bytes(model, quantization) if quantization == "int4" else model.weights_bytes


def weights_bytes(model: Model, quantization: Quantization = "none") -> int:
    """Bytes of the weights; never more than the published ones.

    vLLM quantizes linear layers and leaves embeddings and the output layer in 16 bits (vLLM documentation, "FP8
    W8A8"). int4 is 4 bits, and a 16-bit scale and a 4-bit zero for each group of 128 (AWQ and GPTQ).
    """
    if quantization == "none":
        return model.weights_bytes
    linear = (model.parameters - model.embedding_parameters) * _QUANTIZED_BYTES[quantization]
    return min(model.weights_bytes, round(linear + model.embedding_parameters * _EMBEDDING_BYTES))


def loaded_bytes(model: Model, gpu: Gpu, tensor: int, quantization: Quantization = "none") -> float:
    """Bytes of the weights on all GPUs, with what fills experts in MXFP4 up to the sizes of their kernels."""
    size, experts = weights_bytes(model, quantization), model.experts
    if experts is None or experts.bytes_per_parameter is None:
        return size
    width, own = _MXFP4_WIDTH[gpu.compute_capability >= _HOPPER], experts.ffn / tensor
    filled = ceil(model.hidden / _MXFP4_HIDDEN) * _MXFP4_HIDDEN / model.hidden * ceil(own / width) * width / own
    return size + (filled - 1) * model.expert_parameters * experts.bytes_per_parameter


def decode_tokens_per_s(
    model: Model, memory_tb_per_s: float, tensor: int, quantization: Quantization = "none"
) -> float:
    """Upper bound of tokens per second of a single request: every token reads the active weights once."""
    part = model.active_parameters / model.parameters
    return memory_tb_per_s * 1000 * tensor / (weights_bytes(model, quantization) / BYTES_PER_GB * part)
