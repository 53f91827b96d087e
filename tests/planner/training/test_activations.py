"""Activations by operation, against Korthikanti et al. 2022 where their layer is meant, and published peaks (O03)."""

from dataclasses import replace

import pytest

from catalogue.models import MODELS
from planner.training.activations import activations, kept_per_layer, output_bytes
from planner.training.job import Job, Layout
from tests.planner.published.runs import published

GPT_145B = next(run.model for run in published() if run.model.name == "gpt-145b")
LLAMA_8B = MODELS["llama-3-8b"]
BLOCK = 8192 * 4096
"""s x b x h of one sequence of Llama 3 8B."""


def test_a_gelu_layer_with_dropout_is_that_of_the_paper() -> None:
    """O03: 32 bytes a token and hidden unit by operation, where the paper's 34 has two more of dropout's masks and
    inputs; the scores, 5*a*s/h = 80 for 96 heads and 2,048 tokens, are kept only without recomputation, at the most."""
    block = 2048 * 12_288
    job = Job(recompute="none", sequence=2048)
    assert not GPT_145B.gated
    selective = kept_per_layer(replace(job, recompute="selective"), GPT_145B, Layout(tensor=8))
    assert selective / block * 8 == pytest.approx(34, rel=0.1)
    scores = kept_per_layer(job, GPT_145B, Layout(tensor=8), 2) - kept_per_layer(job, GPT_145B, Layout(tensor=8), 1)
    assert scores == pytest.approx(block * 80 / 8)


def test_a_gated_layer_by_hand() -> None:
    """O03: Llama 3 8B: input and norm 2 + 2, queries, keys, values and output 2 x (2 + 0.5), residual and norm 2 + 2,
    gate, up and product 3 x 2 x 3.5: 34 under Megatron. FSDP keeps every second product: 2 + 2 + 0.5 + 2 + 7."""
    assert LLAMA_8B.gated
    assert kept_per_layer(Job(), LLAMA_8B, Layout()) == 34 * BLOCK
    assert kept_per_layer(Job(software="fsdp"), LLAMA_8B, Layout()) == 13.5 * BLOCK
    assert kept_per_layer(Job(recompute="full"), LLAMA_8B, Layout()) == 2 * BLOCK


def test_tensor_and_context_ranks_share_everything() -> None:
    """Item 3 over T3.5: with sequence parallelism a layer's input is divided by the tensor degree too."""
    for job in (Job(), Job(recompute="full")):
        whole = kept_per_layer(job, LLAMA_8B, Layout())
        assert kept_per_layer(job, LLAMA_8B, Layout(tensor=4)) == whole / 4
        assert kept_per_layer(job, LLAMA_8B, Layout(context=2)) == whole / 2


def test_logits_of_a_large_vocabulary() -> None:
    """O03: norm's and output layer's inputs, and 6 bytes of each logit under Megatron, 12 where loss is not fused."""
    assert output_bytes(Job(), LLAMA_8B, Layout()) == 8192 * (4 * 4096 + 6 * 128_256)
    assert output_bytes(Job(software="fsdp"), LLAMA_8B, Layout()) == 8192 * (4 * 4096 + 12 * 128_256)


def test_sum_over_layers() -> None:
    """O03: Llama 3 8B, one sequence of 8192 under Megatron; full recomputation has one layer or the logits at work."""
    logits = output_bytes(Job(), LLAMA_8B, Layout())
    assert activations(Job(), LLAMA_8B, Layout()).likely == 32 * 34 * BLOCK + logits
    assert activations(Job(recompute="full"), LLAMA_8B, Layout()).likely == 64 * BLOCK + max(34 * BLOCK, logits)


def test_first_pipeline_stage_holds_a_micro_batch_for_every_stage() -> None:
    """C06: with 4 stages the first has 8 of 32 layers and 4 micro-batches under way; with 2 virtual stages 3/8 of a
    pipeline more; the last one has one micro-batch and the logits."""
    job, layout = Job(accumulation=8), Layout(pipeline=4)
    assert activations(job, LLAMA_8B, layout).likely == 4 * 8 * 34 * BLOCK
    virtual = activations(job, LLAMA_8B, replace(layout, virtual_stages=2)).likely
    assert virtual == pytest.approx(4 * (1 + 3 / 8) * 8 * 34 * BLOCK)
    one = activations(Job(accumulation=1), LLAMA_8B, layout).likely
    assert one == 8 * 34 * BLOCK + output_bytes(Job(), LLAMA_8B, layout)


def test_experts_keep_what_the_chosen_ones_computed() -> None:
    """C08: a layer of Mixtral keeps 13 of attention and norms (and their inputs) and 2 experts x (2 + 6 x 3.5) = 46."""
    assert kept_per_layer(Job(), MODELS["mixtral-8x7b"], Layout()) == 59 * BLOCK


@pytest.mark.parametrize("name", sorted(MODELS))
def test_likely_lies_between_least_and_most(name: str) -> None:
    """O03: for every model, software and way to recompute."""
    for software in ("megatron", "fsdp"):
        for recompute in ("none", "selective", "full"):
            found = activations(Job(software=software, recompute=recompute), MODELS[name], Layout(tensor=2))
            assert found.least <= found.likely <= found.most
