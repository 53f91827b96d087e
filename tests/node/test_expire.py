"""Verdicts that say nothing any more, before a server of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from expire import DRIVER, OWN, expire, main, stale
from publish import Api, ConflictError

NOW = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)


def node(name: str = "n-1", **labels: str) -> dict[str, Any]:
    known = {
        "gpucluster/pool": "big",
        "gpucluster/gate": "pass",
        "gpucluster/gate-at": "2026-11-20T09.00Z",
        "gpucluster/gate-driver": "580.105.08",
        DRIVER: "580.105.08",
        **labels,
    }
    told = {key: value for key, value in known.items() if value}
    return {"metadata": {"name": name, "resourceVersion": "7", "labels": told}, "spec": {}}


class Server(Api):
    """The API server, as far as it is asked."""

    nodes: list[dict[str, Any]]
    patched: dict[str, Any]
    busy: set[str]

    @classmethod
    def of(cls, *nodes: dict[str, Any]) -> Server:
        server = cls("http://api", "token", "training", None)
        for key, value in (("nodes", list(nodes)), ("patched", {}), ("busy", set())):
            object.__setattr__(server, key, value)
        return server

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        if method == "GET":
            assert path == "/api/v1/nodes?labelSelector=gpucluster/pool%3Dbig"
            return {"items": self.nodes}
        name = path.rpartition("/")[2]
        if name in self.busy:
            raise ConflictError("the object has been modified")
        self.patched[name] = body
        return {}


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ({}, None),
        ({"gpucluster/gate-at": "2026-11-16T09.00Z"}, None),
        ({"gpucluster/gate-at": "2026-11-16T08.59Z"}, "it is 7 days old, and holds for 7"),
        ({"gpucluster/gate-at": "2026-10-01T09.00Z"}, "it is 53 days old, and holds for 7"),
        ({"gpucluster/gate-at": "yesterday"}, "nobody knows from when it is: 'yesterday'"),
        ({"gpucluster/gate-at": ""}, "nobody knows from when it is: ''"),
        ({DRIVER: "590.1.1"}, "it is about driver 580.105.08, and the node has 590.1.1"),
        ({DRIVER: ""}, None),
        ({"gpucluster/gate": "", "gpucluster/gate-at": "2025-01-01T09.00Z"}, None),
    ],
)
def test_a_verdict_holds_so_long_and_for_its_driver(labels: dict[str, str], why: str | None) -> None:
    assert stale(node(**labels), 7, NOW) == why


def test_a_node_that_failed_is_measured_again_behind_its_taint() -> None:
    failed = node(**{"gpucluster/gate": "fail", "gpucluster/gate-at": "2026-01-01T09.00Z"})
    server = Server.of(node("n-1"), {**failed, "metadata": {**failed["metadata"], "name": "n-2"}})
    (said,) = expire(server, "big", 7, NOW)
    assert said.startswith("the verdict of n-2 was taken away: it is")
    (body,) = server.patched.values()
    assert body == {"metadata": {"resourceVersion": "7", "labels": dict.fromkeys(OWN)}}, "its taint stays"


def test_a_node_that_changes_meanwhile_waits_and_the_others_do_not() -> None:
    old = {"gpucluster/gate-at": "2026-01-01T09.00Z"}
    server = Server.of(node("n-1", **old), node("n-2", **old))
    server.busy.add("n-1")
    first, second = expire(server, "big", 7, NOW)
    assert first == "n-1 was changed meanwhile, and is looked at again next time"
    assert second.startswith("the verdict of n-2 was taken away")
    assert list(server.patched) == ["n-2"]


def test_the_program_says_what_it_did_and_fails_where_it_could_not_ask(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server.of(node("n-1", **{"gpucluster/gate-at": ""}))
    monkeypatch.setattr(Api, "inside", lambda where: server if str(where) == "/var/run/identity" else None)
    words = ["--identity=/var/run/identity", "--pool=big", "--days=7"]
    assert main(words) == 0
    assert capsys.readouterr().out == "the verdict of n-1 was taken away: nobody knows from when it is: ''\n"
    server.nodes.clear()
    assert main(words) == 0
    assert capsys.readouterr().out == "all results of pool big are valid\n"

    def refuse(*_: object) -> None:
        raise OSError("/api/v1/nodes: forbidden")

    monkeypatch.setattr(Server, "ask", refuse)
    assert main(words) == 1
    assert capsys.readouterr().err == "results of pool big could not be checked: /api/v1/nodes: forbidden\n"
