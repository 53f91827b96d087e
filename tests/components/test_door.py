"""What stands in front of a model server: who gets through, with the real nginx and with the one of rehearsals (K12).

The same questions are asked of both, so that what a rehearsal shows is what nginx does.
"""

import http.client
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.serving.arguments import ENGINE_PORT
from components.serving.door_rules import VLLM
from components.serving.inference import InferenceService
from components.serving.keys import ADMITTED, scraper_key
from rehearsal.cluster.pages import Answer, Request
from tests.components import real_nginx
from tests.components.real_nginx import Ask
from tests.components.samples import SAMPLES, built
from tests.components.samples.serving import service_args

OLD, NEW = 'Old-key"with\\E$signs', "new-key"

needs_nginx = pytest.mark.skipif(real_nginx.NGINX is None, reason=real_nginx.WHY)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[real_nginx.Upstream, int]]:
    if real_nginx.NGINX is None:
        pytest.skip(real_nginx.WHY)
    with real_nginx.running(tmp_path_factory.mktemp("door") / "etc", [OLD, NEW]) as door:
        yield door


@pytest.fixture
def ask(request: pytest.FixtureRequest) -> Ask:
    """Asks the real nginx, or the simulated one, which has the same files."""
    if request.param == "real":
        upstream, port = request.getfixturevalue("real")
        upstream.asked.clear()
        return lambda *words: real_nginx.asked(port, *words)
    return real_nginx.simulated([OLD, NEW], VLLM, _engine)


def _engine(port: int, request: Request) -> Answer | None:
    assert port == ENGINE_PORT
    assert "authorization" not in request.headers or request.path == "/health"
    return Answer(request.path)


both = pytest.mark.parametrize("ask", ["real", "rehearsed"], indirect=True)


@both
@pytest.mark.parametrize("key", [OLD, NEW])
def test_two_keys_are_valid_at_a_time(ask: Ask, key: str) -> None:
    assert ask("/v1/models", key)[::2] == (200, "/v1/models")
    assert ask("/v1/completions", key, "POST")[::2] == (200, "/v1/completions")


@both
@pytest.mark.parametrize("key", [None, "", "other", NEW.upper(), f"{NEW}x", f"x{NEW}", NEW[:-1], scraper_key(NEW)])
def test_without_a_key_there_is_401_as_openai_says_it(ask: Ask, key: str | None) -> None:
    status, kind, body = ask("/v1/models", key)
    assert (status, kind) == (401, "application/json")
    assert json.loads(body)["error"]["code"] == "invalid_api_key"


@both
@pytest.mark.parametrize("path", ["/invocations", "/tokenize", "/", "/docs", "/v2/models", "/v1", "/metrics/x"])
def test_no_other_path_is_open_whatever_the_key(ask: Ask, path: str) -> None:
    for key in (None, NEW, scraper_key(NEW)):
        status, kind, body = ask(path, key)
        assert (status, kind) == (404, "application/json")
        assert "not open" in json.loads(body)["error"]["message"]


@both
@pytest.mark.parametrize("path", ["/v1/../invocations", "/v1/%2e%2e/invocations", "//invocations", "/health/../ping"])
def test_a_path_in_disguise_is_judged_by_where_it_leads(ask: Ask, path: str) -> None:
    assert ask(path, NEW)[0] == 404


@both
def test_what_was_judged_is_what_goes_on(ask: Ask) -> None:
    assert ask("/invocations/../health")[::2] == (200, "/health")
    assert ask("/invocations/../v1/models", NEW)[::2] == (200, "/v1/models")


@both
def test_probes_need_no_key(ask: Ask) -> None:
    assert ask("/health")[::2] == (200, "/health")


@both
def test_metrics_are_for_the_scraper(ask: Ask) -> None:
    for key in (None, "other", NEW):
        assert ask("/metrics", key)[0] == 401
    for key in (OLD, NEW):
        assert ask("/metrics", scraper_key(key))[::2] == (200, "/metrics")


def test_the_server_sees_no_key(real: tuple[real_nginx.Upstream, int]) -> None:
    upstream, port = real
    upstream.asked.clear()
    real_nginx.asked(port, "/v1/models", NEW)
    real_nginx.asked(port, "/metrics", scraper_key(NEW))
    assert upstream.asked == [("/v1/models", None), ("/metrics", None)]


def test_a_stream_comes_piece_by_piece(real: tuple[real_nginx.Upstream, int]) -> None:
    """The second piece is sent only after the first has arrived."""
    upstream, port = real
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/v1/stream", headers={"Authorization": f"Bearer {NEW}"})
    answer = connection.getresponse()
    assert answer.read1() == b"first "
    upstream.more.set()
    assert answer.read() == b"second"
    connection.close()


@needs_nginx
def test_nginx_accepts_the_configuration(tmp_path: Path) -> None:
    config = real_nginx.placed(tmp_path / "etc", [OLD, NEW], 8000, ENGINE_PORT)
    tested = subprocess.run(real_nginx.command(config, "-t"), capture_output=True, text=True)
    assert tested.returncode == 0, tested.stderr


def test_keys_stand_in_a_secret_that_is_named_by_them_and_nowhere_else() -> None:
    made = built(SAMPLES["service-keys"]).one("sample-secret").inputs
    assert made["metadata"]["name"].startswith("llama-keys-")
    assert made["immutable"] is True
    assert made["stringData"]["token"] == "old-key"
    assert made["stringData"]["scraper"] == scraper_key("old-key")
    assert "old-key" not in json.dumps(built(SAMPLES["service"]).one("sample-deployment").inputs)


def test_the_door_is_an_unprivileged_neighbour() -> None:
    pod = built(lambda opts: InferenceService("sample", service_args(), opts)).one("sample-deployment").inputs["spec"]
    engine, door = pod["template"]["spec"]["containers"]
    assert [each["name"] for each in (engine, door)] == ["vllm", "door"]
    assert door["ports"] == [{"name": "http", "containerPort": 8000}]
    assert "ports" not in engine
    guarded = door["securityContext"]
    assert guarded["readOnlyRootFilesystem"]
    assert guarded["runAsNonRoot"]
    assert not guarded["allowPrivilegeEscalation"]
    assert guarded["capabilities"] == {"drop": ["ALL"]}
    assert guarded["seccompProfile"] == {"type": "RuntimeDefault"}
    assert "env" not in door
    keys = next(each for each in pod["template"]["spec"]["volumes"] if each["name"] == "door-keys")
    assert keys["secret"] == {"secretName": "llama-keys-1", "items": [{"key": ADMITTED, "path": ADMITTED}]}
    assert engine["lifecycle"] == door["lifecycle"]


def test_both_together_ask_for_what_the_plan_gives_the_pod() -> None:
    pod = built(lambda opts: InferenceService("sample", service_args(), opts)).one("sample-deployment").inputs["spec"]
    limits = [each["resources"]["limits"] for each in pod["template"]["spec"]["containers"]]
    assert sum(int(each["cpu"].removesuffix("m")) for each in limits) == 8000
    assert sum(int(each["memory"].removesuffix("Mi")) for each in limits) == 60_000


def test_prometheus_is_let_in_with_the_scrapers_key_q06() -> None:
    spec = built(lambda opts: InferenceService("sample", service_args(), opts)).one("sample-monitor").inputs["spec"]
    assert spec["endpoints"][0]["authorization"] == {
        "type": "Bearer",
        "credentials": {"name": "llama-keys-1", "key": "scraper"},
    }
