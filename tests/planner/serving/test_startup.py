"""How long a replica takes to answer (IN04, Q04)."""

import pytest

from catalogue.models import MODELS
from planner.serving.startup import load_rate_gb_per_s, load_seconds, scale_up_seconds, startup_seconds

WEIGHTS = MODELS["llama-3-70b"].weights_bytes


@pytest.mark.parametrize(("gb_per_s", "seconds"), [(0.5, 282), (1, 141), (5, 28)])
def test_load_time_of_llama_70b(gb_per_s: float, seconds: int) -> None:
    """T3.6, IN04: 141 GB by the store's rate; a liveness probe that ends it after 270 s would do so without end."""
    assert round(load_seconds(WEIGHTS, gb_per_s)) == seconds


def test_startup_budget_is_twice_the_reading_time() -> None:
    """IN04, Q04: 141 GB through 234 MB/s take 10 minutes, so the probe waits 20; small models wait 10 all the same."""
    rate = 1200 / 1024 * 0.2
    assert startup_seconds(load_seconds(WEIGHTS, rate)) == 1204
    assert startup_seconds(load_seconds(MODELS["llama-3-8b"].weights_bytes, rate)) == 600
    assert startup_seconds(301) == 602


def test_scale_up_waits_for_node_image_and_weights() -> None:
    """T3.6: 120 s of node start, 8 GB at 0.1 GB/s and 141 s of weights are 341 s; a warm node saves the first two."""
    assert scale_up_seconds(141, node_s=120, image_gb=8, pull_gb_per_s=0.1) == pytest.approx(341)
    assert scale_up_seconds(141, image_gb=0) == 141
    assert scale_up_seconds(141) == pytest.approx(191)


@pytest.mark.parametrize(
    ("shared", "node", "pcie", "gpus", "slowest"),
    [(5, 40, 64, 8, 5), (100, 12.5, 64, 8, 12.5), (100, None, 1, 8, 8), (100, 40, 64, 8, 16), (100, 40, 64, 1, 2)],
)
def test_weights_come_at_the_rate_of_the_slowest(
    shared: float, node: float | None, pcie: float, gpus: int, slowest: float
) -> None:
    """File system, the node's network, PCIe and the reading processes stand in one row."""
    assert load_rate_gb_per_s(shared, node, pcie, gpus) == slowest
