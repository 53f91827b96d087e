"""FSx for Lustre: sizes and throughput."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.storage import fsx

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
