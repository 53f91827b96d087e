"""GPUs by size of the model (C01, HW21, HW24), and the smallest change that fits."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.models import MODELS
from planner.training.advice import Mode, Ways, min_gpus, needs, smallest_change, smallest_world
from planner.training.job import Job, Layout
from planner.training.memory import training_memory
from tests.planner.training.test_memory import JOBS, LAYOUTS, NAMES


@pytest.mark.parametrize(
    ("parameters", "on_80_gb", "on_141_gb"),
    [
        (MODELS["llama-3-8b"].parameters, 3, 2),
        (13e9, 4, 2),
        (70.6e9, 18, 11),
        (MODELS["llama-3.1-405b"].parameters, 102, 58),
    ],
)
def test_gpus_for_the_states(parameters: float, on_80_gb: int, on_141_gb: int) -> None:
    """C01, T3.5: 16 bytes a parameter, shared out, at 80 % of the memory."""
    assert min_gpus(parameters, "full", memory_gb=80) == on_80_gb
    assert min_gpus(parameters, "full", memory_gb=141) == on_141_gb


def test_weights_are_not_all_that_training_needs() -> None:
    """HW21: 7 and 13 billion parameters fit one GPU of 80 GB to be served; trained in full they take 2 and 4."""
    assert min_gpus(7e9, "inference", memory_gb=80) == min_gpus(13e9, "inference", memory_gb=80) == 1
    assert min_gpus(7e9, "full", memory_gb=80) == 2
    assert min_gpus(13e9, "full", memory_gb=80) == 4


@pytest.mark.parametrize(("mode", "gpus"), [("inference", 2), ("full", 9), ("lora", 2), ("qlora", 1)])
def test_gpus_of_34_billion(mode: Mode, gpus: int) -> None:
    """C01, by hand, budget 64 GB: weights 68 GB; 16 x 34 = 544 GB are 8.5 GPUs; LoRA 68 + 16 x 0.68 = 79 GB; QLoRA 17.5
    + 11 GB."""
    assert min_gpus(34e9, mode, memory_gb=80) == gpus


def test_a_row_of_the_table() -> None:
    """C01: 70 billion on 80 GB: 3 GPUs to serve, 1 for QLoRA, 3 for LoRA, 18 for everything."""
    row = needs(70e9, 80)
    assert (row.inference, row.qlora, row.lora, row.full) == (3, 1, 3, 18)


@given(
    parameters=st.floats(1e8, 1e12),
    memory_gb=st.sampled_from([24, 80, 141, 180]),
    mode=st.sampled_from(["inference", "full", "lora", "qlora"]),
)
def test_larger_models_never_take_fewer_gpus(parameters: float, memory_gb: int, mode: Mode) -> None:
    """C01: and larger GPUs are never more of them."""
    few = min_gpus(parameters, mode, memory_gb=memory_gb)
    more = min_gpus(parameters * 1.5, mode, memory_gb=memory_gb)
    roomy = min_gpus(parameters, mode, memory_gb=memory_gb * 2)
    assert few is not None
    assert more is not None
    assert roomy is not None
    assert roomy <= few <= more


LLAMA_70B = MODELS["llama-3-70b"]


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (Job(sharding="none", sequence=4096), ("sharding zero1",)),
        (Job(sharding="zero1", sequence=4096, gradients="fp32"), ("sharding zero2",)),
        (Job(sharding="zero1", sequence=4096, micro_batch=4), ("microBatch 2 with accumulation 2",)),
        (Job(sharding="none", sequence=4096, micro_batch=8), ("sharding zero1", "microBatch 2 with accumulation 4")),
    ],
)
def test_cheapest_change_of_llama_70b_on_64_gpus(job: Job, words: tuple[str, ...]) -> None:
    """HW23: TP 8 x DP 8 wants ZeRO-1 and nothing else (48.5 + 11.7 + 8 GB); fp32 gradients want ZeRO-2 (35.3 + 11.7);
    4 sequences under ZeRO-1 take 46.8 GB and 2 take 23.4, which is 79.9 GB with the states."""
    change = smallest_change(job, LLAMA_70B, Layout(tensor=8, data=8), 80, 8)
    assert change is not None
    assert change.words == words


def test_change_may_be_more_tensor_parallelism() -> None:
    """C04: one node, one sequence of 32k: everything else is used up, and 8 tensor ranks share the activations."""
    job = Job(sharding="fsdp", recompute="full", sequence=98_304)
    layout = Layout(data=8)
    model = MODELS["llama-3-8b"]
    assert not training_memory(job, model, layout, 80).fits
    change = smallest_change(job, model, layout, 80, 8)
    assert change is not None
    assert change.words == ("parallelism.tensor 2 with data 4",)
    assert (change.job.accumulation, change.layout) == (2, Layout(tensor=2, data=4))


def test_only_what_the_framework_does_is_advised() -> None:
    """HW23, N18: DeepSpeed has ZeRO-3 and no FSDP, DDP shards nothing; a family that follows from the sharding counts
    with that family's bytes."""
    job, layout = Job(sharding="zero2", sequence=4096, micro_batch=8, software="deepspeed"), Layout(data=64)
    own = Ways(shardings=("none", "zero1", "zero2", "zero3"), tensor=False)
    change = smallest_change(job, LLAMA_70B, layout, 80, 8, own)
    assert change is not None
    assert change.words == ("sharding zero3", "microBatch 1 with accumulation 8")
    least = smallest_world(job, LLAMA_70B, layout, 80, 8, own)
    assert least is not None
    assert "sharding zero3" in least[1]
    ddp = Ways(shardings=("none",), tensor=False)
    assert smallest_change(job, LLAMA_70B, layout, 80, 8, ddp) is None
    assert smallest_world(job, LLAMA_70B, layout, 80, 8, ddp) is None
    derived = smallest_change(replace(job, software="megatron"), LLAMA_70B, layout, 80, 8, Ways(derived=True))
    assert derived is not None
    assert (derived.job.sharding, derived.job.software) == ("fsdp", "fsdp")


def test_no_change_on_too_few_gpus() -> None:
    """C01: 405 billion do not fit 64 GPUs whatever is done. With tensor 8 and everything recomputed a GPU of 80 GB has
    2 x 4096 x 16384 x 126 / 8 = 2.1 GB of activations, 0.4 in logits, 3.4 gathered and 3 % and 3 GB besides: 69 GB for
    6,494 GB of states, 95 GPUs, 12 nodes."""
    model, job = MODELS["llama-3.1-405b"], Job(sequence=4096)
    for layout in (Layout(data=64), Layout(tensor=8, data=8)):
        assert smallest_change(job, model, layout, 80, 8) is None
        least = smallest_world(job, model, layout, 80, 8)
        assert least is not None
        assert least[0] == 12
        assert ("parallelism.tensor 8" in least[1]) is (layout.tensor == 1)
    fullest = replace(job, recompute="full")
    assert training_memory(fullest, model, Layout(tensor=8, data=12), 80).total_gb <= 80
    assert training_memory(fullest, model, Layout(tensor=8, data=11), 80).total_gb > 80


def test_activations_of_one_sequence_bound_every_number_of_nodes() -> None:
    """C01: more data parallel ranks do not share a sequence, so no number of nodes is an answer."""
    job = Job(sequence=1 << 20)
    assert smallest_world(job, LLAMA_70B, Layout(data=8), 80, 8) is None


@given(job=JOBS, layout=LAYOUTS, name=NAMES)
def test_advice_is_true_and_smallest(job: Job, layout: Layout, name: str) -> None:
    """C01: what is advised fits, keeps the GPUs and at least the batch, and is nothing where the job fits as it is."""
    change = smallest_change(job, MODELS[name], layout, 80, 8)
    fits = training_memory(job, MODELS[name], layout, 80).total_gb <= 80
    if change is None:
        assert not fits
        return
    assert training_memory(change.job, MODELS[name], change.layout, 80).total_gb <= 80
    assert (change.words == ()) is fits
    assert change.layout.world == layout.world
    before = job.micro_batch * job.accumulation * layout.data
    assert change.job.micro_batch * change.job.accumulation * change.layout.data >= before
