"""Rules about what a stack on AWS may cost: each spoken, each silent, and the split of the price."""

import pytest

from planner.faces.outputs import aws_numbers
from tests.planner.stacks import planned, rules

TOLD = {"emails": ["ml@your-company.com"]}


@pytest.mark.parametrize(("limit", "refused"), [(71, ["gpu-ceiling"]), (72, [])])
def test_more_gpus_than_allowed_are_refused(limit: int, refused: list[str]) -> None:
    """Z15: the ceiling itself is allowed."""
    assert [finding.rule for finding in planned("prod", {"budget.maxGpus": limit}).errors] == refused


def test_the_ceiling_points_at_the_pool_with_the_most() -> None:
    (finding,) = planned("prod", {"budget.maxGpus": 1}).errors
    assert finding.path == "gpucluster:pools[1].count"
    assert "72 GPUs, 64 of them in training" in finding.sentence
    assert "raise budget.maxGpus to 72" in finding.remedy


def test_without_a_ceiling_nothing_is_counted() -> None:
    assert "gpu-ceiling" not in rules(planned("prod", {"budget.maxGpus": None}))


def _month(monthly_usd: float) -> list[str]:
    plan = planned("dev", {"budget.alerts": {"monthlyUsd": monthly_usd, **TOLD}})
    return [rule for rule in rules(plan) if rule.startswith("month-")]


def test_a_month_is_compared_with_what_always_stands_and_with_everything() -> None:
    """Z15: below what the stack costs without GPU nodes it is refused; below the whole price it is a warning."""
    prices = planned("dev").prices
    gpu = sum(line.usd_per_hour for line in prices.lines if line.pool in ("training", "inference"))
    fixed = (prices.hourly - gpu) * 730
    assert _month(fixed - 5) == ["month-below-fixed", "month-above-alerts"]
    assert _month(fixed + 5) == ["month-above-alerts"]
    assert _month(prices.monthly - 1) == ["month-above-alerts"]
    assert _month(prices.monthly + 1) == []


def test_the_price_is_split_by_layer() -> None:
    """Z12: what each layer costs an hour is shown where a preview shows it, and adds up to the whole."""
    shown = aws_numbers(planned("prod"))["priceUsd"]
    layers = shown["hourlyByLayer"]
    assert set(layers) == {"hardware", "kubePlatform", "fabric", "storage", "monitoring"}
    assert sum(layers.values()) == pytest.approx(shown["hourly"], abs=0.03)
    assert layers["kubePlatform"] == 0.1
    assert layers["hardware"] > 440
