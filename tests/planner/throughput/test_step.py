"""Time of a training step by phase (A17, HW26, P14)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.gpus import A100_40, A100_80, H100
from catalogue.models import MODELS
from planner.communication.group import Cluster, Network
from planner.communication.traffic import Axis, exchanges
from planner.faces.forecast import forecast_facts
from planner.faces.layout import quantity
from planner.faces.page.whole import page
from planner.kernels import forward_pass
from planner.step import (
    FORMULAS,
    Phase,
    PhaseTime,
    StepTime,
    communication_share,
    pipeline_bubble,
    step_time,
    timed,
)
from planner.training.job import Job, Layout
from tests.planner.communication.groups import CLUSTER, ONE_HDR
from tests.planner.faces.page.reading import read
from tests.planner.stacks import planned_metal

LLAMA_8B, LLAMA_70B = MODELS["llama-3-8b"], MODELS["llama-3-70b"]
MEGATRON = Job(sequence=4096, accumulation=16, sharding="zero1")
TP8_DP8 = Layout(tensor=8, data=8)


def phase(step: StepTime, which: Phase) -> PhaseTime:
    """A phase of a step."""
    return next(each for each in step.phases if each.phase is which)


def test_phases_in_order() -> None:
    """A17: load, forward, loss, backward, optimizer, and again; each has its formula."""
    step = step_time(LLAMA_70B, MEGATRON, TP8_DP8, CLUSTER, storage_gb_per_s=5)
    assert [each.phase for each in step.phases] == ["load", "forward", "loss", "backward", "optimizer"]
    assert set(FORMULAS) == {each.phase for each in step.phases}
    assert step.seconds == pytest.approx(sum(each.seconds for each in step.phases))


def test_gpu_alone_by_hand() -> None:
    """A17: Llama 3 8B, 2048 tokens on one H100 under FSDP: products of 6.98e9 parameters at 0.518 of the peak (0.94 of
    that at 4,096 hidden units), half of attention at 0.176, 22 passes over 4,096 hidden units in 32 layers at 0.85 of
    3.35 TB/s, the output layer; half of 0.3 of the layers again; logits of 128,256 thrice; 8.03e9 parameters of 28 B.
    """
    step = step_time(LLAMA_8B, Job(sequence=2048, software="fsdp"), Layout(), Cluster(gpu=H100, domain_gpus=1))
    output, rate = 4096 * 128_256, 0.518 * 4096 / (4096 + 250) * 989e12
    products = 2 * 2048 * (8_030_261_248 - output) / rate - 2 * 2048 * output / rate
    attention = 0.5 * 4 * 2048 * 2048 * 4096 * 32 / (0.176 * 989e12)
    memory = 22 * 4096 * 2 * 32 * 2048 / (0.85 * 3.35e12)
    logits = 2 * 2048 * output / rate
    assert phase(step, Phase.FORWARD).seconds == pytest.approx(products + attention + memory + logits)
    again = 0.5 * 0.3 * (products + memory + attention)
    backward = 2 * (products + memory + logits) + 2.5 * attention + again
    assert phase(step, Phase.BACKWARD).seconds == pytest.approx(backward)
    assert phase(step, Phase.LOSS).seconds == pytest.approx(3 * 4 * 2048 * 128_256 / 3.35e12)
    assert phase(step, Phase.OPTIMIZER).seconds == pytest.approx(8_030_261_248 * 28 / 3.35e12)
    assert phase(step, Phase.LOAD).seconds == step.bubble_s == step.communication_share == 0
    assert step.tokens_per_s == pytest.approx(2048 / step.seconds)
    operations = 2048 * (6 * 8_030_261_248 + 12 * 32 * 4096 * 2048)
    assert step.mfu == pytest.approx(operations / step.seconds / 989e12)


def test_tensor_parallel_all_reduces_stand_in_the_way() -> None:
    """A17, NC18: 16 micro-batches x 80 layers x 2 all-reduces of 67 MB by NVLS, 25 us + 67.1 MB / 272 GB/s each, of
    which Megatron on H100 hides 55 %; without a network that adds up nothing else is exposed."""
    step = step_time(LLAMA_70B, replace(MEGATRON, sharding="none"), TP8_DP8, CLUSTER)
    one = 25e-6 + 67_108_864 / 272e9
    assert phase(step, Phase.FORWARD).exchange_s == pytest.approx(16 * 80 * 2 * one)
    assert phase(step, Phase.FORWARD).exposed_s == pytest.approx(0.45 * 16 * 80 * 2 * one)
    assert phase(step, Phase.BACKWARD).exposed_s >= phase(step, Phase.FORWARD).exposed_s


def test_weights_and_gradients_hide_behind_one_micro_batch() -> None:
    """A17, NC19: 17.6 GB over eight ranks with a card of 45 GB/s each take 0.34 s to reduce, and ZeRO-1 gathers the
    weights in as long; 0.95 of one micro-batch's pass hides a part of each, on the A100 of 2021 nothing does."""
    step = step_time(LLAMA_70B, MEGATRON, TP8_DP8, CLUSTER)
    for which in (Phase.FORWARD, Phase.BACKWARD):
        found = phase(step, which)
        assert found.once_s == pytest.approx(0.343 - 0.95 * found.compute_s / 16, abs=0.001)
    old = step_time(LLAMA_70B, MEGATRON, TP8_DP8, replace(CLUSTER, gpu=A100_80))
    assert phase(old, Phase.BACKWARD).once_s == pytest.approx(0.343, abs=0.01)


def test_utilisation_is_one_that_is_seen() -> None:
    """A17, T3.5: 70 billion on 64 H100 come out at 40 to 50 % by Megatron, at 28 to 40 % by FSDP that recomputes."""
    fsdp = Job(sequence=4096, recompute="full", software="fsdp")
    assert 0.4 < step_time(LLAMA_70B, MEGATRON, TP8_DP8, CLUSTER).mfu < 0.5
    assert 0.28 < step_time(LLAMA_70B, fsdp, Layout(data=64), CLUSTER).mfu < 0.4


def test_one_slow_card_is_what_a_step_waits_for() -> None:
    """HW26, FB02, NC22: FSDP over one 200 Gb/s card a node waits for it most of the time."""
    job, layout = Job(sequence=4096), Layout(data=64)
    slow = step_time(LLAMA_70B, job, layout, Cluster(gpu=H100, domain_gpus=8, network=ONE_HDR))
    fast = step_time(LLAMA_70B, job, layout, CLUSTER)
    assert slow.communication_share > 0.7
    assert fast.communication_share < 0.05
    assert slow.tokens_per_s < fast.tokens_per_s / 3


def test_full_recomputation_repeats_the_forward_pass() -> None:
    """A17, T3.4: the backward pass has the layers' forward pass in it, output layer aside, and its all-reduces."""
    kept = step_time(LLAMA_70B, MEGATRON, Layout(tensor=8), CLUSTER)
    again = step_time(LLAMA_70B, replace(MEGATRON, recompute="full"), Layout(tensor=8), CLUSTER)
    assert phase(again, Phase.FORWARD).seconds == pytest.approx(phase(kept, Phase.FORWARD).seconds)
    repeated = phase(again, Phase.BACKWARD).compute_s - phase(kept, Phase.BACKWARD).compute_s
    assert 0.97 * phase(kept, Phase.FORWARD).compute_s < repeated < phase(kept, Phase.FORWARD).compute_s
    assert phase(again, Phase.BACKWARD).exposed_s == pytest.approx(2 * phase(kept, Phase.BACKWARD).exposed_s)


def test_frozen_weights_have_no_gradients() -> None:
    """A17, O03: LoRA's backward pass takes one pass's time, with recomputation two; its MFU counts what it computes."""
    alone = Cluster(gpu=H100, domain_gpus=1)
    lora = step_time(LLAMA_8B, Job(method="lora", sequence=2048), Layout(), alone)
    again = step_time(LLAMA_8B, Job(method="lora", sequence=2048, recompute="full"), Layout(), alone)
    forward = phase(lora, Phase.FORWARD).compute_s
    assert phase(lora, Phase.BACKWARD).compute_s == pytest.approx(forward, rel=0.1)
    assert phase(again, Phase.BACKWARD).compute_s == pytest.approx(2 * forward, rel=0.1)
    operations = 2048 * (4 * 8_030_261_248 + 8 * 32 * 4096 * 2048)
    assert lora.mfu == pytest.approx(operations / lora.seconds / 989e12)


@pytest.mark.parametrize(("pipeline", "passes", "bubble"), [(1, 1, 0.0), (4, 1, 0.75), (4, 12, 0.2), (8, 28, 0.2)])
def test_pipeline_bubble(pipeline: int, passes: int, bubble: float) -> None:
    """C06: (p - 1) / (m + p - 1), by hand 3/4, 3/15, 7/35."""
    assert pipeline_bubble(Layout(pipeline=pipeline), passes) == pytest.approx(bubble)


def test_stages_wait_for_each_other() -> None:
    """A17, C06: 4 stages and 16 micro-batches add 3/16 of the passes, which are then 16/19 of the time."""
    step = step_time(LLAMA_70B, MEGATRON, Layout(tensor=8, pipeline=4, data=2), CLUSTER)
    both = (phase(step, Phase.FORWARD), phase(step, Phase.BACKWARD))
    passes = sum(each.seconds - each.once_s for each in both)
    assert step.bubble_s == pytest.approx(3 / 16 * passes)
    assert step.bubble_s / (passes + step.bubble_s) == pytest.approx(pipeline_bubble(Layout(pipeline=4), 16))


def test_virtual_stages_shorten_the_wait() -> None:
    """C06: with 5 parts of a device's layers in turn, 4 stages and 16 micro-batches add 3/80 of the passes."""
    layout = Layout(tensor=8, pipeline=4, data=2)
    plain = step_time(LLAMA_70B, MEGATRON, layout, CLUSTER)
    virtual = step_time(LLAMA_70B, MEGATRON, replace(layout, virtual_stages=5), CLUSTER)
    assert virtual.bubble_s == pytest.approx(plain.bubble_s / 5)
    assert pipeline_bubble(replace(layout, virtual_stages=5), 16) == pytest.approx(3 / 83)


def test_the_answer_is_a_range() -> None:
    """A17: seconds and tokens a second, with what the rates rest on; experts vary more than dense layers."""
    step = step_time(LLAMA_70B, MEGATRON, TP8_DP8, CLUSTER)
    (low, high), (few, many) = step.seconds_range, step.rate_range
    assert (low, high) == pytest.approx((0.85 * step.seconds, 1.15 * step.seconds))
    assert (few, many) == pytest.approx((step.tokens / high, step.tokens / low))
    mixture = step_time(MODELS["mixtral-8x7b"], MEGATRON, TP8_DP8, CLUSTER)
    assert mixture.off > step.off


@pytest.mark.parametrize(
    ("name", "words", "layout", "layers", "with_output"),
    [
        ("llama-3-70b", 1, Layout(tensor=8, pipeline=4), 20, True),
        # 126 layers and the ends in 64 parts: 16 a stage, and 15 on the last one, whose output takes less than a layer
        ("llama-3.1-405b", 1, Layout(tensor=8, pipeline=8, virtual_stages=8), 16, False),
        ("llama-3.1-405b", 8, Layout(tensor=8, pipeline=8, virtual_stages=8), 15, True),
        # 80 layers do not divide: 27, 27 and 26 with the output, which is more than one
        ("llama-3-70b", 1, Layout(tensor=8, pipeline=3), 26, True),
    ],
)
def test_the_last_stage_has_the_output_besides(
    name: str, words: int, layout: Layout, layers: int, with_output: bool
) -> None:
    """A17: all stages wait for the slowest; 256,000 words are 1.4 layers of Nemotron-4 340B, 3.5 of Nemotron-3 22B."""
    model = replace(MODELS[name], vocab=words * MODELS[name].vocab)
    whole, one = (forward_pass(model, MEGATRON, each, H100) for each in (Layout(tensor=8), layout))
    took = layers / model.layers * (whole.forward_s - whole.output_s) + with_output * whole.output_s
    assert one.forward_s == pytest.approx(took)


def test_loading_waits_only_for_slow_storage() -> None:
    """A17: 524,288 tokens of 4 B come in while the step runs, unless storage takes longer than it: 21 s at 0.1 MB/s."""
    fine = phase(step_time(LLAMA_70B, MEGATRON, TP8_DP8, CLUSTER, storage_gb_per_s=5), Phase.LOAD)
    assert fine.exchange_s == pytest.approx(524_288 * 4 / 5e9)
    assert fine.seconds == 0
    slow = step_time(LLAMA_70B, MEGATRON, TP8_DP8, CLUSTER, storage_gb_per_s=1e-4)
    assert slow.seconds == pytest.approx(524_288 * 4 / 1e5)
    assert slow.tokens_per_s == pytest.approx(1e5 / 4)


def test_a_faster_fabric_shortens_its_own_part_only() -> None:
    """HW26: 10 s of communication made 100 ms is 100 times faster; beside 40 s of computing the step is 1.25 times."""
    assert communication_share(40, 10) == pytest.approx(0.2)
    slow, fast = (40 / (1 - communication_share(40, exposed)) for exposed in (10, 0.1))
    assert slow / fast == pytest.approx(50 / 40.1)


def test_exchanges_of_a_step_are_timed_where_their_ranks_lie() -> None:
    """C13: the same all-reduces take longer when tensor parallel ranks lie in several nodes."""
    (inside,) = exchanges(LLAMA_70B, MEGATRON, Layout(tensor=8))
    (across,) = exchanges(LLAMA_70B, MEGATRON, Layout(tensor=16))
    assert timed(across, CLUSTER).seconds > 1.2 * timed(inside, CLUSTER).seconds
    alone = Cluster(gpu=H100, domain_gpus=8)
    with pytest.raises(ValueError, match="no network"):
        timed(across, alone)


@given(
    tensor=st.sampled_from((1, 2, 4, 8)),
    pipeline=st.sampled_from((1, 2, 4, 8)),
    data=st.integers(1, 16),
    accumulation=st.integers(1, 32),
    gbit=st.sampled_from((100, 200, 400, 800)),
)
def test_estimates_are_possible(tensor: int, pipeline: int, data: int, accumulation: int, gbit: float) -> None:
    """A17: no layout is faster than its kernels, and a faster network never makes a step slower."""
    job = Job(sequence=4096, accumulation=accumulation, sharding="zero1")
    layout = Layout(tensor=tensor, pipeline=pipeline, data=data)
    steps = [
        step_time(LLAMA_70B, job, layout, Cluster(gpu=H100, domain_gpus=8, network=Network(nics=8, gbit_per_s=rate)))
        for rate in (gbit, 2 * gbit)
    ]
    assert steps[1].seconds <= steps[0].seconds
    assert all(0 < step.mfu < 0.64 and 0 <= step.communication_share < 1 for step in steps)


def test_every_face_shows_what_a_step_sends() -> None:
    """P14: tensor and data parallelism of a plan: bytes of a GPU, how NCCL carries them, and the seconds they take."""
    layout = {"training.runs.0.parallelism": {"tensor": 4, "pipeline": 2}, "training.runs.0.accumulation": 6}
    plan = planned_metal(layout)
    forecast = plan.runs["llama-3-70b-pretrain"].forecast
    assert forecast is not None
    assert forecast.step is not None
    traffic = forecast.step.traffic
    assert {each.exchange.axis for each in traffic} == {Axis.TENSOR, Axis.PIPELINE, Axis.DATA}
    spent = sum(each.exchange_s for each in forecast.step.phases if each.phase is not Phase.LOAD)
    assert sum(each.seconds for each in traffic) == pytest.approx(spent)
    words = dict(forecast_facts(forecast))["a GPU sends"]
    assert words is not None
    listed = next(each for each in read(page("m", plan)).all("table") if "sends in a step" in each.children[0].words())
    rows = [[cell.words() for cell in row.all("td")] for row in listed.all("tr")[1:]]
    for each, row in zip(traffic, rows, strict=True):
        sent = each.exchange.sent_bytes / 1e9
        assert (row[0], row[4]) == (f"{each.exchange.axis} {each.exchange.collective}", f"{sent:,.2f}")
        what = f"{each.exchange.axis} parallelism's {each.exchange.collective}"
        assert f"{quantity(round(sent, 2))} GB for {what}, {row[6]}" in words


def test_attention_that_keeps_its_scores_takes_the_time_of_its_memory() -> None:
    """A17: 41.7 ms forward and backward of 64 sequences of 1,024, 16 heads of 64, on an A100 of 40 GB, where fused
    attention took 7.3 (Dao et al. 2022, figure 2)."""
    model = replace(MODELS["llama-3-8b"], layers=1, heads=16, kv_heads=16, head_dim=64)
    job = Job(micro_batch=64, sequence=1024)
    kept, fused = (
        3.5 * forward_pass(model, replace(job, fused_attention=on), Layout(), A100_40).attention_s
        for on in (False, True)
    )
    assert kept == pytest.approx(0.0417, rel=0.01)
    assert fused < 0.0073


def test_latent_attention_takes_the_time_of_its_own_width() -> None:
    """DeepSeek-V3 compares keys of 128 + 64 and adds up values of 128: as heads of 160 do."""
    model, job = MODELS["deepseek-v3"], Job(micro_batch=1, sequence=4096)
    plain = replace(model, latent=None, head_dim=160)
    own, others = (forward_pass(each, job, Layout(), H100).attention_s for each in (model, plain))
    assert own == pytest.approx(others)
