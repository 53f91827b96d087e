"""Which nodes are cordoned by an alert, which come back, and which are left alone; before servers of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import isolate
import pytest
from isolate import SINCE, WHY, Isolation, firing
from publish import Api, ConflictError

from monitoring.failure import ISOLATES
from monitoring.failures import failures
from rehearsal.testing.answering import Asked, Said, answering

CALM = 600.0


def node(name: str, **changes: Any) -> dict[str, Any]:
    """A ready node of pool training that a gate has measured."""
    return {
        "metadata": {
            "name": name,
            "resourceVersion": "1",
            "labels": {"gpucluster/pool": "training", "gpucluster/gate": "pass", "gpucluster/gate-driver": "580"},
            "annotations": changes.get("annotations", {}),
        },
        "spec": changes.get("spec", {}),
        "status": {"conditions": [{"type": "Ready", "status": changes.get("ready", "True")}]},
    }


class Server(Api):
    """The API server: nodes by name, and the events that it was told."""

    nodes: dict[str, dict[str, Any]]
    events: list[dict[str, Any]]
    conflicts: set[str]

    @classmethod
    def of(cls, *nodes: dict[str, Any]) -> Server:
        server = cls("http://api", "token", "monitoring", None)
        for name, value in (
            ("nodes", {each["metadata"]["name"]: each for each in nodes}),
            ("events", []),
            ("conflicts", set()),
        ):
            object.__setattr__(server, name, value)
        return server

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        if method == "POST":
            self.events.append(body)
            return {}
        assert path == "/api/v1/nodes?labelSelector=gpucluster/pool%3Dtraining"
        return {"items": [json.loads(json.dumps(each)) for each in self.nodes.values()]}

    def patch(self, path: str, body: Any) -> None:
        name = path.rpartition("/")[2]
        if name in self.conflicts:
            raise ConflictError(path)
        assert body["metadata"].pop("resourceVersion") == "1"
        merged(self.nodes[name], body)


def merged(what: dict[str, Any], patch: dict[str, Any]) -> None:
    """RFC 7386."""
    for key, value in patch.items():
        if value is None:
            what.pop(key, None)
        elif isinstance(value, dict):
            merged(what.setdefault(key, {}), value)
        else:
            what[key] = value


class Site:
    """Five nodes, what is said of them, and a clock."""

    def __init__(self, *nodes: dict[str, Any], most: int = 2) -> None:
        self.server = Server.of(*(nodes or [node(f"gpu-{number}") for number in range(5)]))
        self.sick: dict[str, frozenset[str]] = {}
        self.broken = False
        self.time = 0.0
        self.isolation = Isolation(
            self.server,
            ["training"],
            most,
            CALM,
            self.ask,
            lambda: self.time,
            lambda: datetime(2026, 11, 25, tzinfo=UTC),
        )

    def ask(self) -> dict[str, frozenset[str]]:
        if self.broken:
            raise OSError("connection refused")
        return self.sick

    def after(self, seconds: float, *sick: str, why: str = "gpu-memory") -> list[str]:
        """Which nodes are cordoned when so much time has passed, with these being sick."""
        self.time += seconds
        self.sick = {name: frozenset({why}) for name in sick}
        self.isolation.look()
        return self.cordoned()

    def cordoned(self) -> list[str]:
        return [name for name, each in self.server.nodes.items() if each["spec"].get("unschedulable")]


def test_a_node_that_an_alert_names_is_cordoned_and_says_why() -> None:
    """DC07: by the script and nothing of DCGM's."""
    site = Site()
    assert site.after(0, "gpu-1") == ["gpu-1"]
    kept = site.server.nodes["gpu-1"]["metadata"]["annotations"]
    assert kept == {WHY: "gpu-memory", SINCE: "2026-11-25T00:00:00Z"}
    (event,) = site.server.events
    assert (event["reason"], event["type"], event["involvedObject"]["uid"]) == ("Isolated", "Warning", "gpu-1")
    assert event["message"] == "no new pods come here: gpu-memory"


def test_it_comes_back_after_a_while_without_an_alert_and_is_measured_again() -> None:
    site = Site()
    site.after(0, "gpu-1")
    assert site.after(CALM - 1) == ["gpu-1"]
    assert site.after(1) == []
    metadata = site.server.nodes["gpu-1"]["metadata"]
    assert metadata["annotations"] == {}
    assert metadata["labels"] == {"gpucluster/pool": "training"}
    assert [each["reason"] for each in site.server.events] == ["Isolated", "GivenBack"]


def test_an_alert_that_comes_again_begins_the_wait_anew() -> None:
    site = Site()
    site.after(0, "gpu-1")
    site.after(CALM - 1)
    site.after(0, "gpu-1")
    assert site.after(CALM - 1) == ["gpu-1"]
    assert site.after(1) == []


def test_a_node_that_is_not_ready_does_not_come_back() -> None:
    """DC05: one that nobody reaches is Unknown."""
    site = Site()
    site.after(0, "gpu-1")
    site.server.nodes["gpu-1"]["status"]["conditions"][0]["status"] = "Unknown"
    assert site.after(10 * CALM) == ["gpu-1"]
    site.server.nodes["gpu-1"]["status"]["conditions"][0]["status"] = "True"
    assert site.after(1) == []


def test_time_without_prometheus_is_no_calm(capsys: pytest.CaptureFixture[str]) -> None:
    site = Site()
    site.after(0, "gpu-1")
    site.broken = True
    assert site.after(10 * CALM) == ["gpu-1"]
    assert site.after(10) == ["gpu-1"]
    assert capsys.readouterr().err == "Prometheus did not answer: connection refused\n", "said once"
    site.broken = False
    assert site.after(CALM - 1) == ["gpu-1"]
    assert site.after(1) == []


def test_a_new_process_waits_from_its_own_beginning() -> None:
    site = Site(node("gpu-0", annotations={WHY: "gpu-memory", SINCE: "x"}, spec={"unschedulable": True}))
    assert site.after(5000) == ["gpu-0"]
    assert site.after(CALM) == []


def test_of_a_pool_no_more_are_taken_than_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    site = Site(most=2)
    everybody = [f"gpu-{number}" for number in range(5)]
    assert site.after(0, *everybody) == ["gpu-0", "gpu-1"]
    said = capsys.readouterr().err
    assert "gpu-2 stays open although gpu-memory is said of it: 2 of pool training are isolated" in said
    assert site.after(30, *everybody) == ["gpu-0", "gpu-1"]
    assert capsys.readouterr().err == "", "said once"


def test_one_that_came_back_makes_room_for_the_next() -> None:
    site = Site(most=1)
    site.after(0, "gpu-0", "gpu-1")
    assert site.after(CALM, "gpu-1") == []
    assert site.after(30, "gpu-1") == ["gpu-1"]


def test_what_a_person_cordoned_is_left_to_them() -> None:
    site = Site(node("gpu-0", spec={"unschedulable": True}))
    assert site.after(0, "gpu-0") == ["gpu-0"]
    assert site.server.nodes["gpu-0"]["metadata"]["annotations"] == {}
    assert site.after(10 * CALM) == ["gpu-0"]


def test_a_node_that_changed_meanwhile_waits_for_the_next_look() -> None:
    """DC05: and the nodes after it do not."""
    site = Site()
    site.server.conflicts.add("gpu-1")
    assert site.after(0, "gpu-1", "gpu-3") == ["gpu-3"]
    assert [each["involvedObject"]["name"] for each in site.server.events] == ["gpu-3"]
    site.server.conflicts.clear()
    assert site.after(30, "gpu-1", "gpu-3") == ["gpu-1", "gpu-3"]


def test_nodes_of_other_pools_are_not_its_own() -> None:
    site = Site()
    assert site.after(0, "system-0") == []


@pytest.fixture
def prometheus() -> Iterator[tuple[str, list[str], list[Any]]]:
    """Its address, the queries that it was asked, and what it answers."""
    asked: list[str] = []
    answers: list[Any] = []

    def answer(request: Asked) -> Said:
        asked.append(request.path)
        return Said(answers[0])

    with answering(answer) as where:
        yield f"http://{where}", asked, answers


def test_prometheus_is_asked_for_what_isolates(prometheus: tuple[str, list[str], list[Any]]) -> None:
    address, asked, answers = prometheus
    rows = [
        {
            "metric": {"alertname": "GpuMemoryError", "failure": "gpu-memory", "node": "a", "gpu": "0"},
            "value": [1, "1"],
        },
        {
            "metric": {"alertname": "GpuMemoryError", "failure": "gpu-memory", "node": "a", "gpu": "1"},
            "value": [1, "1"],
        },
        {"metric": {"alertname": "FabricLinkDown", "failure": "fabric-link", "node": "a"}, "value": [1, "1"]},
    ]
    answers.append({"status": "success", "data": {"resultType": "vector", "result": rows}})
    assert firing(address) == {"a": frozenset({"gpu-memory", "fabric-link"})}
    assert "ALERTS%7Balertstate%3D%22firing%22%2Cisolates%3D%22yes%22" in asked[0]


@pytest.mark.parametrize("answer", [{"status": "error", "error": "query timed out"}, [], {"status": "success"}])
def test_what_prometheus_cannot_say_is_no_answer(answer: Any, prometheus: tuple[str, list[str], list[Any]]) -> None:
    address, _, answers = prometheus
    answers.append(answer)
    with pytest.raises((ValueError, KeyError)):
        firing(address)


def test_alerts_that_isolate_name_a_node_and_carry_the_label_that_is_asked_for() -> None:
    """U05: an alert about a run, a service or a whole pool isolates nothing."""
    rows = {each.id: each for each in failures() if each.isolates}
    assert set(rows) == {
        "gpu-unavailable",
        "gpu-memory",
        "gpu-driver",
        "gpu-nvlink",
        "fabric-link",
        "node-memory",
        "node-mount",
        "node-service",
    }
    assert all("$labels.node" in each.summary and each.severity == "critical" for each in rows.values())
    assert all(each.document("x")["labels"][ISOLATES] == "yes" for each in rows.values())
    assert f'{ISOLATES}="yes"' in isolate.QUERY
    assert all(ISOLATES not in each.document("x")["labels"] for each in failures() if not each.isolates)
