"""Layouts and batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.models import MODELS
from planner.training.job import (
    Job,
    Layout,
    covers,
    expert_degrees,
    global_batch,
    layout_on,
    sequence_divides,
    tensor_degrees,
    tokens_per_step,
    within_nvlink,
)


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
