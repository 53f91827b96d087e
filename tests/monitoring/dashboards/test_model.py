"""The JSON of the dashboards: places, words and lines (X08, AB09)."""

import json
import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard as sdk

from monitoring.dashboards import ALL, dashboards, grafana
from monitoring.dashboards.alerts import bounds
from monitoring.dashboards.model import COLUMNS, Bounds, Dashboard, Panel, Query, Section, Unit, Variable
from tests.monitoring.dashboards.boards import METAL, PLANS, PROD, boards
from tests.monitoring.dashboards.test_queries import every_board
from tests.stacks.test_services import VENDOR

Place = dict[str, int]


def overlap(one: Place, other: Place) -> bool:
    """Whether two places of the grid share a cell."""
    return all(one[at] < other[at] + other[size] and other[at] < one[at] + one[size] for at, size in ("xw", "yh"))


@every_board
def test_no_panel_lies_on_another_or_beside_the_grid(plan: str, name: str) -> None:
    places = [each["gridPos"] for each in boards(plan)[name].json()["panels"]]
    assert not [pair for pair in combinations(places, 2) if overlap(*pair)]
    assert all(each["x"] >= 0 and each["x"] + each["w"] <= COLUMNS for each in places)


@every_board
def test_every_panel_says_what_a_person_sees_when_it_is_bad(plan: str, name: str) -> None:
    panels = list(boards(plan)[name].panels())
    assert len({panel.title for panel in panels}) == len(panels)
    for panel in panels:
        assert re.fullmatch(r"[A-Z0-9].{20,200}\.", panel.description), panel.title
        assert 3 <= len(panel.title) <= 60


@every_board
def test_rows_fill_the_grid(plan: str, name: str) -> None:
    rows: dict[int, int] = {}
    for each in boards(plan)[name].json()["panels"]:
        rows[each["gridPos"]["y"]] = rows.get(each["gridPos"]["y"], 0) + each["gridPos"]["w"]
    assert set(rows.values()) == {COLUMNS}


@every_board
def test_grafanas_own_types_know_every_word(plan: str, name: str) -> None:
    """The Foundation SDK reads the JSON and writes it again: what its types do not know would be gone.

    They end at Grafana 11, and schema 42 takes nothing away from them (apps/dashboard/pkg/migration/schemaversion).
    """
    register_default_plugins()
    told = boards(plan)[name].json()
    read = json.loads(json.dumps(sdk.Dashboard.from_json(told), cls=JSONEncoder))
    of_the_data_source = {f".annotations.list[0].{key}" for key in ("step", "titleFormat", "tagKeys")}
    assert set(lost(told, read)) == of_the_data_source


def lost(told: Any, read: Any, path: str = "") -> Any:
    """Paths of what one document says and the other does not."""
    if isinstance(told, dict):
        for key, value in told.items():
            if not isinstance(read, dict) or key not in read:
                if value is not None:
                    yield f"{path}.{key}"
            else:
                yield from lost(value, read[key], f"{path}.{key}")
    elif isinstance(told, list):
        for index, value in enumerate(told):
            yield from lost(value, read[index], f"{path}[{index}]")
    elif told != read:
        yield f"{path}: {told!r} is {read!r}"


def test_there_are_eight_with_addresses_of_their_own() -> None:
    made = dashboards(PROD)
    assert len(made) == len(ALL) == 8
    assert len({each.uid for each in made}) == len({each.title for each in made}) == 8
    assert all(re.fullmatch(r"gpucluster-[a-z]+", each.uid) and len(each.uid) <= 40 for each in made)


def test_the_same_plan_makes_the_same_dashboards() -> None:
    once, again = ([each.json() for each in dashboards(replace(PROD))] for _ in range(2))
    assert once == again


@pytest.mark.parametrize("plan", PLANS)
def test_no_vendor_is_named(plan: str) -> None:
    """They are registered on every platform."""
    texts = json.dumps([each.json() for each in boards(plan).values()])
    assert VENDOR.findall(texts) == []


def lines_of(board: Dashboard, title: str) -> dict[str, str]:
    """What a panel compares with: queries by legend."""
    (panel,) = [each for each in board.panels() if each.title.startswith(title)]
    return {query.legend: query.expr for query in panel.queries if query.reference}


def numbers(expr: str) -> list[float]:
    return [float(each) for each in re.findall(r"vector\(([-+.e\d]+)\)", expr)]


DRAWN = [
    ("run", "Tokens per second", "{{run}} planned", lambda plan: [run.tokens_per_s for run in plan.runs.values()]),
    ("run", "Model FLOP", "{{run}} planned", lambda plan: [run.mfu for run in plan.runs.values()]),
    ("run", "Time of a step", "{{run}} planned", lambda plan: [run.step_s for run in plan.runs.values()]),
    ("run", "Age of", "{{run}} interval", lambda plan: [run.checkpoint_every_s for run in plan.runs.values()]),
    ("run", "Training stood", "{{run}} allowed", lambda plan: [run.checkpoint_pause_s for run in plan.runs.values()]),
    ("run", "Effective", "{{run}} planned", lambda plan: [run.effective_part for run in plan.runs.values()]),
    ("pool", "Power", "{{pool}} limit of the board", lambda plan: [each.watts_per_gpu for each in plan.pools.values()]),
    (
        "fabric",
        "Sent by a node",
        "{{pool}} bus bandwidth expected",
        lambda plan: [1e9 * each.bus_gb_per_s for each in plan.pools.values() if each.bus_gb_per_s],
    ),
    (
        "fabric",
        "Sent by a node",
        "{{pool}} all cards",
        lambda plan: [1e9 * each.fabric_gb_per_s for each in plan.pools.values() if each.fabric_gb_per_s],
    ),
    ("storage", "Read by", "file system reads", lambda plan: [1e9 * plan.storage.read_gb_per_s]),
    ("storage", "Sent by", "file system writes", lambda plan: [1e9 * plan.storage.write_gb_per_s]),
    ("cluster", "GPUs held, by namespace", "planned", lambda plan: [plan.gpus]),
]


@pytest.mark.parametrize("plan", ["prod", "metal"])
@pytest.mark.parametrize(("board", "title", "legend", "wanted"), DRAWN, ids=[f"{row[0]}-{row[1]}" for row in DRAWN])
def test_what_was_planned_is_drawn(plan: str, board: str, title: str, legend: str, wanted: Any) -> None:
    """Lines to compare with are the plan's numbers, for each that has one (X14, U07)."""
    expected = wanted(PLANS[plan])
    assert expected
    assert numbers(lines_of(boards(plan)[board], title)[legend]) == pytest.approx(expected, rel=1e-4)


def test_budget_and_prices_are_the_plans() -> None:
    cost = boards("prod")["cost"]
    assert numbers(lines_of(cost, "All GPUs that are there")["budget"]) == [560]
    assert numbers(lines_of(cost, "All GPUs that are there")["planned, everything"]) == [PROD.usd_per_hour]
    (stack,) = [panel for panel in cost.panels() if panel.title.startswith("All of the stack")]
    assert "560" in stack.title
    assert stack.bounds == Bounds(bad=560)
    prices = [each.usd_per_gpu_hour for each in PROD.pools.values()]
    assert numbers(stack.queries[0].expr) == pytest.approx(prices, rel=1e-4)


def test_a_room_of_ones_own_has_its_power_and_its_sensors() -> None:
    """A18, B19: PUE and what the room gives, where somebody knows them."""
    titles = {panel.title for panel in boards("metal")["energy"].panels()}
    assert "Warmest sensor of each node" in titles
    assert any("PUE 1.30" in title for title in titles)
    assert numbers(lines_of(boards("metal")["energy"], "All GPUs")["room, all machines and cooling"]) == pytest.approx(
        [1000 * (METAL.facility_kw or 0)]
    )
    assert not any("PUE" in panel.title for panel in boards("prod")["energy"].panels())


def test_rates_of_the_file_systems_servers_are_shown_where_they_are_asked_for_x05() -> None:
    def shown(plan: str) -> set[str]:
        panels = boards(plan)["storage"].panels()
        return {each.title for each in panels if any(":shared_files:" in query.expr for query in each.queries)}

    mounts = {"Shared file system in use"}
    assert shown("rates") == mounts | {
        "Shared file system, read and written",
        "Part of the file system's rate",
        "Operations of the file system",
        "Fullest target",
    }
    assert shown("prod") == shown("metal") == mounts


def test_ceph_is_shown_where_it_is_and_nowhere_else() -> None:
    def shown(plan: str) -> set[str]:
        return {panel.title for panel in boards(plan)["storage"].panels() if "Ceph" in panel.title}

    assert shown("ceph") == {"Time of an operation in Ceph", "Ceph in use"}
    assert shown("prod") == set()


def test_a_panel_is_red_where_an_alert_fires() -> None:
    """One number in one place: the alert's own limit, in the colour of its severity."""
    assert bounds("gpu-hot", "celsius") == Bounds(warn=85)
    assert bounds("shared-files-full", "used") == Bounds(bad=0.8)
    assert bounds("node-disk", "free", below=True) == Bounds(warn=0.1, below=True)
    (hottest,) = [each for each in boards("prod")["pool"].panels() if each.title == "Hottest GPUs"]
    assert hottest.bounds == bounds("gpu-hot", "celsius")
    with pytest.raises(KeyError, match="gpu-memory: xids is a list of codes, and no threshold"):
        bounds("gpu-memory", "xids")


QUERY = Query("up", "up")


def test_bounds_are_steps_from_green_on() -> None:
    assert Bounds(warn=1, bad=2).steps() == [
        {"color": "green", "value": None},
        {"color": "orange", "value": 1},
        {"color": "red", "value": 2},
    ]
    assert Bounds(warn=2, bad=1, below=True).steps() == [
        {"color": "red", "value": None},
        {"color": "orange", "value": 1},
        {"color": "green", "value": 2},
    ]
    assert Bounds(bad=5, below=True).steps() == [{"color": "red", "value": None}, {"color": "green", "value": 5}]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Bounds(warn=2, bad=1), "wrong order"),
        (lambda: Bounds(warn=1, bad=2, below=True), "wrong order"),
        (lambda: panel(width=25), "25 columns of 24"),
        (lambda: panel(queries=[replace(QUERY, reference=True)]), "give it a query"),
        (lambda: panel(kind="stat", queries=[QUERY, replace(QUERY, reference=True)]), "among curves only"),
    ],
)
def test_a_panel_that_cannot_be_right_is_refused(made: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made()


def panel(**changes: Any) -> Panel:
    known: dict[str, Any] = {"title": "Up", "description": "It is down.", "unit": Unit.COUNT, "queries": [QUERY]}
    return Panel(**{**known, **changes})


def test_panels_flow_from_left_to_right() -> None:
    sections = [
        Section(title="A", panels=[panel(width=16), panel(width=12), panel(width=12)]),
        Section(title="B", panels=[]),
    ]
    made = Dashboard(uid="u", title="T", description="D", sections=sections).json()["panels"]
    assert [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in made] == [(0, 0), (0, 1), (0, 8), (12, 8), (0, 15)]
    assert [each["gridPos"]["w"] for each in made] == [24, 24, 12, 12, 24]
    assert [each["id"] for each in made] == [1, 2, 3, 4, 5]


def test_a_variable_at_all_leaves_out_what_lacks_its_label() -> None:
    """A series without the label counts as one with an empty value (Prometheus, "Querying basics")."""
    everything = grafana.variable(Variable(name="run", label="run", metric="heat"))["allValue"]
    assert re.fullmatch(everything, "llama-3-70b")
    assert not re.fullmatch(everything, "")
