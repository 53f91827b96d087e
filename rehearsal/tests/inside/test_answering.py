"""Simulated processes that answer HTTP: what their pod's ports accept, what probes hear, what is left behind."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.cluster.backends import Backends
from rehearsal.cluster.pages import Request, texts
from rehearsal.images import grafana
from rehearsal.kubelet.answering import Answering
from rehearsal.kubelet.program import Launch

HANDLER = texts({"/health": lambda: "", "/metrics": lambda: "up 1\n"})


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    world: Any = SimpleNamespace(backends=Backends())
    pod = {"metadata": {"name": "p", "namespace": "n"}}
    yield Launch(world, pod, {"name": "c"}, "node", (), (), {}, (), tmp_path, print, 0.0)
    world.backends.close()


def probe(path: str) -> dict[str, Any]:
    return {"httpGet": {"path": path}}


def test_probes_hear_what_the_handler_says(launch: Launch) -> None:
    program, now = Answering(launch, {8000: HANDLER}), time.monotonic()
    assert program.refuses(probe("/health"), 8000, now) is None
    assert program.refuses(probe("/nowhere"), 8000, now) == "HTTP probe failed with statuscode: 404"
    assert "connection refused" in (program.refuses(probe("/health"), 9000, now) or "")
    assert program.refuses({"tcpSocket": {}}, 8000, now) is None
    assert (program.listens(8000, now), program.listens(9000, now)) == (True, False)


def test_until_its_time_it_refuses(launch: Launch) -> None:
    later = time.monotonic() + 1000
    program = Answering(launch, {8000: HANDLER}, at=later)
    assert "connection refused" in (program.refuses(probe("/health"), 8000, later - 1) or "")
    assert program.refuses(probe("/health"), 8000, later) is None
    assert program.next_change(later - 1) == later
    assert program.next_change(later) is None
    assert launch.world.backends.find("n", "p", 8000) is None


@pytest.mark.parametrize("end", ["stop", "close"])
def test_with_the_process_its_ports_go(launch: Launch, end: str) -> None:
    program = Answering(launch, {8000: HANDLER})
    assert launch.world.backends.handler("n", "p", 8000) is HANDLER
    getattr(program, end)()
    assert launch.world.backends.handler("n", "p", 8000) is None


@pytest.mark.parametrize(("env", "port"), [({}, 3000), ({"GF_SERVER_HTTP_PORT": "3001"}, 3001)])
def test_grafana_is_well_and_asks_who_you_are(launch: Launch, env: dict[str, str], port: int) -> None:
    spec = {"name": "grafana", "image": "docker.io/grafana/grafana:13.2.0@sha256:0"}
    program, now = grafana.run(Launch(**{**vars(launch), "spec": spec, "env": env})), time.monotonic()
    assert program.refuses(probe("/api/health"), port, now) is None
    assert program.refuses(probe("/api/search"), port, now) == "HTTP probe failed with statuscode: 401"
    assert program.refuses(probe("/"), port, now) is None
    handler = launch.world.backends.handler("n", "p", port)
    assert handler is not None
    assert json.loads(handler(Request("GET", "/api/health")).content) == {"database": "ok", "version": "13.2.0"}
