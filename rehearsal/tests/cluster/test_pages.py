"""Functions that answer on ports of simulated pods: pages, refusals, one thread for all."""

import threading
from collections.abc import Iterator

import pytest
import urllib3

from rehearsal.cluster.backends import Backends
from rehearsal.cluster.pages import METRICS_TEXT, Answer, Request, texts

POOL = urllib3.PoolManager(retries=False)


@pytest.fixture
def backends() -> Iterator[Backends]:
    made = Backends()
    yield made
    made.close()


def url(backends: Backends, pod: str, port: int, path: str) -> str:
    address = backends.find("n", pod, port)
    assert address is not None
    return f"http://{address[0]}:{address[1]}{path}"


def test_a_page_is_what_its_function_returns_when_it_is_asked(backends: Backends) -> None:
    seen = iter(["up 1\n", "up 2\n"])
    backends.answer("n", "p", 9400, texts({"/metrics": lambda: next(seen)}))
    for expected in (b"up 1\n", b"up 2\n"):
        answer = POOL.request("GET", url(backends, "p", 9400, "/metrics"))
        assert (answer.status, answer.data, answer.headers["Content-Type"]) == (200, expected, METRICS_TEXT)
    assert POOL.request("GET", url(backends, "p", 9400, "/other")).status == 404
    assert POOL.request("POST", url(backends, "p", 9400, "/metrics")).status == 405


def test_a_handler_sees_the_whole_request(backends: Backends) -> None:
    seen: list[Request] = []

    def handler(request: Request) -> Answer:
        seen.append(request)
        return Answer('{"ok": true}', 201, "application/json", {"X-Model": "m"})

    backends.answer("n", "p", 8000, handler)
    where = url(backends, "p", 8000, "/v1/completions?a=b")
    answer = POOL.request("POST", where, body=b"{}", headers={"Authorization": "Bearer k"})
    assert (answer.status, answer.json(), answer.headers["X-Model"]) == (201, {"ok": True}, "m")
    POOL.request("POST", where, body=iter([b"ab", b"c"]), chunked=True)
    assert [(each.method, each.path, each.query) for each in seen] == [("POST", "/v1/completions", "a=b")] * 2
    assert [each.body for each in seen] == [b"{}", b"abc"]
    assert seen[0].headers["authorization"] == "Bearer k"


def test_a_handler_that_fails_is_a_500_and_the_next_request_is_answered(backends: Backends) -> None:
    backends.answer("n", "p", 1, texts({"/bad": lambda: str(1 // 0), "/good": lambda: "x"}))
    assert POOL.request("GET", url(backends, "p", 1, "/bad")).status == 500
    assert POOL.request("GET", url(backends, "p", 1, "/good")).data == b"x"


def test_nothing_listens_before_it_accepts_nor_after_it_has_gone(backends: Backends) -> None:
    ready = threading.Event()
    backends.answer("n", "p", 1, texts({}), ready.is_set)
    assert backends.find("n", "p", 1) is None
    assert backends.handler("n", "p", 1) is None
    ready.set()
    address = backends.find("n", "p", 1)
    assert address == backends.find("n", "p", 1)
    assert backends.handler("n", "p", 1) is not None
    backends.remove("n", "p", [1])
    assert backends.find("n", "p", 1) is None


def test_a_thousand_pods_are_served_by_one_thread_and_a_few_workers(backends: Backends) -> None:
    before = threading.active_count()
    for index in range(1000):
        backends.answer("n", f"p{index}", 9400, texts({"/metrics": f"gpu {index}\n".format}))
    for index in (0, 500, 999):
        assert POOL.request("GET", url(backends, f"p{index}", 9400, "/metrics")).data == f"gpu {index}\n".encode()
    assert threading.active_count() - before <= 5
