"""The plan's numbers among a stack's outputs."""

import json

import pytest

from planner.faces.outputs import numbers
from tests.planner.stacks import planned, planned_metal


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_numbers_are_json_and_small(stack: str) -> None:
    """A reviewer reads them in a preview: plain, and the same in every run."""
    shown = numbers(planned(stack))
    assert json.loads(json.dumps(shown)) == shown
    assert len(json.dumps(shown)) < 6000
    assert shown == numbers(planned(stack))
    subjects = {"totals", "pools", "gangs", "services", "monitoring", "subnets", "storage", "priceUsd", "quotas"}
    assert subjects == set(shown)


def test_a_preview_shows_what_a_change_costs() -> None:
    """Price, quotas, EFA and file system follow the settings."""
    before, after = numbers(planned("prod")), numbers(planned("prod", {"pools.1.count": 9}))
    assert after["totals"]["efaInterfaces"] - before["totals"]["efaInterfaces"] == 32
    assert after["priceUsd"]["hourly"] - before["priceUsd"]["hourly"] > 55
    assert after["quotas"]["Running On-Demand P instances"] - before["quotas"]["Running On-Demand P instances"] == 192
    assert before["storage"] == after["storage"]
    assert before["storage"]["readGbPerS"] == 18.75


def test_memory_of_a_gpu_is_there_with_the_model() -> None:
    """What a GPU needs beside what it has."""
    run = {"name": "sft", "pool": "training", "nodes": 8, "queue": "training", "image": "a:1", "script": ["a.py"]}
    with_model = {**run, "model": "llama-3-8b", "recompute": "full"}
    plain, shown = (numbers(planned("prod", {"training.runs": [each]}))["gangs"]["sft"] for each in (run, with_model))
    assert shown["gpuGb"] == pytest.approx(85.5)
    assert 0 < shown["memoryGbPerGpu"] < 80
    assert set(plain) == {"pods", "gpus", "efa"}


def test_metal_shows_power_and_racks() -> None:
    """Fabric, storage and room instead of price and quotas."""
    shown = numbers(planned_metal())
    assert {"fabric", "storage", "power"} <= set(shown)
    assert shown["power"]["drawKw"] > 81.6
    assert (shown["storage"]["readGbPerS"], shown["storage"]["writeGbPerS"]) == (400, 256)
    assert (shown["fabric"]["leaves"], shown["fabric"]["cables"]) == (8, 64 + 8 * 32)
    assert len(json.dumps(shown)) < 6000
