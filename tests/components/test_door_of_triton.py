"""The door before a Triton server: inference with a key, health without, and nothing that changes the server (K12).

The same questions are asked of the real nginx, where this machine has one, and of the one of rehearsals.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from components.serving.door_rules import TRITON
from components.serving.keys import scraper_key
from components.serving.triton import TritonServer
from rehearsal.cluster.pages import Answer, Request
from tests.components import real_nginx
from tests.components.real_nginx import Ask
from tests.components.samples import built
from tests.components.samples.serving import triton_args

OLD, NEW = "old-key", "new-key"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    if real_nginx.NGINX is None:
        pytest.skip(real_nginx.WHY)
    with real_nginx.running(tmp_path_factory.mktemp("door") / "etc", [OLD, NEW], TRITON) as (_, port):
        yield port


@pytest.fixture(params=["real", "rehearsed"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Asks either nginx; what is behind it answers with the path that it was asked for."""
    if request.param == "real":
        port = request.getfixturevalue("real")
        return lambda *words: real_nginx.asked(port, *words)
    return real_nginx.simulated([OLD, NEW], TRITON, _triton)


def _triton(port: int, request: Request) -> Answer | None:
    assert port == (8002 if request.path == "/metrics" else 8001)
    return Answer(request.path)


@pytest.mark.parametrize("key", [OLD, NEW])
@pytest.mark.parametrize(
    "path",
    [
        "/v2",
        "/v2/models/vision",
        "/v2/models/vision/versions/1/infer",
        "/v2/models/vision/generate_stream",
        "/v2/models/vision/config",
        "/v2/models/stats",
        "/v2/models/trace/infer",
    ],
)
def test_models_are_asked_with_either_key(ask: Ask, path: str, key: str) -> None:
    assert ask(path, key, "POST")[::2] == (200, path)
    assert ask(path, scraper_key(key), "POST")[0] == 401


@pytest.mark.parametrize("key", [None, "", "other", NEW.upper(), f"{NEW}x", scraper_key(NEW)])
@pytest.mark.parametrize("path", ["/v2", "/v2/models/vision/infer"])
def test_without_a_key_there_is_401_as_triton_says_errors(ask: Ask, path: str, key: str | None) -> None:
    status, kind, body = ask(path, key, "POST")
    assert (status, kind) == (401, "application/json")
    assert "no such key" in json.loads(body)["error"]


@pytest.mark.parametrize("path", ["/v2/health/live", "/v2/health/ready"])
def test_probes_need_no_key(ask: Ask, path: str) -> None:
    assert ask(path)[::2] == (200, path)


@pytest.mark.parametrize(
    "path",
    [
        "/v2/repository/index",
        "/v2/repository/models/vision/load",
        "/v2/repository/models/vision/unload",
        "/v2/systemsharedmemory/region/a/register",
        "/v2/systemsharedmemory/status",
        "/v2/cudasharedmemory/region/a/register",
        "/v2/cudasharedmemory/unregister",
        "/v2/logging",
        "/v2/trace/setting",
        "/v2/models/vision/trace/setting",
        "/v2/models/vision/trace%2Fsetting",
        "/v2/models/vision/%74race/setting",
        "/v2/models/vision//trace/./setting",
        "/v2/models/../repository/index",
        "/v2/models/%2e%2e/logging",
        "/v2/models",
        "/v2/",
        "/v1/models",
        "/metrics/x",
        "/",
    ],
)
def test_what_changes_the_server_is_open_to_nobody(ask: Ask, path: str) -> None:
    for key in (None, NEW, scraper_key(NEW)):
        for method in ("GET", "POST"):
            status, kind, body = ask(path, key, method)
            assert (status, kind) == (404, "application/json"), (key, method)
            assert json.loads(body) == {"error": "This path is not open."}


def test_metrics_are_for_the_scraper(ask: Ask) -> None:
    for key in (None, "other", NEW):
        assert ask("/metrics", key)[0] == 401
    for key in (OLD, NEW):
        assert ask("/metrics", scraper_key(key))[::2] == (200, "/metrics")


def _pod() -> dict[str, Any]:
    made = built(lambda opts: TritonServer("sample", triton_args(), opts)).one("sample-deployment")
    pod: dict[str, Any] = made.inputs["spec"]["template"]["spec"]
    return pod


def test_triton_listens_on_loopback_and_grpc_is_off() -> None:
    server, door = _pod()["containers"]
    assert {"--http-address=127.0.0.1", "--metrics-address=127.0.0.1", "--allow-grpc=false"} <= set(server["command"])
    assert "ports" not in server
    assert door["ports"] == [{"name": "http", "containerPort": 8000}]
    assert {server[each]["httpGet"]["port"] for each in ("startupProbe", "readinessProbe", "livenessProbe")} == {8000}


def test_both_together_ask_for_what_the_plan_gives_the_pod() -> None:
    limits = [each["resources"]["limits"] for each in _pod()["containers"]]
    assert sum(int(each["cpu"].removesuffix("m")) for each in limits) == 4000
    assert sum(int(each["memory"].removesuffix("Mi")) for each in limits) == 30_000


def test_the_service_has_the_doors_port_alone_and_prometheus_its_key() -> None:
    made = built(lambda opts: TritonServer("sample", triton_args(), opts))
    assert [each["port"] for each in made.one("sample-service").inputs["spec"]["ports"]] == [8000]
    (endpoint,) = made.one("sample-monitor").inputs["spec"]["endpoints"]
    assert (endpoint["port"], endpoint["authorization"]["credentials"]["key"]) == ("http", "scraper")
