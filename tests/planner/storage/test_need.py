"""What runs ask of storage, and of their nodes' own."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.instances import INSTANCES
from catalogue.types import Nvme
from planner.storage import fsx, tiers
from planner.storage.need import (
    RunIo,
    Staging,
    checkpoint_bytes_per_parameter,
    checkpoint_gb,
    local_write_seconds,
    shared_copy_seconds,
    shared_write_gb_per_s,
    staged_gb_per_node,
    staging_seconds,
    target_gb_per_s,
    text_gb,
)
from tests.planner.stacks import saving


@pytest.mark.parametrize(("parameters", "gb"), [(8e9, 112), (70.6e9, 988), (405e9, 5670), (13e9, 182)])
def test_checkpoint_sizes(parameters: float, gb: float) -> None:
    """T3.8, G23: 14 bytes a parameter; 13e9 x 14 = 182e9 worked out by hand."""
    assert checkpoint_gb(parameters) == pytest.approx(gb, abs=0.5)


@pytest.mark.parametrize(("precision", "expected"), [("bf16", 14), ("fp16", 14), ("fp8", 14), ("fp32", 12)])
def test_bytes_by_precision(precision: str, expected: int) -> None:
    """T3.8: weights, a master copy of 4 unless they are fp32 themselves, and two moments of 4."""
    assert checkpoint_bytes_per_parameter(precision) == expected


def test_unknown_precision_is_a_programmers_error() -> None:
    """A precision outside the table has no size."""
    with pytest.raises(ValueError, match="int3"):
        checkpoint_bytes_per_parameter("int3")


@pytest.mark.parametrize(
    ("parameters", "seconds", "gb_per_s"), [(70.6e9, 60, 16.5), (70.6e9, 30, 33), (405e9, 60, 95), (13e9, 91, 2)]
)
def test_write_bandwidth(parameters: float, seconds: float, gb_per_s: float) -> None:
    """T3.8: size over allowed seconds; 182 GB in 91 s are 2 GB/s."""
    assert checkpoint_gb(parameters) / seconds == pytest.approx(gb_per_s, rel=0.01)


def test_each_node_writes_its_part_first() -> None:
    """T3.8: 70B over 32 nodes are 31 GB a node, written in less than 10 s at 4 GB/s."""
    run = RunIo(name="r", nodes=32, checkpoint_gb=checkpoint_gb(70.6e9), saving=saving(local=True))
    assert run.checkpoint_gb / run.nodes == pytest.approx(30.9, abs=0.05)
    assert local_write_seconds(run, 4.0) == pytest.approx(7.72, abs=0.01)


def test_local_checkpoints_drain_until_the_next_one() -> None:
    """ST02: 900 GB every 30 minutes are 0.5 GB/s in the background, and 15 GB/s if training waits a minute for them."""
    run = RunIo(name="r", nodes=4, checkpoint_gb=900, saving=saving())
    assert shared_write_gb_per_s(run) == 15
    assert shared_write_gb_per_s(replace(run, saving=saving(local=True))) == 0.5
    assert shared_write_gb_per_s(replace(run, saving=None)) == 0
    assert target_gb_per_s([run, run]) == 30


def test_text_is_negligible_beside_checkpoints() -> None:
    """ST01, T3.8: 80,000 tokens/s of 4 bytes are 0.32 MB/s; a checkpoint of the same run asks for 16.5 GB/s."""
    assert text_gb(80_000) == pytest.approx(0.00032)
    assert text_gb(80_000) * 10_000 < checkpoint_gb(70.6e9) / 60


def test_staging_a_dataset_in_shards() -> None:
    """T3.8, ST12: 2 TB over 32 nodes in 120 s are 16.7 GB/s in all, and 62.5 GB a node."""
    assert staged_gb_per_node(2000, 32, Staging.SHARD) == 62.5
    run = RunIo(name="r", nodes=32, dataset_gb=2000, staging=Staging.SHARD)
    assert staging_seconds(run, storage=16.667, node_network=50, node_write=32) == pytest.approx(120, abs=0.1)


@pytest.mark.parametrize(
    ("staging", "storage", "network", "write", "seconds"),
    [
        (Staging.SHARD, 10, 5, 4, 40),
        (Staging.SHARD, 100, 5, 100, 20),
        (Staging.SHARD, 100, 100, 4, 25),
        (Staging.FULL, 10, 5, 4, 160),
        (Staging.NONE, 10, 5, 4, 0),
    ],
)
def test_staging_is_as_fast_as_its_slowest_part(
    staging: Staging, storage: float, network: float, write: float, seconds: float
) -> None:
    """T3.8: 400 GB to 4 nodes at min(storage, 4 x network, 4 x NVMe); a full copy moves 4 x 400 GB."""
    run = RunIo(name="r", nodes=4, dataset_gb=400, staging=staging)
    assert staging_seconds(run, storage=storage, node_network=network, node_write=write) == pytest.approx(seconds)


@given(parameters=st.floats(1e6, 1e13), nodes=st.integers(1, 4096))
def test_more_nodes_never_write_more_slowly(parameters: float, nodes: int) -> None:
    """G23: a larger gang writes its parts no slower."""
    size = checkpoint_gb(parameters)
    few, many = (RunIo(name="r", nodes=count, checkpoint_gb=size) for count in (nodes, nodes + 1))
    assert local_write_seconds(many, 4) <= local_write_seconds(few, 4)
    assert staged_gb_per_node(size, nodes + 1, Staging.SHARD) <= staged_gb_per_node(size, nodes, Staging.FULL)


ONE_TB = Nvme(count=1, size_gb=1000)


def test_p5_has_thirty_terabytes() -> None:
    """T3.8: 8 drives; EC2 shows them as 3,800 GB each."""
    assert tiers.raw_gb(INSTANCES["p5.48xlarge"].nvme) == 30_400
    assert tiers.raw_gb(Nvme(count=8, size_gb=3840)) == pytest.approx(30_700, rel=0.001)
    assert tiers.raw_gb(None) == 0


@pytest.mark.parametrize(("staging", "fits"), [(Staging.FULL, False), (Staging.SHARD, True), (Staging.NONE, True)])
def test_two_terabytes_do_not_fit_on_one(staging: Staging, fits: bool) -> None:
    """ST12: a full copy of 2 TB does not fit on 1 TB of NVMe; the 62.5 GB shard of one of 32 nodes does."""
    run = RunIo(name="r", nodes=32, dataset_gb=2000, staging=staging)
    assert tiers.fits(run, ONE_TB) is fits


@pytest.mark.parametrize(("dataset", "fits"), [(800, True), (800.1, False)])
def test_a_fifth_stays_free(dataset: float, fits: bool) -> None:
    """ST12: 80 % of 1 TB are 800 GB."""
    run = RunIo(name="r", nodes=1, dataset_gb=dataset, staging=Staging.FULL)
    assert tiers.fits(run, ONE_TB) is fits


def test_checkpoints_count_where_they_are_local() -> None:
    """ST12: a dataset shard and three checkpoints: 1000/4 + 3 x 400/4 = 550 GB; the dataset alone otherwise."""
    kept = saving(keep=3, local=True)
    run = RunIo(name="r", nodes=4, checkpoint_gb=400, saving=kept, dataset_gb=1000, staging=Staging.SHARD)
    assert tiers.local_gb(run) == 550
    assert tiers.local_gb(replace(run, saving=saving(keep=3))) == 250


def test_no_disks_hold_nothing() -> None:
    """B09: a node without NVMe stages nothing."""
    assert tiers.fits(RunIo(name="r", nodes=1), None)
    assert not tiers.fits(RunIo(name="r", nodes=1, dataset_gb=1, staging=Staging.FULL), None)
    assert tiers.write_gb_per_s(None) == 0


def test_drives_add_up() -> None:
    """G17: one data-centre drive writes about 4 GB/s; eight do eight times that."""
    assert tiers.write_gb_per_s(ONE_TB) == pytest.approx(4, abs=0.2)
    assert tiers.write_gb_per_s(Nvme(count=8, size_gb=3840)) == pytest.approx(32, abs=1)


TIERS = st.sampled_from([None, 125, 250, 500, 1000])


@pytest.mark.parametrize(("tier", "tib"), [(125, 132), (250, 66), (500, 33), (1000, 16.5)])
def test_capacity_from_throughput(tier: int, tib: float) -> None:
    """T3.8: 16.5 GB/s take GB/s x 1000 / tier TiB."""
    assert fsx.tib_needed(16.5, tier) == pytest.approx(tib)


def test_a_hundred_gigabytes_per_second() -> None:
    """ST18: 100 GB/s take 100 TiB at 1000 MB/s per TiB, and five times as much of SCRATCH_2."""
    assert fsx.tib_needed(100, 1000) == 100
    assert fsx.tib_needed(100, None) == 500
    assert fsx.mb_per_s(100 * 1024, 1000) == 100_000


@pytest.mark.parametrize(("tier", "step"), [(125, 38400), (250, 19200), (500, 9600), (1000, 4800)])
def test_steps_with_efa(tier: int, step: int) -> None:
    """G05, aws 2.8: with EFA the tier decides minimum and step."""
    assert fsx.step_gib(tier, efa=True) == step
    assert fsx.is_size(step, tier, efa=True)
    assert fsx.is_size(3 * step, tier, efa=True)
    assert not fsx.is_size(step // 2, tier, efa=True)
    assert not fsx.is_size(0, tier, efa=True)
    assert fsx.sizes_around(step // 2, tier, efa=True) == (step, step)


@pytest.mark.parametrize(
    ("capacity", "fits"), [(1200, True), (2400, True), (3600, False), (4800, True), (0, False), (1800, False)]
)
def test_sizes_without_efa(capacity: int, fits: bool) -> None:
    """ST18, aws 2.8: 1200 GiB and multiples of 2400, whatever the tier."""
    assert all(fsx.is_size(capacity, tier, efa=False) is fits for tier in (None, 125, 1000))


@pytest.mark.parametrize(("capacity", "around"), [(1800, (1200, 2400)), (3600, (2400, 4800)), (700, (1200, 1200))])
def test_the_next_sizes(capacity: int, around: tuple[int, int]) -> None:
    """ST18: what to type instead."""
    assert fsx.sizes_around(capacity, 250, efa=False) == around


@pytest.mark.parametrize(
    ("rate", "tier", "efa", "capacity"),
    [
        (0.1, None, False, 1200),
        (1, None, False, 7200),
        (10, 1000, False, 12000),
        (10, 1000, True, 14400),
        (1, 125, True, 38400),
    ],
)
def test_the_capacity_that_is_sold(rate: float, tier: int | None, efa: bool, capacity: int) -> None:
    """G04: 1 GB/s of SCRATCH_2 is 5120 GiB, sold as 7200; 10 GB/s at 1000 is 10,240, sold as 12,000 (EFA: 14,400)."""
    assert fsx.capacity_gib_for(rate, tier, efa) == capacity


def test_a_client_has_a_limit_of_its_own() -> None:
    """G24: a p5 with 3,200 Gb/s reads 12.5 GB/s over ENA and 87.5 over EFA; a small type no more than its card."""
    assert fsx.client_gb_per_s(3200, efa=False) == 12.5
    assert fsx.client_gb_per_s(3200, efa=True) == 87.5
    assert fsx.client_gb_per_s(50, efa=True) == 6.25


@given(rate=st.floats(0.01, 5000), tier=TIERS, efa=st.booleans())
def test_the_smallest_size_that_is_fast_enough(rate: float, tier: int | None, efa: bool) -> None:
    """G04: it is sold, it delivers, and the next smaller one does not."""
    efa = efa and tier is not None
    capacity = fsx.capacity_gib_for(rate, tier, efa)
    assert fsx.is_size(capacity, tier, efa)
    assert fsx.mb_per_s(capacity, tier) >= rate * 1000 * (1 - 1e-6)
    smaller = capacity - fsx.step_gib(tier, efa) or (0 if efa else fsx.SMALLEST_GIB)
    if 0 < smaller < capacity:
        assert fsx.mb_per_s(smaller, tier) < rate * 1000 * (1 + 1e-6)


@pytest.mark.parametrize(
    ("storage", "node", "seconds"),
    [
        (10.0, 5.0, 90.0),
        (10.0, 2.0, 113),
        (100.0, 50.0, 57),
        (0.0, 5.0, 0.0),
    ],
)
def test_the_copy_of_a_save_goes_as_fast_as_the_slowest_part(storage: float, node: float, seconds: float) -> None:
    """S05: 900 GB of four nodes: the file system, the nodes' networks, or the hashes of 4 GB/s each."""
    run = RunIo(name="r", nodes=4, checkpoint_gb=900, saving=saving(local=True))
    assert shared_copy_seconds(run, storage=storage, node=node, hashing=4.0) == seconds
    straight = replace(run, saving=saving())
    assert shared_copy_seconds(straight, storage=storage, node=node, hashing=4.0) == 0.0
