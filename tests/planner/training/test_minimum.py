"""GPUs by size of the model (C01, HW21, HW24)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.models import MODELS
from planner.training.advice import Mode, min_gpus, needs
from planner.training.job import Gradients, Sharding


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


@pytest.mark.parametrize(
    ("mode", "sharding", "gradients", "gpus"),
    [
        ("inference", "fsdp", "bf16", 2),
        ("full", "none", "bf16", None),
        ("full", "zero1", "bf16", None),
        ("full", "fsdp", "fp32", 10),
        ("lora", "fsdp", "bf16", 2),
        ("lora", "zero2", "bf16", None),
        ("qlora", "zero2", "bf16", 1),
    ],
)
def test_gpus_of_34_billion(mode: Mode, sharding: Sharding, gradients: Gradients, gpus: int | None) -> None:
    """C01, by hand, budget 64 GB: weights 68 GB; ZeRO-1 keeps 4 x 34 = 136 GB; 18 x 34 = 612 GB are 9.6 GPUs; LoRA
    68 + 16 x 0.68 = 79 GB, of which ZeRO-2 keeps 68; QLoRA 17.5 + 11 GB."""
    assert min_gpus(34e9, mode, memory_gb=80, sharding=sharding, gradients=gradients) == gpus


def test_zero_1_that_fits_in_the_end() -> None:
    """C07: 10 billion on 64 GB: 40 GB stay on every rank, and 120 GB of states go into the other 24: 5 ranks."""
    assert min_gpus(10e9, "full", memory_gb=80, sharding="zero1") == 5
    assert min_gpus(10e9, "full", memory_gb=80, sharding="zero2") == 4
    assert min_gpus(16e9, "full", memory_gb=80, sharding="zero1") is None


def test_plain_data_parallelism_ends_at_four_billion() -> None:
    """HW24: 64 GB / 16 = 4.0 billion, 64 / 18 = 3.6 with fp32 gradients; 7 and 70 billion are out of its reach."""
    assert min_gpus(4.0e9, "full", memory_gb=80, sharding="none") == 1
    assert min_gpus(7e9, "full", memory_gb=80, sharding="none") is None
    assert min_gpus(70e9, "full", memory_gb=80, sharding="none") is None


def test_a_row_of_the_table() -> None:
    """C01: 70 billion on 80 GB: 3 GPUs to serve, 1 for QLoRA, 3 for LoRA, 18 for everything."""
    row = needs(70e9, 80)
    assert (row.inference, row.qlora, row.lora, row.full) == (3, 1, 3, 18)
    assert min_gpus(70e9, "inference", memory_gb=80, precision="fp8") == 2


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
