"""Language models the runs and services can name, as their config.json and model card describe them.

A test adds the parameters up from the architecture. Every second layer of gpt-oss attends to 128 tokens (layer_types
and sliding_window of config.json); Llama 4's layers with chunked attention are rows like all others. Of Llama 4 the
vision tower is included in the parameters. DeepSeek-V3 and R1 are without the module that predicts further tokens.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from catalogue.model_types import Experts, Latent, Model

_FP8_BESIDE_ATTENTION = 1.2223
"""Attention, embeddings and the first and last layer stay in 16 bits: vLLM loads 57.752 GiB on each of 8 GPUs
(vllm-project/vllm, issue 6746)."""

_MXFP4 = (4 + 8 / 32) / 8
"""Bytes of a value of 4 bits, with a scale of 8 bits for each 32 values."""


def _models(
    publisher: str, table: str, own: Mapping[str, Any] = MappingProxyType({}), **shared: Any
) -> tuple[Model, ...]:
    """A publisher's models, one a line; the head names the columns. They share what is `shared`; `own` is what a model
    has beside the table, by its name.
    """
    (_, _, *columns), *lines = (line.split() for line in table.strip().splitlines())
    return tuple(
        Model(
            **{"name": name, "source": f"{publisher}/{published}: config.json and model card", "bytes_per_parameter": 2}
            | dict(zip(columns, map(int, numbers), strict=True))
            | shared
            | own.get(name, {})
        )
        for name, published, *numbers in lines
    )


_ROWS = (
    *_models(
        "meta-llama",
        """
        name        published      parameters  layers hidden ffn   heads kv_heads head_dim
        llama-2-7b  Llama-2-7b-hf  6738415616  32     4096   11008 32    32       128
        llama-2-13b Llama-2-13b-hf 13015864320 40     5120   13824 40    40       128
        llama-2-70b Llama-2-70b-hf 68976648192 80     8192   28672 64    8        128
        """,
        vocab=32_000,
        context=4096,
    ),
    *_models(
        "meta-llama",
        """
        name               published                   parameters   layers hidden ffn   heads kv_heads head_dim context
        llama-3-8b         Meta-Llama-3-8B             8030261248   32     4096   14336 32    8        128      8192
        llama-3-70b        Meta-Llama-3-70B            70553706496  80     8192   28672 64    8        128      8192
        llama-3.1-8b       Llama-3.1-8B                8030261248   32     4096   14336 32    8        128      131072
        llama-3.1-70b      Llama-3.1-70B               70553706496  80     8192   28672 64    8        128      131072
        llama-3.3-70b      Llama-3.3-70B-Instruct      70553706496  80     8192   28672 64    8        128      131072
        llama-3.1-405b     Llama-3.1-405B              405853388800 126    16384  53248 128   8        128      131072
        llama-3.1-405b-fp8 Llama-3.1-405B-Instruct-FP8 405853388800 126    16384  53248 128   8        128      131072
        llama-3.2-1b       Llama-3.2-1B                1235814400   16     2048   8192  32    8        64       131072
        llama-3.2-3b       Llama-3.2-3B                3212749824   28     3072   8192  24    8        128      131072
        """,
        {
            "llama-3.1-405b-fp8": {"bytes_per_parameter": _FP8_BESIDE_ATTENTION},
            "llama-3.2-1b": {"tied_embeddings": True},
            "llama-3.2-3b": {"tied_embeddings": True},
        },
        vocab=128_256,
    ),
    *_models(
        "meta-llama",
        """
        name             published                          parameters   ffn   context
        llama-4-scout    Llama-4-Scout-17B-16E-Instruct     108641793536 8192  10485760
        llama-4-maverick Llama-4-Maverick-17B-128E-Instruct 401583781376 16384 1048576
        """,
        {
            "llama-4-scout": {"experts": Experts(count=16, active=1, ffn=8192, layers=48, shared=1)},
            "llama-4-maverick": {"experts": Experts(count=128, active=1, ffn=8192, layers=24, shared=1)},
        },
        layers=48,
        hidden=5120,
        heads=40,
        kv_heads=8,
        head_dim=128,
        vocab=202_048,
    ),
    *_models(
        "mistralai",
        """
        name          published                   parameters   layers hidden ffn   heads kv_heads head_dim vocab context
        mistral-7b    Mistral-7B-v0.3             7248023552   32     4096   14336 32    8        128      32768 32768
        mixtral-8x7b  Mixtral-8x7B-v0.1           46702792704  32     4096   14336 32    8        128      32000 32768
        mixtral-8x22b Mixtral-8x22B-Instruct-v0.1 140630071296 56     6144   16384 48    8        128      32768 65536
        """,
        {
            "mixtral-8x7b": {"experts": Experts(count=8, active=2, ffn=14_336, layers=32)},
            "mixtral-8x22b": {"experts": Experts(count=8, active=2, ffn=16_384, layers=56)},
        },
    ),
    *_models(
        "Qwen",
        """
        name            published       parameters   layers hidden ffn   heads kv_heads head_dim vocab  context
        qwen2.5-7b      Qwen2.5-7B      7615616512   28     3584   18944 28    4        128      152064 131072
        qwen2.5-14b     Qwen2.5-14B     14770033664  48     5120   13824 40    8        128      152064 131072
        qwen2.5-32b     Qwen2.5-32B     32763876352  64     5120   27648 40    8        128      152064 131072
        qwen2.5-72b     Qwen2.5-72B     72706203648  80     8192   29568 64    8        128      152064 131072
        qwen3-4b        Qwen3-4B        4022468096   36     2560   9728  32    8        128      151936 40960
        qwen3-8b        Qwen3-8B        8190735360   36     4096   12288 32    8        128      151936 40960
        qwen3-14b       Qwen3-14B       14768307200  40     5120   17408 40    8        128      151936 40960
        qwen3-32b       Qwen3-32B       32762123264  64     5120   25600 64    8        128      151936 40960
        qwen3-30b-a3b   Qwen3-30B-A3B   30532122624  48     2048   6144  32    4        128      151936 40960
        qwen3-235b-a22b Qwen3-235B-A22B 235093634560 94     4096   12288 64    4        128      151936 40960
        """,
        {
            "qwen3-4b": {"tied_embeddings": True},
            "qwen3-30b-a3b": {"experts": Experts(count=128, active=8, ffn=768, layers=48)},
            "qwen3-235b-a22b": {"experts": Experts(count=128, active=8, ffn=1536, layers=94)},
        },
    ),
    *_models(
        "deepseek-ai",
        """
        name        published   parameters   layers hidden ffn   heads kv_heads head_dim vocab  context
        deepseek-v3 DeepSeek-V3 671026419200 61     7168   18432 128   128      128      129280 163840
        deepseek-r1 DeepSeek-R1 671026419200 61     7168   18432 128   128      128      129280 163840
        """,
        bytes_per_parameter=1,
        latent=Latent(kv_rank=512, query_rank=1536, nope_dim=128, rope_dim=64, value_dim=128),
        experts=Experts(count=256, active=8, ffn=2048, layers=58, shared=1),
    ),
    *_models(
        "openai",
        """
        name         published    parameters   layers windowed_layers hidden ffn  heads kv_heads head_dim vocab
        gpt-oss-20b  gpt-oss-20b  20914757184  24     12              2880   2880 64    8        64       201088
        gpt-oss-120b gpt-oss-120b 116829156672 36     18              2880   2880 64    8        64       201088
        """,
        {
            "gpt-oss-20b": {"experts": Experts(count=32, active=4, ffn=2880, layers=24, bytes_per_parameter=_MXFP4)},
            "gpt-oss-120b": {"experts": Experts(count=128, active=4, ffn=2880, layers=36, bytes_per_parameter=_MXFP4)},
        },
        window=128,
        context=131_072,
    ),
)

MODELS = {model.name: model for model in _ROWS}
