"""Language models the runs and services can name, as their config.json and model card describe them.

A test adds the parameters up from the architecture. Llama 4's layers with chunked attention are rows like all others.
"""

from catalogue.model_types import Experts, Latent, Model


def _model(
    name: str,
    published: str,
    parameters: int,
    *,
    body: tuple[int, int, int],
    attention: tuple[int, int, int],
    vocab: int,
    context: int,
    bytes_per_parameter: float = 2,
    tied_embeddings: bool = False,
    latent: Latent | None = None,
    experts: Experts | None = None,
    windowed_layers: int = 0,
    window: int = 0,
) -> Model:
    """A row: `body` is (layers, hidden, ffn), `attention` is (heads, KV heads, head dimension)."""
    return Model(
        name=name,
        parameters=parameters,
        layers=body[0],
        hidden=body[1],
        ffn=body[2],
        heads=attention[0],
        kv_heads=attention[1],
        head_dim=attention[2],
        vocab=vocab,
        context=context,
        bytes_per_parameter=bytes_per_parameter,
        tied_embeddings=tied_embeddings,
        latent=latent,
        experts=experts,
        windowed_layers=windowed_layers,
        window=window,
        source=f"{published}: config.json and model card",
    )


def _llama_2(size: str, parameters: int, body: tuple[int, int, int], attention: tuple[int, int, int]) -> Model:
    published = f"meta-llama/Llama-2-{size}-hf"
    name = f"llama-2-{size}"
    return _model(name, published, parameters, body=body, attention=attention, vocab=32_000, context=4096)


def _llama_3(name: str, published: str, context: int = 131_072) -> Model:
    """Llama 3, 3.1 and 3.3 in the two sizes they share."""
    large = name.endswith("70b")
    return _model(
        name,
        f"meta-llama/{published}",
        70_553_706_496 if large else 8_030_261_248,
        body=(80, 8192, 28_672) if large else (32, 4096, 14_336),
        attention=(64 if large else 32, 8, 128),
        vocab=128_256,
        context=context,
    )


def _llama_4(name: str, published: str, parameters: int, context: int, ffn: int, experts: Experts) -> Model:
    """Llama 4, vision tower included in the parameters. Dense layers, where there are any, have their own width."""
    return _model(
        name,
        f"meta-llama/{published}",
        parameters,
        body=(48, 5120, ffn),
        attention=(40, 8, 128),
        vocab=202_048,
        context=context,
        experts=experts,
    )


def _qwen(
    name: str,
    published: str,
    parameters: int,
    body: tuple[int, int, int],
    attention: tuple[int, int, int],
    *,
    vocab: int,
    tied_embeddings: bool = False,
    experts: Experts | None = None,
) -> Model:
    return _model(
        name,
        f"Qwen/{published}",
        parameters,
        body=body,
        attention=attention,
        vocab=vocab,
        context=40_960 if name.startswith("qwen3") else 131_072,
        tied_embeddings=tied_embeddings,
        experts=experts,
    )


def _deepseek(name: str, published: str) -> Model:
    """DeepSeek-V3 and R1 without the module that predicts further tokens; published in FP8."""
    return _model(
        name,
        f"deepseek-ai/{published}",
        671_026_419_200,
        body=(61, 7168, 18_432),
        attention=(128, 128, 128),
        vocab=129_280,
        context=163_840,
        bytes_per_parameter=1,
        latent=Latent(kv_rank=512, query_rank=1536, nope_dim=128, rope_dim=64, value_dim=128),
        experts=Experts(count=256, active=8, ffn=2048, layers=58, shared=1),
    )


def _gpt_oss(name: str, parameters: int, layers: int, experts: int) -> Model:
    """Published with experts in MXFP4: 4 bits, and a scale of 8 bits for each 32 values. Every second layer attends to
    128 tokens (layer_types and sliding_window of config.json)."""
    return _model(
        name,
        f"openai/{name}",
        parameters,
        body=(layers, 2880, 2880),
        attention=(64, 8, 64),
        vocab=201_088,
        context=131_072,
        experts=Experts(count=experts, active=4, ffn=2880, layers=layers, bytes_per_parameter=(4 + 8 / 32) / 8),
        windowed_layers=layers // 2,
        window=128,
    )


_FP8_BESIDE_ATTENTION = 1.2223
"""Attention, embeddings and the first and last layer stay in 16 bits: vLLM loads 57.752 GiB on each of 8 GPUs
(vllm-project/vllm, issue 6746)."""

_ROWS = (
    _llama_2("7b", 6_738_415_616, (32, 4096, 11_008), (32, 32, 128)),
    _llama_2("13b", 13_015_864_320, (40, 5120, 13_824), (40, 40, 128)),
    _llama_2("70b", 68_976_648_192, (80, 8192, 28_672), (64, 8, 128)),
    _llama_3("llama-3-8b", "Meta-Llama-3-8B", context=8192),
    _llama_3("llama-3-70b", "Meta-Llama-3-70B", context=8192),
    _llama_3("llama-3.1-8b", "Llama-3.1-8B"),
    _llama_3("llama-3.1-70b", "Llama-3.1-70B"),
    _llama_3("llama-3.3-70b", "Llama-3.3-70B-Instruct"),
    _model(
        "llama-3.1-405b",
        "meta-llama/Llama-3.1-405B",
        405_853_388_800,
        body=(126, 16_384, 53_248),
        attention=(128, 8, 128),
        vocab=128_256,
        context=131_072,
    ),
    _model(
        "llama-3.1-405b-fp8",
        "meta-llama/Llama-3.1-405B-Instruct-FP8",
        405_853_388_800,
        body=(126, 16_384, 53_248),
        attention=(128, 8, 128),
        vocab=128_256,
        context=131_072,
        bytes_per_parameter=_FP8_BESIDE_ATTENTION,
    ),
    _model(
        "llama-3.2-1b",
        "meta-llama/Llama-3.2-1B",
        1_235_814_400,
        body=(16, 2048, 8192),
        attention=(32, 8, 64),
        vocab=128_256,
        context=131_072,
        tied_embeddings=True,
    ),
    _model(
        "llama-3.2-3b",
        "meta-llama/Llama-3.2-3B",
        3_212_749_824,
        body=(28, 3072, 8192),
        attention=(24, 8, 128),
        vocab=128_256,
        context=131_072,
        tied_embeddings=True,
    ),
    _llama_4(
        "llama-4-scout",
        "Llama-4-Scout-17B-16E-Instruct",
        108_641_793_536,
        10_485_760,
        ffn=8192,
        experts=Experts(count=16, active=1, ffn=8192, layers=48, shared=1),
    ),
    _llama_4(
        "llama-4-maverick",
        "Llama-4-Maverick-17B-128E-Instruct",
        401_583_781_376,
        1_048_576,
        ffn=16_384,
        experts=Experts(count=128, active=1, ffn=8192, layers=24, shared=1),
    ),
    _model(
        "mistral-7b",
        "mistralai/Mistral-7B-v0.3",
        7_248_023_552,
        body=(32, 4096, 14_336),
        attention=(32, 8, 128),
        vocab=32_768,
        context=32_768,
    ),
    _model(
        "mixtral-8x7b",
        "mistralai/Mixtral-8x7B-v0.1",
        46_702_792_704,
        body=(32, 4096, 14_336),
        attention=(32, 8, 128),
        vocab=32_000,
        context=32_768,
        experts=Experts(count=8, active=2, ffn=14_336, layers=32),
    ),
    _model(
        "mixtral-8x22b",
        "mistralai/Mixtral-8x22B-Instruct-v0.1",
        140_630_071_296,
        body=(56, 6144, 16_384),
        attention=(48, 8, 128),
        vocab=32_768,
        context=65_536,
        experts=Experts(count=8, active=2, ffn=16_384, layers=56),
    ),
    _qwen("qwen2.5-7b", "Qwen2.5-7B", 7_615_616_512, (28, 3584, 18_944), (28, 4, 128), vocab=152_064),
    _qwen("qwen2.5-14b", "Qwen2.5-14B", 14_770_033_664, (48, 5120, 13_824), (40, 8, 128), vocab=152_064),
    _qwen("qwen2.5-32b", "Qwen2.5-32B", 32_763_876_352, (64, 5120, 27_648), (40, 8, 128), vocab=152_064),
    _qwen("qwen2.5-72b", "Qwen2.5-72B", 72_706_203_648, (80, 8192, 29_568), (64, 8, 128), vocab=152_064),
    _qwen("qwen3-4b", "Qwen3-4B", 4_022_468_096, (36, 2560, 9728), (32, 8, 128), vocab=151_936, tied_embeddings=True),
    _qwen("qwen3-8b", "Qwen3-8B", 8_190_735_360, (36, 4096, 12_288), (32, 8, 128), vocab=151_936),
    _qwen("qwen3-14b", "Qwen3-14B", 14_768_307_200, (40, 5120, 17_408), (40, 8, 128), vocab=151_936),
    _qwen("qwen3-32b", "Qwen3-32B", 32_762_123_264, (64, 5120, 25_600), (64, 8, 128), vocab=151_936),
    _qwen(
        "qwen3-30b-a3b",
        "Qwen3-30B-A3B",
        30_532_122_624,
        (48, 2048, 6144),
        (32, 4, 128),
        vocab=151_936,
        experts=Experts(count=128, active=8, ffn=768, layers=48),
    ),
    _qwen(
        "qwen3-235b-a22b",
        "Qwen3-235B-A22B",
        235_093_634_560,
        (94, 4096, 12_288),
        (64, 4, 128),
        vocab=151_936,
        experts=Experts(count=128, active=8, ffn=1536, layers=94),
    ),
    _deepseek("deepseek-v3", "DeepSeek-V3"),
    _deepseek("deepseek-r1", "DeepSeek-R1"),
    _gpt_oss("gpt-oss-20b", 20_914_757_184, 24, 32),
    _gpt_oss("gpt-oss-120b", 116_829_156_672, 36, 128),
)

MODELS = {model.name: model for model in _ROWS}
