"""Restarts, idle GPUs, and the notice of borrowed capacity (KJ08, T11, T14, PF10)."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.reliability.mttf import (
    SPOT_MOST_LOST_MINUTES,
    covered_hours,
    expected_failures,
    failure_cost,
    failure_rate,
    mttf,
    restarts_for,
)


def test_three_restarts_are_used_up_in_three_mttf() -> None:
    """KJ08, T3.7: about 346 h at 256 GPUs."""
    hours = mttf(256, failure_rate(None, 6.5)).hours
    assert round(covered_hours(3, hours)) == 346
    assert expected_failures(346, hours) == pytest.approx(3, abs=0.01)


@pytest.mark.parametrize(("mean", "restarts"), [(0.0, 0), (0.05, 0), (0.052, 1), (0.3, 1), (1.0, 3), (3.0, 6)])
def test_restarts_that_are_enough(mean: float, restarts: int) -> None:
    """KJ08: Poisson by hand: e^-1 (1 + 1 + 1/2 + 1/6) = 0.981 for one failure; three expected ones take six."""
    assert restarts_for(mean * 100, 100) == restarts


def test_restarts_for_other_probabilities() -> None:
    """KJ08: of one expected failure, none in 37 % of the runs, at most one in 74 %."""
    assert restarts_for(100, 100, likely=exp(-1)) == 0
    assert restarts_for(100, 100, likely=0.4) == 1
    assert restarts_for(100, 100, likely=0.75) == 2


@given(mean=st.floats(0.01, 2000), more=st.floats(1.0, 2.0))
def test_longer_runs_need_more_restarts(mean: float, more: float) -> None:
    """KJ08: never fewer, and within a few deviations of the failures to expect."""
    restarts = restarts_for(mean, 1)
    assert restarts <= restarts_for(mean * more, 1)
    assert mean - 1 <= restarts <= mean + 2 * mean**0.5 + 2


@pytest.mark.parametrize(("hours", "likely"), [(1e9, 0.95), (10, 0.0), (10, 1.0)])
def test_no_number_of_restarts_is_enough(hours: float, likely: float) -> None:
    """A run that fails all the time, and a certainty that nobody can give."""
    with pytest.raises(ValueError, match="no number of restarts"):
        restarts_for(hours, 1, likely)


def test_cost_of_a_failure() -> None:
    """T11: half of 30 min and a restart of 15: half an hour of 1,024 GPUs at 2.5 USD is 1,280 USD."""
    cost = failure_cost(1024, 2.5, every_s=1800, restart_s=900)
    assert (cost.hours, cost.gpu_hours, cost.usd) == (0.5, 512, 1280)


def test_notice_of_spot_capacity() -> None:
    """T14, PF10: of work a quarter of an hour may go."""
    assert SPOT_MOST_LOST_MINUTES == 15
