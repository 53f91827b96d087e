"""Activations against the formulas of Korthikanti et al. 2022 (O03)."""

import pytest

from catalogue.model_types import Model
from catalogue.models import MODELS
from planner.training.activations import activation_bytes, kept_per_layer, output_bytes
from planner.training.job import Job, Layout, Recompute

GPT_3 = Model(
    name="gpt-3-175b",
    parameters=174_600_000_000,
    layers=96,
    hidden=12_288,
    heads=96,
    kv_heads=96,
    head_dim=128,
    ffn=49_152,
    vocab=51_200,
    context=2048,
    bytes_per_parameter=2,
    source="Korthikanti et al. 2022, table 3",
)
LLAMA_8B = MODELS["llama-3-8b"]
BLOCK = 8192 * 4096
"""s x b x h of one sequence of Llama 3 8B."""


def test_scores_are_most_of_gpt_3s_activations() -> None:
    """O03: the paper's 5*a*s/h = 80 for GPT-3, so that selective recomputation saves 80 of 114, 70 %."""
    job = Job(recompute="none", sequence=2048)
    none = kept_per_layer(job, GPT_3, Layout(tensor=8))
    selective = kept_per_layer(Job(recompute="selective", sequence=2048), GPT_3, Layout(tensor=8))
    assert none == 2048 * 12_288 * (34 + 80) / 8
    assert selective == 2048 * 12_288 * 34 / 8
    assert 1 - selective / none == pytest.approx(0.70, abs=0.005)


@pytest.mark.parametrize(("recompute", "factor"), [("none", 34 + 5 * 32 * 8192 / 4096), ("selective", 34), ("full", 2)])
def test_what_a_layer_keeps(recompute: Recompute, factor: float) -> None:
    """T3.5: full 2*s*b*h, selective 34*s*b*h, none with 5*a*s/h = 320 more, by hand."""
    assert kept_per_layer(Job(recompute=recompute), LLAMA_8B, Layout()) == factor * BLOCK


def test_tensor_ranks_share_all_but_layer_inputs() -> None:
    """T3.5: 34*s*b*h/t, and 2*s*b*h however many tensor ranks there are; context ranks share both."""
    assert kept_per_layer(Job(), LLAMA_8B, Layout(tensor=4)) == 34 * BLOCK / 4
    assert kept_per_layer(Job(recompute="full"), LLAMA_8B, Layout(tensor=4)) == 2 * BLOCK
    assert kept_per_layer(Job(), LLAMA_8B, Layout(context=2)) == 34 * BLOCK / 2
    assert kept_per_layer(Job(recompute="full"), LLAMA_8B, Layout(context=2)) == 2 * BLOCK / 2


def test_logits_of_a_large_vocabulary() -> None:
    """O03: 4*s*b*h*(1 + v/h) = 4 x 33,554,432 x (1 + 31.3125) bytes: 4.34 GB, of which 4.20 are fp32 logits."""
    assert output_bytes(Job(), LLAMA_8B, Layout()) == 4 * BLOCK * (1 + 128_256 / 4096) == 4_336_910_336


def test_sum_over_layers() -> None:
    """O03: Llama 3 8B, one sequence of 8192: 32 x 34 x 33.55 MB + 4.34 GB = 40.8 GB; full recomputation keeps
    32 x 67.1 MB, one layer at work of 1.14 GB, and the logits: 7.6 GB."""
    assert activation_bytes(Job(), LLAMA_8B, Layout()) == 32 * 34 * BLOCK + 4_336_910_336
    assert activation_bytes(Job(recompute="full"), LLAMA_8B, Layout()) == (64 + 34) * BLOCK + 4_336_910_336


def test_first_pipeline_stage_holds_a_micro_batch_for_every_stage() -> None:
    """C06: with 4 stages the first has 8 of 32 layers and 4 micro-batches under way, as many activations as without;
    the last one has one micro-batch and the logits, which is less here."""
    job, layout = Job(accumulation=8), Layout(pipeline=4)
    assert activation_bytes(job, LLAMA_8B, layout) == 4 * 8 * 34 * BLOCK
    two = activation_bytes(Job(accumulation=2), LLAMA_8B, layout)
    assert two == 2 * 8 * 34 * BLOCK
    one = activation_bytes(Job(accumulation=1), LLAMA_8B, layout)
    assert one == 8 * 34 * BLOCK + 4_336_910_336


def test_experts_keep_what_the_chosen_ones_computed() -> None:
    """C08: a layer of Mixtral keeps 15 of attention and norms and 2 experts x (2 + 6 x 14336/4096) = 46, 61 in all; a
    layer of DeepSeek-V3 15 + 9 x (2 + 6 x 2048/7168) = 48.4 in 58 layers and 34 in 3."""
    mixtral, deepseek = MODELS["mixtral-8x7b"], MODELS["deepseek-v3"]
    assert kept_per_layer(Job(), mixtral, Layout()) == 61 * BLOCK
    per_layer = (58 * (15 + 9 * (2 + 6 * 2048 / 7168)) + 3 * 34) / 61
    assert kept_per_layer(Job(), deepseek, Layout()) == pytest.approx(per_layer * 8192 * 7168)
