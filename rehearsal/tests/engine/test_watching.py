"""Where a person looks in a rehearsed cluster, and which alerts are told."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.cluster.pages import Answer, Request, Server
from rehearsal.engine.watching import Watching, sentences, watching


class Looked:
    """A cluster with these objects of the Prometheus operator, by kind."""

    def __init__(self, **namespaces: str) -> None:
        self._namespaces = namespaces

    def all(self, _version: str, kind: str) -> list[dict[str, Any]]:
        found = self._namespaces.get(kind)
        return [{"metadata": {"namespace": found, "name": "main"}}] if found else []


def alert(name: str, severity: str, **annotations: str) -> dict[str, Any]:
    return {"labels": {"alertname": name, "severity": severity, "node": "n1"}, "annotations": annotations}


Stand = Callable[..., Path]


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Stand]:
    """Stands for the cluster's proxy: its address. It notes what it is asked, and answers with alerts."""
    server, listeners = Server(), []

    def stand(alerts: list[dict[str, Any]], asked: list[Request], status: int = 200) -> Path:
        def answer(request: Request) -> Answer:
            asked.append(request)
            return Answer(json.dumps(alerts), status, "application/json")

        listeners.append(server.open(answer))
        return told(tmp_path, f"http://127.0.0.1:{listeners[-1].port}")

    yield stand
    for each in listeners:
        each.close()
    server.stop()


def told(directory: Path, url: str) -> Path:
    """The file that holds the proxy's address."""
    (directory / "proxy.url").write_text(url)
    return directory / "proxy.url"


def seen(look: Looked, url: Path) -> list[Watching]:
    return list(watching("c", look, url))  # type: ignore[arg-type]


def test_alerts_for_machines_are_left_out_and_the_severe_come_first() -> None:
    told = sentences(
        [
            alert("Watchdog", "none"),
            alert("NodeDisk", "warning", description="nearly full"),
            alert("GpuMemory", "critical", summary="GPU 1 of n1 is sick", description="not this"),
            alert("Own", "page"),
        ]
    )
    assert told == [
        "critical GpuMemory: GPU 1 of n1 is sick",
        "warning NodeDisk: nearly full",
        "page Own: alertname=Own, node=n1, severity=page",
    ]


def test_what_reaches_people_is_asked_of_the_alertmanager_beside_the_prometheus(proxy: Stand) -> None:
    asked: list[Request] = []
    url = proxy([alert("GpuHot", "warning", summary="hot")], asked)
    (found,) = seen(Looked(Prometheus="watch", Alertmanager="watch"), url)
    assert (found.prometheus, found.proxy) == ("http://prometheus-operated.watch:9090", url)
    assert (found.state, found.alerts) == ("alerts: 1 firing", ["warning GpuHot: hot"])
    (request,) = asked
    assert "alertmanager-operated.watch:9093/api/v2/alerts" in f"{request.headers.get('host')}{request.path}"
    assert "inhibited=false" in request.query
    assert "silenced=false" in request.query


def test_an_alertmanager_that_does_not_answer_is_not_one_without_alerts(proxy: Stand, tmp_path: Path) -> None:
    (found,) = seen(Looked(Prometheus="m", Alertmanager="m"), proxy([], [], 502))
    assert (found.alerts, found.state) == (None, "alerts: unknown, no Alertmanager answers")
    (found,) = seen(Looked(Prometheus="m", Alertmanager="m"), told(tmp_path, "http://127.0.0.1:1"))
    assert found.alerts is None


def test_a_cluster_that_nobody_watches_has_nothing_to_look_at(proxy: Stand) -> None:
    assert seen(Looked(), proxy([], [])) == []
    (found,) = seen(Looked(Prometheus="m"), proxy([], []))
    assert found.alerts is None
    (found,) = seen(Looked(Prometheus="m", Alertmanager="m"), proxy([alert("Watchdog", "none")], []))
    assert found.state == "alerts: none firing"
