"""Model rows: parameters add up from the architecture (C01, C02)."""

from dataclasses import replace

import pytest

from catalogue.model_types import Experts, Model
from catalogue.models import MODELS

VISION = 871_932_416
"""Llama 4's vision tower and projector."""


def _attention(model: Model) -> int:
    """Parameters of one attention block, with the biases and norms that the family has."""
    queries, keys = model.heads * model.head_dim, model.kv_heads * model.head_dim
    if (latent := model.latent) is not None:
        down = model.hidden * (latent.query_rank + latent.kv_rank + latent.rope_dim)
        up = latent.query_rank * model.heads * (latent.nope_dim + latent.rope_dim)
        up += latent.kv_rank * model.heads * (latent.nope_dim + latent.value_dim)
        return down + up + model.heads * latent.value_dim * model.hidden + latent.query_rank + latent.kv_rank
    matrices = 2 * model.hidden * queries + 2 * model.hidden * keys
    if model.name.startswith("qwen2.5"):
        return matrices + queries + 2 * keys
    if model.name.startswith("qwen3"):
        return matrices + 2 * model.head_dim
    if model.name.startswith("gpt-oss"):
        return matrices + queries + 2 * keys + model.hidden + model.heads
    return matrices


def _mixture(model: Model, experts: Experts) -> int:
    """Parameters of a layer's experts and router beside the routed experts' three matrices."""
    router = model.hidden * experts.count
    shared = 3 * model.hidden * experts.ffn * experts.shared
    if model.name.startswith("gpt-oss"):
        return router + experts.count + experts.count * (2 * experts.ffn + model.hidden)
    return router + shared + (experts.count if model.latent else 0)


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_parameters_add_up_from_the_architecture(model: Model) -> None:
    """C01: every field of a row that decides memory takes part in the sum, so a wrong one shows."""
    experts = model.experts
    moe_layers = experts.layers if experts else 0
    total = model.embedding_parameters + model.hidden
    total += model.layers * (_attention(model) + 2 * model.hidden)
    total += (model.layers - moe_layers) * 3 * model.hidden * model.ffn
    if experts:
        total += moe_layers * (3 * model.hidden * experts.ffn * experts.count + _mixture(model, experts))
    total += VISION if model.name.startswith("llama-4") else 0
    assert model.parameters == total


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("llama-2-7b", 14),
        ("llama-2-13b", 26),
        ("llama-3-8b", 16),
        ("llama-3-70b", 141),
        ("llama-3.1-405b", 812),
        ("deepseek-v3", 671),
        ("gpt-oss-120b", 65),
    ],
)
def test_weights_as_published(name: str, gigabytes: int) -> None:
    """C02, T3.5: two bytes a parameter; DeepSeek in FP8; gpt-oss with experts in MXFP4 (60.8 GiB)."""
    assert MODELS[name].weights_bytes / 1e9 == pytest.approx(gigabytes, rel=0.04)


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("mixtral-8x7b", 12.9),
        ("mixtral-8x22b", 39.1),
        ("llama-4-scout", 18.0),
        ("qwen3-30b-a3b", 3.3),
        ("qwen3-235b-a22b", 22.2),
        ("deepseek-v3", 37.6),
        ("llama-3-8b", 8.03),
    ],
)
def test_active_parameters(name: str, billions: float) -> None:
    """C08: a token passes the chosen experts and everything that is no expert; model cards say 13, 39, 17 (without
    the vision tower), 3, 22 and 37 billion."""
    assert MODELS[name].active_parameters / 1e9 == pytest.approx(billions, abs=0.1)


def test_rows_that_cannot_be_are_refused() -> None:
    """C01: a site's row with a size of 0, or with more experts than parameters, is no model."""
    mixtral = MODELS["mixtral-8x7b"]
    assert mixtral.experts is not None
    with pytest.raises(ValueError, match="has a size of 0"):
        replace(mixtral, kv_heads=0)
    with pytest.raises(ValueError, match="33 layers with experts are more than the 32"):
        replace(mixtral, experts=replace(mixtral.experts, layers=33))
    with pytest.raises(ValueError, match="the experts alone are"):
        replace(mixtral, experts=replace(mixtral.experts, count=9))
    with pytest.raises(ValueError, match="9 of 8 experts"):
        replace(mixtral.experts, active=9)
