"""The command line of `vllm serve` (Q02), as a pure function of what a plan says.

Options are named as in vLLM 0.29.0 (vllm/engine/arg_utils.py, vllm/entrypoints/openai/cli_args.py). What vLLM does by
itself is not said: it caches the beginnings of prompts and cuts long ones wherever the model allows it, and takes
batches by the memory of its GPU.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from components._base import physical_name

LOOPBACK = "127.0.0.1"
PORT, ENGINE_PORT, TRITON_METRICS_PORT = 8000, 8001, 8002
"""Where a service answers; where vLLM or Triton itself listens, on the loopback of its pod, since callers come by the
door; and where Triton, there too, has its metrics.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Directory:
    """The directory `path` of a claim, which a container sees at the same path below `below`.

    `volume` names the claim in a pod: directories of one claim have one volume.
    """

    volume: str
    path: str
    below: str = ""

    @property
    def at(self) -> str:
        return f"{self.below}/{self.path}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LoraModule:
    """An adapter that callers ask for as the model `name`."""

    name: str
    directory: Directory


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """What a server is started with. The model is known as `name`, not by its directory (IN03).

    `quantization` and `kv_cache_dtype` are vLLM's words for what it makes of weights and cache, None for what the model
    says of itself; `max_num_seqs` and `max_num_batched_tokens` None are vLLM's own numbers. `max_loras` adapters of one
    batch, of ranks up to `max_lora_rank`, have room. After SIGTERM it goes on with what it has begun for
    `drain_seconds`.
    """

    name: str
    model: Directory
    tensor_parallel: int
    max_model_len: int
    gpu_memory_utilization: float
    drain_seconds: int
    quantization: str | None = None
    kv_cache_dtype: str | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    prefix_caching: bool = True
    chunked_prefill: bool = True
    adapters: Sequence[LoraModule] = ()
    max_loras: int = 0
    max_lora_rank: int = 0

    @property
    def names(self) -> list[str]:
        """The models that callers may ask for."""
        return [self.name, *(each.name for each in self.adapters)]

    @property
    def directories(self) -> list[Directory]:
        """What the server reads."""
        return [self.model, *(each.directory for each in self.adapters)]


def serve_command(engine: Engine) -> list[str]:
    """Command line of the server, independent of the image's entry point.

    Left to itself, vLLM takes a directory without safetensors for pickles, which run code of whoever wrote them
    (vllm/model_executor/model_loader/default_loader.py, _prepare_weights; torch.load).
    """
    given = {
        "quantization": engine.quantization,
        "kv-cache-dtype": engine.kv_cache_dtype,
        "max-num-seqs": engine.max_num_seqs,
        "max-num-batched-tokens": engine.max_num_batched_tokens,
    }
    return [
        "vllm",
        "serve",
        engine.model.at,
        f"--served-model-name={engine.name}",
        f"--tensor-parallel-size={engine.tensor_parallel}",
        f"--max-model-len={engine.max_model_len}",
        "--load-format=safetensors",
        f"--gpu-memory-utilization={engine.gpu_memory_utilization}",
        *(f"--{name}={value}" for name, value in given.items() if value is not None),
        *([] if engine.prefix_caching else ["--no-enable-prefix-caching"]),
        *([] if engine.chunked_prefill else ["--no-enable-chunked-prefill"]),
        *_adapters(engine),
        f"--shutdown-timeout={engine.drain_seconds}",
        f"--host={LOOPBACK}",
        f"--port={ENGINE_PORT}",
    ]


def _adapters(engine: Engine) -> list[str]:
    """vLLM takes the modules as one list of NAME=PATH after one option, which another option ends."""
    if not engine.adapters:
        return []
    return [
        "--enable-lora",
        "--lora-modules",
        *(f"{each.name}={each.directory.at}" for each in engine.adapters),
        f"--max-loras={engine.max_loras}",
        f"--max-lora-rank={engine.max_lora_rank}",
    ]


def compiled_path(image: str, model: str, gpu_product: str, tensor_parallel: int) -> str:
    """Where on the shared file system the graphs lie that a model was compiled to, for one image, GPU and parallelism.

    vLLM finds its own way below it, by a hash of everything that matters; that directory is VLLM_CACHE_ROOT, of which
    it says that what is written there may be run: servers of other models see nothing of it (vLLM 0.29.0,
    docs/design/torch_compile.md; docs/usage/security.md, "Cache Directory Security").
    """
    digest = hashlib.sha256(f"{image} {model} {gpu_product} {tensor_parallel}".encode()).hexdigest()[:8]
    return f"compiled/{physical_name(model, limit=60)}-{digest}"
