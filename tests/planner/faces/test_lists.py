"""Bills and cables as comma-separated values, and the outputs of a stack."""

import csv
import json
from dataclasses import replace
from io import StringIO

import pytest

from planner.faces.lists import bill, cables
from planner.faces.outputs import numbers
from planner.metal_types import MetalPlan
from planner.types import AwsPlan
from tests.planner.site import planned_site
from tests.planner.stacks import planned, planned_metal


def read(text: str) -> list[list[str]]:
    return list(csv.reader(StringIO(text)))


@pytest.mark.parametrize("planned_", [planned("prod"), planned_metal()], ids=["aws", "metal"])
def test_the_bill_has_every_line(planned_: AwsPlan | MetalPlan) -> None:
    """In order, with sums that are the plan's."""
    heading, *rows = read(bill(planned_))
    assert [row[1] for row in rows] == [line.item for line in planned_.bom.lines]
    assert all(len(row) == len(heading) for row in rows)
    bought = [row for row in rows if row[4] == "purchase" and row[8]]
    assert sum(float(row[8]) for row in bought) == pytest.approx(planned_.bom.cost().usd, abs=1)


@pytest.mark.parametrize("changes", [{}, {"pools.1.count": 40}, {"fabric.redundant": True}], ids=str)
def test_every_cable_has_a_line(changes: dict[str, object]) -> None:
    """As many as the plan counts, over all planes; no port has two; nodes have the names they have in their racks."""
    planned_ = planned_site(changes)
    assert planned_.fabric is not None
    _, *rows = read(cables(planned_) or "")
    design = planned_.fabric.growth.day_one
    beside = sum(1 for network in planned_.networks for _ in network.links())
    assert beside == sum(network.cables for network in planned_.networks) > 0
    assert len(rows) == design.cables + beside
    ends = [(row[3], row[4]) for row in rows]
    if design.planes == 1:
        ends += [(row[1], row[2]) for row in rows]
    assert len(ends) == len(set(ends))
    racked = {machine for rack in planned_.facility.racks for machine in rack.machines}
    nodes = {row[1] for row in rows if row[1].startswith("training-")}
    assert len(nodes) == design.demand.nodes
    assert nodes <= racked
    lengths = [float(row[6]) for row in rows if row[6]]
    assert len(lengths) == design.cables, "those of the fabric, whose room is known"
    assert min(lengths) > 0


def test_a_stack_on_aws_has_no_cables() -> None:
    """Its fabric is Amazon's."""
    assert cables(planned("prod")) is None


@pytest.mark.parametrize("item", ["=1+1", "+1", "-1", "@x"])
def test_no_cell_is_a_formula(item: str) -> None:
    """A spreadsheet shows what stands there, and computes nothing."""
    planned_ = planned("prod")
    bom = replace(planned_.bom, lines=(replace(planned_.bom.lines[0], item=item, note='a "b", c\nd'),))
    _, row = read(bill(replace(planned_, bom=bom)))
    assert row[1] == f"'{item}"
    assert row[-1] == 'a "b", c\nd'


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
