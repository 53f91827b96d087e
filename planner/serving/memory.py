"""Memory of one replica of a model service: weights, overhead, and the KV cache that fits beside them."""

from dataclasses import dataclass
from typing import Literal

from catalogue.model_types import Model
from catalogue.units import BYTES_PER_GB

Quantization = Literal["none", "fp8", "int4"]
KvCacheDtype = Literal["auto", "fp8"]

_OVERHEAD_GB_PER_GPU = 3.0
_KV_BYTES: dict[KvCacheDtype, int] = {"auto": 2, "fp8": 1}
_KEYS_AND_VALUES = 2
_EMBEDDING_BYTES = 2
_INT4_GROUP = 128
_QUANTIZED_BYTES: dict[Quantization, float] = {"fp8": 1, "int4": (4 + (16 + 4) / _INT4_GROUP) / 8}


@dataclass(frozen=True, kw_only=True)
class ServingMemory:
    """One replica over all its GPUs, in decimal GB. `kv_cache_gb` is negative where the weights alone do not fit.

    `overhead_gb` is what activations and CUDA graphs take: 3 GB a GPU are assumed, as no vendor figure exists.
    `lora_gb` is kept free for adapters.
    """

    weights_gb: float
    overhead_gb: float
    lora_gb: float
    kv_cache_gb: float
    kv_bytes_per_token: int
    kv_cache_tokens: int

    def sequences(self, length: int) -> int:
        """Sequences of full length that the KV cache holds at a time."""
        return max(0, self.kv_cache_tokens) // length


def serving_memory(
    model: Model,
    gpu_gb: float,
    tensor: int,
    utilization: float,
    quantization: Quantization = "none",
    kv_cache_dtype: KvCacheDtype = "auto",
    lora_gb: float = 0.0,
) -> ServingMemory:
    """Memory of a replica on `tensor` GPUs of which vLLM may take the part `utilization`."""
    usable = tensor * gpu_gb * utilization
    weights = weights_bytes(model, quantization) / BYTES_PER_GB
    overhead = tensor * _OVERHEAD_GB_PER_GPU
    pool = usable - weights - overhead - lora_gb
    per_token = kv_bytes_per_token(model, kv_cache_dtype)
    copies = kv_copies(model, tensor)
    return ServingMemory(
        weights_gb=weights,
        overhead_gb=overhead,
        lora_gb=lora_gb,
        kv_cache_gb=pool,
        kv_bytes_per_token=per_token,
        kv_cache_tokens=int(pool * BYTES_PER_GB // (per_token * copies)),
    )


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
    """Bytes of the weights as they are loaded; never more than the published ones.

    vLLM quantizes linear layers and leaves embeddings and the output layer in 16 bits (vLLM documentation, "FP8
    W8A8"). int4 is 4 bits, and a 16-bit scale and a 4-bit zero for each group of 128 (AWQ and GPTQ).
    """
    if quantization == "none":
        return model.weights_bytes
    linear = (model.parameters - model.embedding_parameters) * _QUANTIZED_BYTES[quantization]
    return min(model.weights_bytes, round(linear + model.embedding_parameters * _EMBEDDING_BYTES))


def decode_tokens_per_s(
    model: Model, memory_tb_per_s: float, tensor: int, quantization: Quantization = "none"
) -> float:
    """Upper bound of tokens per second of a single request: every token reads the active weights once."""
    part = model.active_parameters / model.parameters
    return memory_tb_per_s * 1000 * tensor / (weights_bytes(model, quantization) / BYTES_PER_GB * part)
