"""What a step sends (NC18, NC19, HW25, P14)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.models import MODELS
from catalogue.units import gbyte_per_s
from planner.communication.group import Collective, bus_factor
from planner.communication.traffic import (
    Axis,
    Exchange,
    exchanges,
    pipeline_borders,
    tensor_all_reduces,
    tensor_message_bytes,
)
from planner.training.job import Job, Layout, Sharding

NIC = gbyte_per_s(400)
LLAMA_70B, DEEPSEEK = MODELS["llama-3-70b"], MODELS["deepseek-v3"]
ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER = Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER


def of(axis: Axis, sent: tuple[Exchange, ...]) -> list[Exchange]:
    """Exchanges of one kind of parallelism."""
    return [each for each in sent if each.axis is axis]


def all_reduce_s(size: float, ranks: int, bus_gb_per_s: float) -> float:
    """Seconds of an all-reduce at a bus bandwidth, without its latency."""
    return bus_factor(ALL_REDUCE, ranks) * size / (bus_gb_per_s * 1e9)


@pytest.mark.parametrize(("sequences", "milliseconds"), [(1, 0.32), (4, 1.27)])
def test_tensor_parallel_all_reduce(sequences: int, milliseconds: float) -> None:
    """NC18: 4096 tokens x 8192 in bf16 are 67 MB, and 0.32 ms at a bus bandwidth of 370 GB/s; 0.05 it never was."""
    size = tensor_message_bytes(sequences, 4096, 8192)
    assert size == sequences * 67_108_864
    assert all_reduce_s(size, 8, 370) * 1000 == pytest.approx(milliseconds, abs=0.005)


def test_tensor_parallel_all_reduces_of_a_layer() -> None:
    """NC18, T3.4: two in the forward and two in the backward pass; repeating the forward adds two."""
    assert tensor_all_reduces("selective") == tensor_all_reduces("none") == 4
    assert tensor_all_reduces("full") == 6


def test_gradients_of_70_billion() -> None:
    """NC19: TP 8 leaves 17.65 GB a rank, 0.62 s over one 400 Gb/s card, 0.8 s at 80 % of it and 1.5 s in fp32; flat
    over 64 ranks at 350 GB/s 141 GB take 0.8 s."""
    sharded = 70.6e9 * 2 / 8
    assert sharded == 17.65e9
    assert all_reduce_s(sharded, 8, NIC) == pytest.approx(0.62, abs=0.005)
    assert all_reduce_s(sharded, 8, 0.8 * NIC) == pytest.approx(0.8, abs=0.03)
    assert all_reduce_s(2 * sharded, 8, 0.8 * NIC) == pytest.approx(1.5, abs=0.05)
    flat = 70.6e9 * 2
    assert all_reduce_s(flat, 64, 350) == pytest.approx(0.8, abs=0.01)


def test_pipelines_meet_at_stage_borders() -> None:
    """HW25: 8 stages have 7 borders, whether a stage holds 4 layers or 10; "32 times" is nobody's traffic."""
    assert pipeline_borders(Layout(pipeline=8)) == 7
    assert pipeline_borders(Layout(tensor=8)) == 0


def test_megatron_layout_of_70_billion() -> None:
    """T3.4, P14: TP 8 x PP 2 x DP 4, 16 micro-batches of one sequence of 4096: by hand."""
    job = Job(sequence=4096, accumulation=16, sharding="zero1")
    sent = exchanges(LLAMA_70B, job, Layout(tensor=8, pipeline=2, data=4))
    (tensor,), (pipeline,) = of(Axis.TENSOR, sent), of(Axis.PIPELINE, sent)
    assert (tensor.size_bytes, tensor.times, tensor.ranks, tensor.stride) == (67_108_864, 4 * 40 * 16, 8, 1)
    assert (pipeline.size_bytes, pipeline.times, pipeline.ranks, pipeline.stride) == (67_108_864, 2 * 16, 2, 32)
    gathered, reduced = of(Axis.DATA, sent)
    share = LLAMA_70B.parameters * 2 / 16
    assert (gathered.collective, gathered.size_bytes, gathered.times) == (ALL_GATHER, share, 1)
    assert (reduced.collective, reduced.size_bytes, reduced.times) == (REDUCE_SCATTER, share, 1)
    assert {(each.ranks, each.stride, each.hidden) for each in (gathered, reduced)} == {(4, 8, True)}
    assert sum(each.sent_bytes for each in (gathered, reduced)) == pytest.approx(2 * 3 / 4 * share)


@pytest.mark.parametrize(
    ("sharding", "collectives", "times"),
    [
        ("none", [ALL_REDUCE], [1]),
        ("zero2", [ALL_GATHER, REDUCE_SCATTER], [1, 1]),
        ("zero3", [ALL_GATHER, REDUCE_SCATTER], [6, 3]),
        ("fsdp", [ALL_GATHER, REDUCE_SCATTER], [6, 3]),
    ],
)
def test_sharding_decides_what_data_ranks_exchange(
    sharding: Sharding, collectives: list[Collective], times: list[int]
) -> None:
    """T3.4: ZeRO-3 and FSDP gather twice and reduce once in each of three passes."""
    data = of(Axis.DATA, exchanges(LLAMA_70B, Job(sharding=sharding, accumulation=3), Layout(data=16)))
    assert [each.collective for each in data] == collectives
    assert [each.times for each in data] == times


@given(
    sharding=st.sampled_from(("none", "zero1", "zero2", "zero3", "fsdp")),
    tensor=st.sampled_from((1, 2, 4, 8)),
    pipeline=st.integers(1, 8),
    data=st.integers(1, 64),
)
def test_exchanges_add_up_to_the_volume_of_data_parallelism(
    sharding: Sharding, tensor: int, pipeline: int, data: int
) -> None:
    """T3.4: 2(d-1)/d of the gradients, half as much again with ZeRO-3 and FSDP, whose pipelines gather once a step."""
    job, layout = Job(sharding=sharding), Layout(tensor=tensor, pipeline=pipeline, data=data)
    sent = sum(each.sent_bytes for each in of(Axis.DATA, exchanges(LLAMA_70B, job, layout)))
    gradients = LLAMA_70B.parameters * 2 / (layout.tensor * layout.pipeline)
    passes = 1.5 if sharding in ("zero3", "fsdp") and pipeline == 1 else 1.0
    assert sent == pytest.approx(passes * 2 * (data - 1) / data * gradients)


def test_experts_exchange_tokens() -> None:
    """T3.4, C08: a rank with TP 2 sends 4096/2 tokens to 8 experts each, four times in each of the stage's layers."""
    layout = Layout(tensor=2, pipeline=2, expert=8, data=16)
    sent = exchanges(DEEPSEEK, Job(sequence=4096, sharding="zero1"), layout)
    (experts,) = of(Axis.EXPERT, sent)
    assert experts.collective is Collective.ALL_TO_ALL
    assert (experts.size_bytes, experts.copies) == (2048 * 7168 * 2, 8)
    assert (experts.times, experts.ranks, experts.stride) == (4 * 29, 8, 2)
    dense, of_experts = [each for each in of(Axis.DATA, sent) if each.collective is REDUCE_SCATTER]
    assert (dense.ranks, dense.stride) == (16, 2)
    assert (of_experts.ranks, of_experts.stride) == (2, 16)
    assert of_experts.size_bytes == pytest.approx(DEEPSEEK.expert_parameters / 8 / 4 * 2)


def test_context_ranks_pass_keys_and_values_on() -> None:
    """T3.4: 4 ranks of 2048 tokens: 2 x 8 x 128 wide, 3 neighbours, once forward and twice backward in 80 layers."""
    sent = exchanges(LLAMA_70B, Job(sequence=8192), Layout(context=4, data=2))
    (context,) = of(Axis.CONTEXT, sent)
    assert context.size_bytes == 2048 * 2 * 8 * 128 * 2
    assert context.times == 3 * 3 * 80
    assert of(Axis.DATA, sent)[0].ranks == 8


def test_adapters_have_next_to_no_gradients() -> None:
    """O03: LoRA moves frozen weights where they are gathered, in NF4 with QLoRA, and nothing where they are not."""
    assert exchanges(LLAMA_70B, Job(method="lora", sharding="zero1"), Layout(data=8)) == ()
    (lora,) = exchanges(LLAMA_70B, Job(method="lora"), Layout(data=8))
    (qlora,) = exchanges(LLAMA_70B, Job(method="qlora"), Layout(data=8))
    assert lora.size_bytes == 2 * LLAMA_70B.parameters
    assert qlora.size_bytes < 0.27 * lora.size_bytes


def test_gpu_alone_sends_nothing() -> None:
    """No degree of parallelism, no traffic."""
    assert exchanges(DEEPSEEK, Job(), Layout()) == ()
