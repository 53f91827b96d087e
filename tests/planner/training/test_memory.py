"""States and memory of a GPU in training (C07, HW21, HW23, HW24)."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from catalogue.models import MODELS
from planner.training.job import Gradients, Job, Layout, Precision, Sharding
from planner.training.memory import (
    bytes_per_parameter,
    largest_stage,
    lora_parameters,
    sharded,
    states_per_gpu,
    training_memory,
)

LLAMA_70B = MODELS["llama-3-70b"]
TP8_DP8 = Layout(tensor=8, data=8)


@pytest.mark.parametrize(
    ("precision", "gradients", "total"), [("bf16", "bf16", 16), ("bf16", "fp32", 18), ("fp8", "bf16", 18)]
)
def test_bytes_per_parameter(precision: Precision, gradients: Gradients, total: float) -> None:
    """T3.5: weight 2, gradient 2 or 4, master copy 4, moments 8; FP8 has two copies of a byte beside the weight."""
    assert bytes_per_parameter(Job(precision=precision, gradients=gradients)).total == total


@pytest.mark.parametrize(
    ("sharding", "gradients", "layout", "gigabytes"),
    [
        ("none", "bf16", Layout(tensor=8, data=8), 141),
        ("zero1", "bf16", Layout(tensor=8, data=8), 48.5),
        ("zero1", "fp32", Layout(tensor=8, data=8), 66),
        ("fsdp", "bf16", Layout(data=64), 17.7),
    ],
)
def test_llama_70b_on_64_gpus(sharding: Sharding, gradients: Gradients, layout: Layout, gigabytes: float) -> None:
    """HW23, T3.5: TP 8 x DP 8 without ZeRO takes 141 GB of each 80 GB GPU; ZeRO-1 49 to 66, FSDP over 64 ranks 18."""
    job = Job(sharding=sharding, gradients=gradients, recompute="full")
    memory = training_memory(job, LLAMA_70B, layout, 80)
    assert memory.states_gb == pytest.approx(gigabytes, abs=0.25)
    assert memory.fits is (memory.total_gb <= 80) is (sharding != "none")


@pytest.mark.parametrize(
    ("sharding", "expected"),
    [("none", 8.0), ("zero1", 3.5), ("zero2", 2.75), ("zero3", 2.0), ("fsdp", 2.0)],
)
def test_what_each_stage_of_zero_shares_out(sharding: Sharding, expected: float) -> None:
    """C07: bytes per parameter of TP 2 x DP 4, by hand: 16/2, (4+12/4)/2, (2+14/4)/2, 16/4/2."""
    llama_13b = MODELS["llama-2-13b"]
    states = states_per_gpu(Job(sharding=sharding), llama_13b, Layout(tensor=2, data=4))
    assert states.total / llama_13b.parameters == pytest.approx(expected)


def test_pipeline_counts_the_fullest_stage() -> None:
    """C06: 80 layers on 3 stages are 27, 27 and 26, so the fullest has 27/80 of the states; 4 stages divide evenly."""
    assert largest_stage(LLAMA_70B, 3) == 27 / 80
    job = Job(sharding="none")
    assert states_per_gpu(job, LLAMA_70B, Layout(pipeline=4)).total == 16 * LLAMA_70B.parameters / 4


def test_experts_are_divided_by_expert_parallelism() -> None:
    """C08: Mixtral's 45.1 of 46.7 billion parameters are experts. DP 8 x EP 8 without ZeRO: 1.61 + 45.10/8 = 7.24
    billion at 16 bytes; ZeRO-3 shares the experts among 8/8 = 1 rank and the rest among 8: 1.61/8 + 45.10/8 = 5.84."""
    mixtral = MODELS["mixtral-8x7b"]
    assert mixtral.expert_parameters == 8 * 32 * 3 * 4096 * 14_336 == 45_097_156_608
    layout = Layout(data=8, expert=8)
    whole = states_per_gpu(Job(sharding="none"), mixtral, layout).total / 16 / 1e9
    shared = states_per_gpu(Job(sharding="zero3"), mixtral, layout).total / 16 / 1e9
    assert whole == pytest.approx(1.6056 + 5.6371, abs=0.001)
    assert shared == pytest.approx(0.2007 + 5.6371, abs=0.001)
    without = states_per_gpu(Job(sharding="zero3"), mixtral, Layout(data=8)).total / 16 / 1e9
    assert without == pytest.approx(46.7028 / 8, abs=0.001)


def test_lora_adapters_by_rank() -> None:
    """O03: rank 64 on every linear layer of Llama 2 7B: 32 x 64 x (4 x 2 x 4096 + 3 x (4096 + 11008)) = 159,907,840."""
    assert lora_parameters(MODELS["llama-2-7b"], 64) == 159_907_840
    assert lora_parameters(MODELS["llama-2-7b"], 16) == 159_907_840 // 4


def test_lora_of_a_mixture_has_adapters_on_every_expert() -> None:
    """C08: a layer of Mixtral, rank 1: q and o 2 x 8192, k and v 2 x (4096 + 1024), 8 experts of 3 x (4096 + 14336)."""
    assert lora_parameters(MODELS["mixtral-8x7b"], 1) == 32 * (16_384 + 10_240 + 8 * 55_296)


def test_lora_freezes_the_weights_and_qlora_quantizes_them() -> None:
    """C07: Llama 2 7B on one GPU: LoRA 2 x 6.738 = 13.48 GB frozen; QLoRA 4.127 bits of 6.476 billion and bf16 for
    0.262 billion of embeddings, 3.34 + 0.52 = 3.87 GB; both with 16 x 0.160 = 2.56 GB of adapters."""
    llama = MODELS["llama-2-7b"]
    lora = states_per_gpu(Job(method="lora"), llama, Layout())
    qlora = states_per_gpu(Job(method="qlora"), llama, Layout())
    assert lora.total / 1e9 == pytest.approx(13.477 + 2.559, abs=0.01)
    assert qlora.total / 1e9 == pytest.approx(3.865 + 2.559, abs=0.01)
    assert states_per_gpu(Job(method="lora", sharding="zero2"), llama, Layout(data=8)).weights > 13.4e9
    assert states_per_gpu(Job(method="lora", sharding="fsdp"), llama, Layout(data=8)).weights < 13.8e9 / 8


def test_gathered_layers_are_part_of_fsdp() -> None:
    """C07: a layer of Llama 3 8B has (8.030 - 1.051)/32 = 0.2181 billion parameters; two in bf16 and one layer's
    gradients are 6 bytes each, 1.309 GB, and an embedding of 0.525 billion 4 bytes, 2.101; ZeRO-2 keeps its weights,
    and one rank gathers nothing."""
    llama = MODELS["llama-3-8b"]
    assert training_memory(Job(sharding="fsdp"), llama, Layout(data=8), 80).gathered_gb == pytest.approx(
        1.309 + 2.101, abs=0.001
    )
    assert training_memory(Job(sharding="zero2"), llama, Layout(data=8), 80).gathered_gb == 0
    assert training_memory(Job(sharding="fsdp"), llama, Layout(), 80).gathered_gb == 0


def test_total_is_the_sum_and_lies_in_its_range() -> None:
    """T3.5: beside the states stand activations, 1 to 3 GB of buffers, CUDA's context and the allocator's gaps."""
    memory = training_memory(Job(), MODELS["llama-3-8b"], Layout(data=8), 80)
    parts = (memory.weights_gb, memory.gradients_gb, memory.optimizer_gb, memory.gathered_gb, memory.activations_gb)
    assert memory.total_gb == pytest.approx(sum(parts) + memory.buffers_gb + memory.reserve_gb)
    assert 1 <= memory.buffers_gb <= 3
    assert memory.least_gb < memory.total_gb < memory.most_gb
    assert 1.5 < memory.reserve_gb < 0.1 * memory.total_gb
    fp8 = training_memory(Job(precision="fp8"), MODELS["llama-3-8b"], Layout(data=8), 80)
    assert fp8.least_gb < memory.least_gb + fp8.weights_gb / 2


def test_a_run_is_refused_only_below_its_least() -> None:
    """70 billion with selective recomputation on 64 GPUs of 80 GB may fit, and is not sure to."""
    memory = training_memory(Job(sharding="zero1", micro_batch=2, sequence=4096), LLAMA_70B, TP8_DP8, 80)
    assert memory.fits
    assert not memory.fits_surely
    assert memory.least_gb < 80 < memory.most_gb


JOBS = st.builds(
    Job,
    method=st.sampled_from(["full", "lora", "qlora"]),
    precision=st.sampled_from(["bf16", "fp8"]),
    gradients=st.sampled_from(["bf16", "fp32"]),
    sharding=st.sampled_from(["zero1", "zero2", "zero3", "fsdp"]),
    recompute=st.sampled_from(["none", "selective", "full"]),
    micro_batch=st.integers(1, 16),
    accumulation=st.integers(1, 16),
    sequence=st.sampled_from([512, 4096, 32_768]),
)
LAYOUTS = st.builds(
    Layout,
    tensor=st.sampled_from([1, 2, 4, 8]),
    pipeline=st.integers(1, 8),
    context=st.sampled_from([1, 2, 4]),
    expert=st.sampled_from([1, 2, 4, 8]),
    data=st.integers(2, 64),
)
NAMES = st.sampled_from(sorted(MODELS))


@given(job=JOBS, layout=LAYOUTS, name=NAMES, times=st.integers(2, 8))
def test_more_data_parallel_ranks_never_need_more_memory(job: Job, layout: Layout, name: str, times: int) -> None:
    """C07: under ZeRO and FSDP a wider job takes as much of each GPU, or less; where its ranks divide (C08)."""
    assume(layout.shards * layout.tensor % layout.expert == 0)
    wider = replace(layout, data=layout.data * times)
    now, then = (training_memory(job, MODELS[name], each, 80) for each in (layout, wider))
    assert then.total_gb <= now.total_gb + 1e-9
    assert then.optimizer_gb < now.optimizer_gb


@given(job=JOBS, layout=LAYOUTS, name=NAMES)
def test_every_stage_of_zero_keeps_no_more_than_the_one_before(job: Job, layout: Layout, name: str) -> None:
    """C07: none >= ZeRO-1 >= ZeRO-2 >= ZeRO-3 = FSDP."""
    orders: tuple[Sharding, ...] = ("none", "zero1", "zero2", "zero3")
    totals = [states_per_gpu(replace(job, sharding=each), MODELS[name], layout).total for each in orders]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] == states_per_gpu(replace(job, sharding="fsdp"), MODELS[name], layout).total


@given(job=JOBS, layout=LAYOUTS, name=NAMES)
def test_a_longer_or_wider_pass_never_frees_memory(job: Job, layout: Layout, name: str) -> None:
    """C01: tokens cost memory, and computing again what was kept saves some of it."""
    model = MODELS[name]

    def total(changed: Job) -> float:
        return training_memory(changed, model, layout, 80).total_gb

    assert total(replace(job, sequence=job.sequence * 2)) > total(job)
    assert total(replace(job, micro_batch=job.micro_batch + 1)) > total(job)
    assert total(replace(job, recompute="none")) >= total(replace(job, recompute="selective"))


@given(states=st.integers(1, 1000), shards=st.integers(1, 4096))
def test_shards_together_hold_everything_once(states: int, shards: int) -> None:
    """C07: what ZeRO-3 leaves on all ranks together is what one rank had."""
    whole = bytes_per_parameter(Job())
    assert sharded(whole, "zero3", shards).total * shards == pytest.approx(whole.total)
    assert sharded(whole, "none", shards) == whole
