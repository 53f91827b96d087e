"""Layouts, batches, and what a step keeps for its backward pass."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.models import MODELS
from planner.training.activations import activations, kept_per_layer, output_bytes
from planner.training.job import (
    Job,
    Layout,
    Recompute,
    covers,
    expert_degrees,
    global_batch,
    layout_on,
    sequence_divides,
    tensor_degrees,
    tokens_per_step,
    within_nvlink,
)
from tests.planner.published.runs import published


def test_global_batch_counts_data_parallel_ranks_only() -> None:
    """NC21, C09: micro-batch 4 on 8 x 8 GPUs is 32 sequences and 131,072 tokens, not 256: tensor ranks share one."""
    job, layout = Job(micro_batch=4, sequence=4096), Layout(tensor=8, data=8)
    assert layout.world == 64
    assert global_batch(job, layout) == 32
    assert tokens_per_step(job, layout) == 131_072


def test_accumulation_and_context_in_the_batch() -> None:
    """C09: 2 sequences x 4 ranks x 3 passes are 24; context ranks share a sequence, so its tokens count once."""
    job, layout = Job(micro_batch=2, accumulation=3, sequence=1000), Layout(pipeline=2, context=2, data=4)
    assert layout.world == 16
    assert global_batch(job, layout) == 24
    assert tokens_per_step(job, layout) == 24_000


@pytest.mark.parametrize(
    ("layout", "gpus", "data", "covered"),
    [
        (Layout(tensor=8), 64, 8, True),
        (Layout(tensor=4, pipeline=3), 24, 2, True),
        (Layout(tensor=4, pipeline=3), 32, 2, False),
        (Layout(tensor=8, context=2), 8, 1, False),
    ],
)
def test_data_parallel_ranks_are_what_is_left(layout: Layout, gpus: int, data: int, covered: bool) -> None:
    """C05: world = tensor x pipeline x context x data."""
    found = layout_on(gpus, layout, None)
    assert found.data == data
    assert covers(found, gpus) is covered
    assert covers(layout_on(gpus, layout, 5), gpus) is (layout.replica * 5 == gpus)


@pytest.mark.parametrize(
    ("name", "degrees"),
    [
        ("llama-3-70b", (1, 2, 4, 8)),
        ("qwen2.5-7b", (1, 2, 4)),
        ("llama-3.2-3b", (1, 2, 4, 8)),
        ("llama-2-13b", (1, 2, 4, 5, 8, 10)),
        ("deepseek-v3", (1, 2, 4, 8)),
    ],
)
def test_tensor_degrees_divide_heads_and_kv_heads(name: str, degrees: tuple[int, ...]) -> None:
    """C04, T3.6: 64 heads and 8 KV heads take 1, 2, 4, 8; 28 and 4 take no 8; 40 heads of their own take 5 and 10."""
    assert tensor_degrees(MODELS[name], 10) == degrees


def test_kv_heads_bound_the_degree() -> None:
    """C04: 16 divides 64 heads, and leaves half a KV head to each GPU unless the software copies them; a latent is
    whole on every GPU.
    """
    assert 16 not in tensor_degrees(MODELS["llama-3-70b"], 64, replicated=False)
    assert 16 in tensor_degrees(MODELS["llama-3-70b"], 64)
    assert 16 in tensor_degrees(MODELS["deepseek-v3"], 64)


@pytest.mark.parametrize(
    ("tensor", "per_node", "nvlink", "inside"),
    [
        (8, 8, 8, True),
        (16, 8, 8, False),
        (4, 8, 8, True),
        (3, 8, 8, False),
        (8, 1, 8, False),
        (8, 4, 72, True),
        (16, 4, 72, False),
    ],
)
def test_tensor_groups_stay_where_nvlink_reaches(tensor: int, per_node: int, nvlink: int, inside: bool) -> None:
    """C13: never across nodes of 8, except where NVLink joins nodes: 8 of the 72 GPUs of a rack, but not 16."""
    assert within_nvlink(tensor, per_node, nvlink) is inside


def test_expert_degrees() -> None:
    """C08: 8 experts on 4 x 2 ranks take 1, 2, 4, 8; on 6 ranks only 1 and 2; a dense model has none."""
    mixtral = MODELS["mixtral-8x7b"]
    assert expert_degrees(mixtral, Layout(data=4, context=2)) == (1, 2, 4, 8)
    assert expert_degrees(mixtral, Layout(data=6)) == (1, 2)
    assert expert_degrees(MODELS["llama-3-8b"], Layout(data=8)) == (1,)


@pytest.mark.parametrize(("context", "sequence", "divides"), [(1, 1001, True), (2, 1002, False), (4, 8192, True)])
def test_context_ranks_take_two_equal_parts(context: int, sequence: int, divides: bool) -> None:
    """C08: two context ranks cut a sequence into four parts."""
    assert sequence_divides(Layout(context=context), sequence) is divides


@given(
    tensor=st.sampled_from([1, 2, 4, 8]),
    pipeline=st.integers(1, 12),
    context=st.integers(1, 4),
    nodes=st.integers(1, 64),
)
def test_derived_layouts_never_use_more_gpus_than_there_are(
    tensor: int, pipeline: int, context: int, nodes: int
) -> None:
    """C05: unless a single replica is larger than the run, and then the layout does not cover it either."""
    given_ = Layout(tensor=tensor, pipeline=pipeline, context=context)
    found = layout_on(8 * nodes, given_, None)
    assert found.world <= 8 * nodes or found.world == given_.replica
    assert covers(found, 8 * nodes) is (8 * nodes % given_.replica == 0)


GPT_145B = next(run.model for run in published() if run.model.name == "gpt-145b")
LLAMA_8B = MODELS["llama-3-8b"]
BLOCK = 8192 * 4096
"""s x b x h of one sequence of Llama 3 8B."""


def test_a_gelu_layer_with_dropout_is_that_of_the_paper() -> None:
    """O03: 32 bytes a token and hidden unit by operation, where the paper's 34 has two more of dropout's masks and
    inputs; the scores, 5*a*s/h = 80 for 96 heads and 2,048 tokens, are kept only where attention is not fused and
    nothing is computed again."""
    block = 2048 * 12_288
    job = Job(recompute="none", sequence=2048)
    assert not GPT_145B.gated
    selective = kept_per_layer(replace(job, recompute="selective"), GPT_145B, Layout(tensor=8))
    assert selective / block * 8 == pytest.approx(34, rel=0.1)
    for which in range(3):
        fused, plain, longer = (
            kept_per_layer(each, GPT_145B, Layout(tensor=8), which)
            for each in (job, replace(job, fused_attention=False), replace(job, sequence=4096))
        )
        assert plain - fused == pytest.approx(block * 80 / 8)
        assert longer == pytest.approx(2 * fused)


@pytest.mark.parametrize("recompute", ["selective", "full"])
def test_a_layer_that_is_computed_again_writes_its_scores_once(recompute: Recompute) -> None:
    """O03: on the last of two stages, 5 x 32 heads x 8,192 x 8,192 tokens."""
    fused, plain = (
        activations(Job(recompute=recompute, fused_attention=each), LLAMA_8B, Layout(pipeline=2)).likely
        for each in (True, False)
    )
    assert plain - fused == 5 * 32 * 8192 * 8192


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
