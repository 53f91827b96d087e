"""Dashboards as ConfigMaps that Grafana's sidecar finds, and a ConfigMap can hold (X08, AB09)."""

import json

import pytest

from components.monitoring.dashboards import MOST_BYTES, Dashboards, DashboardsArgs, content
from monitoring.dashboards.model import Dashboard
from tests.components.samples import built
from tests.components.samples.monitoring import BOARD
from tests.monitoring.dashboards.boards import PLANS, boards


def padded(size: int) -> Dashboard:
    """A dashboard whose file has so many bytes."""
    empty = Dashboard(uid="long", title="Long", description="", sections=())
    return Dashboard(uid="long", title="Long", description="x" * (size - len(content(empty))), sections=())


def test_the_largest_that_fits_and_one_byte_more() -> None:
    assert DashboardsArgs(namespace="monitoring", boards=[BOARD, padded(MOST_BYTES)])
    with pytest.raises(ValueError, match=r"long: 1048577 bytes exceed a ConfigMap's 1048576"):
        DashboardsArgs(namespace="monitoring", boards=[BOARD, padded(MOST_BYTES + 1)])


@pytest.mark.parametrize("plan", PLANS)
def test_ours_are_far_from_that(plan: str) -> None:
    assert max(len(content(each).encode()) for each in boards(plan).values()) < MOST_BYTES / 10


def test_every_board_has_its_own_map() -> None:
    made = list(boards("prod").values())
    graph = built(lambda opts: Dashboards("sample", DashboardsArgs(namespace="monitoring", boards=made), opts))
    maps = {each.inputs["metadata"]["name"]: each.inputs["data"] for each in graph.of_type("ConfigMap")}
    assert {name: json.loads(data[f"{name}.json"]) for name, data in maps.items()} == {
        each.uid: json.loads(json.dumps(each.json())) for each in made
    }
