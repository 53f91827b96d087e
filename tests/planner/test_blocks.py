"""Capacity blocks: days, moments, prices."""

from datetime import UTC, date, datetime, timedelta

import pytest

from catalogue.instances import INSTANCES
from planner.blocks import block_times, days, is_sold, nodes_on, whole_price

START, END = date(2026, 12, 1), date(2026, 12, 15)


@pytest.mark.parametrize(
    ("days_", "sold"),
    [(0, False), (1, True), (14, True), (15, False), (20, False), (21, True), (28, True), (182, True), (189, False)],
)
def test_blocks_come_in_days_and_then_in_weeks(days_: int, sold: bool) -> None:
    """PF10: 1 to 14 days by the day, then weeks, up to 182 days."""
    assert is_sold(days_) is sold


def test_moments_of_a_block() -> None:
    """PF10: 11:30 UTC is the end; EC2 takes nodes from 11:00, EKS empties the group at 10:50, checkpoint by 10:45."""
    times = block_times(START, END)
    assert times.start == datetime(2026, 12, 1, 11, 30, tzinfo=UTC)
    assert times.end == datetime(2026, 12, 15, 11, 30, tzinfo=UTC)
    assert times.end - times.taken == timedelta(minutes=30)
    assert times.end - times.scaled_to_zero == timedelta(minutes=40)
    assert times.end - times.checkpoint_by == timedelta(minutes=45)


def test_an_ultraserver_is_left_an_hour_before_the_end() -> None:
    """PF10: EKS would empty the group at 40 minutes, which is too late for P6e-GB200."""
    times = block_times(START, END, ultraserver=True)
    assert times.end - times.taken == timedelta(minutes=60)
    assert times.end - times.scaled_to_zero == timedelta(minutes=40)
    assert times.end - times.checkpoint_by == timedelta(minutes=65)


@pytest.mark.parametrize(
    ("today", "nodes"),
    [(date(2026, 11, 30), 0), (START, 8), (date(2026, 12, 14), 8), (END, 0), (date(2027, 1, 1), 0)],
)
def test_nodes_are_asked_for_only_while_the_block_runs(today: date, nodes: int) -> None:
    """PF10: before its start a desired count above zero fails; at its end there is nothing left to ask for."""
    assert nodes_on(8, START, END, today) == nodes


def test_a_block_is_paid_as_a_whole() -> None:
    """T3.9, PF10: 8 x p4d.24xlarge for 14 days at 14.75: 8 x 336 h x 14.75 = 39,648 USD."""
    price = INSTANCES["p4d.24xlarge"].capacity_block
    assert price
    assert days(START, END) == 14
    assert whole_price(price, 8, START, END).usd == pytest.approx(39_648)
    wide = INSTANCES["p5e.48xlarge"].capacity_block
    assert wide
    week = whole_price(wide, 2, date(2027, 3, 1), date(2027, 3, 8))
    assert (week.low, week.usd, week.high) == pytest.approx((2 * 168 * 34.61, 2 * 168 * 39.80, 2 * 168 * 43.26))
