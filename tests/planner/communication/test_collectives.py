"""The two bandwidths of a collective operation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.communication.collectives import (
    Collective,
    algorithm_gb_per_s,
    bus_factor,
    bus_gb_per_s,
)

ALL_REDUCE = Collective.ALL_REDUCE


@pytest.mark.parametrize(
    ("collective", "ranks", "factor"),
    [
        (Collective.ALL_REDUCE, 8, 14 / 8),
        (Collective.ALL_REDUCE, 64, 126 / 64),
        (Collective.ALL_REDUCE, 2, 1.0),
        (Collective.ALL_GATHER, 8, 7 / 8),
        (Collective.REDUCE_SCATTER, 5, 4 / 5),
        (Collective.ALL_TO_ALL, 16, 15 / 16),
        (Collective.SEND_RECEIVE, 2, 1.0),
        (Collective.ALL_REDUCE, 1, 0.0),
    ],
)
def test_bus_factor(collective: Collective, ranks: int, factor: float) -> None:
    """T3.4: 2(n-1)/n for all-reduce, (n-1)/n for the halves of it and all-to-all, 1 for the rest."""
    assert bus_factor(collective, ranks) == pytest.approx(factor)


def test_bandwidths_of_a_measurement() -> None:
    """T3.4: 16 GB among 8 GPUs in 75.7 ms are 211 GB/s of algorithm and 370 GB/s of bus bandwidth."""
    algorithm = 16 / 0.0757
    assert algorithm == pytest.approx(211.4, abs=0.05)
    assert bus_gb_per_s(ALL_REDUCE, 8, algorithm) == pytest.approx(370, abs=0.2)


@given(
    collective=st.sampled_from(Collective),
    ranks=st.integers(2, 10_000),
    rate=st.floats(0.1, 10_000),
)
def test_bus_bandwidth_does_not_depend_on_the_ranks(collective: Collective, ranks: int, rate: float) -> None:
    """T3.4, P19: full links show the same bus bandwidth whatever the number of GPUs."""
    assert bus_gb_per_s(collective, ranks, algorithm_gb_per_s(collective, ranks, rate)) == pytest.approx(rate)


def test_one_rank_has_no_bandwidth() -> None:
    """A group of one exchanges nothing, and no group has no rank."""
    with pytest.raises(ValueError, match="moves nothing"):
        algorithm_gb_per_s(ALL_REDUCE, 1, 370)
    with pytest.raises(ValueError, match="0 ranks"):
        bus_factor(ALL_REDUCE, 0)
