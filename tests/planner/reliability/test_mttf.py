"""Mean time to failure (T10, PF21): one rate at every size, published figures beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalogue.gpus import A100_80, B200, H100, H200
from planner.reliability.checkpoints import effective_part
from planner.reliability.mttf import (
    SPOT_MOST_LOST_MINUTES,
    compared,
    covered_hours,
    expected_failures,
    failure_cost,
    failure_rate,
    mttf,
    restarts_for,
)

RSC_1 = failure_rate(None, 6.5)


@pytest.mark.parametrize(
    ("gpus", "hours"),
    [
        (64, "462"),
        (256, "115"),
        (512, "57.7"),
        (1024, "28.8"),
        (2048, "14.4"),
        (16_384, "1.80"),
        (131_072, "0.225"),
    ],
)
def test_rate_model(gpus: int, hours: str) -> None:
    """PF21: 6.5 failures in 1000 node-days of eight GPUs, as a site may say of its own nodes."""
    assert f"{mttf(gpus, RSC_1).hours:.{len(hours.partition('.')[2])}f}" == hours


def test_rates_are_of_the_gpu() -> None:
    """T10: A100 by RSC-1, RSC-2 and OPT-175B, H100 and H200 by Llama 3, each with its range and sources."""
    assert failure_rate(A100_80).per_1000_node_days == pytest.approx(7.1)
    assert failure_rate(H100) == failure_rate(H200)
    assert failure_rate(H100).per_1000_node_days == pytest.approx(419 / 54 / 2048 * 1000)
    for gpu in (A100_80, H100, B200):
        rate = failure_rate(gpu)
        assert rate.low <= rate.per_1000_node_days <= rate.high
    assert "no figure published" in failure_rate(B200).source


def test_own_rate_decides_alone() -> None:
    """T10: a site with 2 failures in 1000 node-days and 5 nodes runs 24,000 / 10 = 2400 h, without a range."""
    found = mttf(40, failure_rate(H100, 2))
    assert (found.hours, found.low, found.high) == (2400, 2400, 2400)
    assert "of the site" in found.source


def test_what_was_published_stands_beside_it() -> None:
    """PF21: 7.9 h of RSC-1 and 25 h of OPT-175B are shown at 1,024 GPUs, and replace nothing."""
    assert {each.gpus for each in compared(1024)} == {992, 1024}
    assert compared(64) == ()
    assert mttf(1024, failure_rate(A100_80)).hours == pytest.approx(26.4, abs=0.1)


@given(gpus=st.integers(1, 200_000), more=st.integers(1, 100_000), rate=st.floats(0.1, 100))
def test_failures_are_monotone(gpus: int, more: int, rate: float) -> None:
    """T10, item 6: one more GPU never lengthens the time between failures, never raises the effective part, and never
    cheapens a failure, at every size (63 and 64 nodes, 256 and 257)."""
    few, many = (mttf(each, failure_rate(None, rate)).hours for each in (gpus, gpus + more))
    assert many < few
    parts = [effective_part(60, 3600, hours, 600) for hours in (few, many)]
    assert parts[1] <= parts[0]
    costs = [failure_cost(each, 2.5, every_s=3600, restart_s=600).gpu_hours for each in (gpus, gpus + more)]
    assert costs[1] > costs[0]


@pytest.mark.parametrize("nodes", [63, 256])
def test_no_step_where_tables_ended(nodes: int) -> None:
    """The next node shortens the time by its own part: 63 to 64 nodes by 1/64, 256 to 257 by 1/257."""
    now, then = (mttf(8 * each, failure_rate(H100)).hours for each in (nodes, nodes + 1))
    assert then / now == pytest.approx(nodes / (nodes + 1))


def test_three_restarts_are_used_up_in_three_mttf() -> None:
    """KJ08, T3.7: about 346 h at 256 GPUs."""
    hours = mttf(256, failure_rate(None, 6.5)).hours
    assert round(covered_hours(3, hours)) == 346
    assert expected_failures(346, hours) == pytest.approx(3, abs=0.01)


@pytest.mark.parametrize(("mean", "restarts"), [(0.0, 0), (0.05, 0), (0.052, 1), (0.3, 1), (1.0, 3), (3.0, 6)])
def test_restarts_that_are_enough(mean: float, restarts: int) -> None:
    """KJ08: Poisson by hand: e^-1 (1 + 1 + 1/2 + 1/6) = 0.981 for one failure; three expected ones take six."""
    assert restarts_for(mean * 100, 100) == restarts


@given(mean=st.floats(0.01, 2000), more=st.floats(1.0, 2.0))
def test_longer_runs_need_more_restarts(mean: float, more: float) -> None:
    """KJ08: never fewer, and within a few deviations of the failures to expect."""
    restarts = restarts_for(mean, 1)
    assert restarts <= restarts_for(mean * more, 1)
    assert mean - 1 <= restarts <= mean + 2 * mean**0.5 + 2


def test_no_number_of_restarts_is_enough() -> None:
    """A run that fails all the time."""
    with pytest.raises(ValueError, match="no number of restarts"):
        restarts_for(1e9, 1)


def test_cost_of_a_failure() -> None:
    """T11: half of 30 min and a restart of 15: half an hour of 1,024 GPUs at 2.5 USD is 1,280 USD."""
    cost = failure_cost(1024, 2.5, every_s=1800, restart_s=900)
    assert (cost.hours, cost.gpu_hours, cost.usd) == (0.5, 512, 1280)


def test_notice_of_spot_capacity() -> None:
    """T14, PF10: of work a quarter of an hour may go."""
    assert SPOT_MOST_LOST_MINUTES == 15
