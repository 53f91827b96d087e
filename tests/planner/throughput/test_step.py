"""Time of a training step by phase (A17, HW26, P14)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.gpus import H100
from catalogue.models import MODELS
from planner.communication.group import Cluster, Network
from planner.communication.traffic import exchanges
from planner.step import (
    FORMULAS,
    Phase,
    PhaseTime,
    StepTime,
    communication_share,
    exchange_s,
    pipeline_bubble,
    step_time,
)
from planner.training.job import Job, Layout
from tests.planner.communication.groups import CLUSTER, ONE_HDR

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
    """A17: Llama 3 8B, 2048 tokens on one H100 at 60 %: 6 x 8.03e9 + 12 x 32 x 4096 x 2048 operations a token, a third
    of them forward; logits of 128,256 thrice at 3.35 TB/s; 8.03e9 parameters of 28 B."""
    step = step_time(LLAMA_8B, Job(sequence=2048), Layout(), Cluster(gpu=H100, domain_gpus=1))
    operations = 2048 * (6 * 8_030_261_248 + 12 * 32 * 4096 * 2048)
    forward = operations / 3 / (0.6 * 989e12)
    assert phase(step, Phase.FORWARD).seconds == pytest.approx(forward)
    assert phase(step, Phase.BACKWARD).seconds == pytest.approx(2 * forward)
    assert phase(step, Phase.LOSS).seconds == pytest.approx(3 * 4 * 2048 * 128_256 / 3.35e12)
    assert phase(step, Phase.OPTIMIZER).seconds == pytest.approx(8_030_261_248 * 28 / 3.35e12)
    assert phase(step, Phase.LOAD).seconds == step.bubble_s == step.communication_share == 0
    assert step.tokens_per_s == pytest.approx(2048 / step.seconds)
    assert step.mfu == pytest.approx(operations / step.seconds / 989e12)


def test_tensor_parallel_all_reduces_stand_in_the_way() -> None:
    """A17, NC18: 16 micro-batches x 80 layers x 2 all-reduces of 67 MB by NVLS, 25 us + 67.1 MB / 272 GB/s each."""
    step = step_time(LLAMA_70B, MEGATRON, TP8_DP8, CLUSTER)
    one = 25e-6 + 67_108_864 / 272e9
    assert phase(step, Phase.FORWARD).exposed_s == pytest.approx(16 * 80 * 2 * one)
    assert phase(step, Phase.BACKWARD).exposed_s >= phase(step, Phase.FORWARD).exposed_s


def test_gradients_hide_behind_the_last_micro_batch() -> None:
    """A17, NC19: 17.6 GB over eight ranks with a card of 45 GB/s each take 0.34 s to reduce; 0.8 of one backward pass
    of 0.26 s hides 0.21 of it, and ZeRO-1 gathers the weights after the optimizer for another 0.34."""
    step = step_time(LLAMA_70B, MEGATRON, TP8_DP8, CLUSTER)
    backward, optimizer = phase(step, Phase.BACKWARD), phase(step, Phase.OPTIMIZER)
    assert optimizer.exchange_s == optimizer.exposed_s == pytest.approx(0.343, abs=0.001)
    reduced = backward.exchange_s - phase(step, Phase.FORWARD).exchange_s
    assert reduced == pytest.approx(0.343, abs=0.001)
    shown = backward.exposed_s - phase(step, Phase.FORWARD).exposed_s
    assert shown == pytest.approx(reduced - 0.8 * backward.compute_s / 16)


def test_utilisation_is_one_that_is_seen() -> None:
    """A17, T3.5: 70 billion on 64 H100 come out at 35 to 50 %, the range of published runs, by Megatron and by FSDP."""
    fsdp = Job(sequence=4096, recompute="full")
    for job, layout in ((MEGATRON, TP8_DP8), (fsdp, Layout(data=64))):
        assert 0.35 < step_time(LLAMA_70B, job, layout, CLUSTER).mfu < 0.5


def test_one_slow_card_is_what_a_step_waits_for() -> None:
    """HW26, FB02, NC22: FSDP over one 200 Gb/s card a node waits for it most of the time."""
    job, layout = Job(sequence=4096), Layout(data=64)
    slow = step_time(LLAMA_70B, job, layout, Cluster(gpu=H100, domain_gpus=8, network=ONE_HDR))
    fast = step_time(LLAMA_70B, job, layout, CLUSTER)
    assert slow.communication_share > 0.7
    assert fast.communication_share < 0.05
    assert slow.tokens_per_s < fast.tokens_per_s / 3


def test_full_recomputation_repeats_the_forward_pass() -> None:
    """A17, T3.4: the backward pass takes three forward passes, and the repeated one has its all-reduces too."""
    kept = step_time(LLAMA_70B, MEGATRON, Layout(tensor=8), CLUSTER)
    again = step_time(LLAMA_70B, Job(sequence=4096, accumulation=16, recompute="full"), Layout(tensor=8), CLUSTER)
    assert phase(again, Phase.FORWARD).seconds == pytest.approx(phase(kept, Phase.FORWARD).seconds)
    assert phase(again, Phase.BACKWARD).compute_s == pytest.approx(1.5 * phase(kept, Phase.BACKWARD).compute_s)
    assert phase(again, Phase.BACKWARD).exposed_s == pytest.approx(2 * phase(kept, Phase.BACKWARD).exposed_s)


def test_frozen_weights_have_no_gradients() -> None:
    """A17, O03: LoRA's backward pass takes one pass's time, with recomputation two; its MFU counts what it computes."""
    alone = Cluster(gpu=H100, domain_gpus=1)
    lora = step_time(LLAMA_8B, Job(method="lora", sequence=2048), Layout(), alone)
    again = step_time(LLAMA_8B, Job(method="lora", sequence=2048, recompute="full"), Layout(), alone)
    forward = phase(lora, Phase.FORWARD).compute_s
    assert phase(lora, Phase.BACKWARD).compute_s == pytest.approx(forward)
    assert phase(again, Phase.BACKWARD).compute_s == pytest.approx(2 * forward)
    assert lora.mfu == pytest.approx(0.6 * 2 * forward / lora.seconds)


@pytest.mark.parametrize(("pipeline", "passes", "bubble"), [(1, 1, 0.0), (4, 1, 0.75), (4, 12, 0.2), (8, 28, 0.2)])
def test_pipeline_bubble(pipeline: int, passes: int, bubble: float) -> None:
    """C06: (p - 1) / (m + p - 1), by hand 3/4, 3/15, 7/35."""
    assert pipeline_bubble(Layout(pipeline=pipeline), passes) == pytest.approx(bubble)


def test_stages_wait_for_each_other() -> None:
    """A17, C06: 4 stages and 16 micro-batches add 3/16 of the passes, which are then 16/19 of the time."""
    step = step_time(LLAMA_70B, MEGATRON, Layout(tensor=8, pipeline=4, data=2), CLUSTER)
    passes = phase(step, Phase.FORWARD).seconds + phase(step, Phase.BACKWARD).seconds
    assert step.bubble_s == pytest.approx(3 / 16 * passes)
    assert step.bubble_s / (passes + step.bubble_s) == pytest.approx(pipeline_bubble(Layout(pipeline=4), 16))


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
    assert exchange_s(across, CLUSTER) > 1.2 * exchange_s(inside, CLUSTER)
    alone = Cluster(gpu=H100, domain_gpus=8)
    with pytest.raises(ValueError, match="no network"):
        exchange_s(across, alone)


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
    assert all(0 < step.mfu < 0.6 and 0 <= step.communication_share < 1 for step in steps)
