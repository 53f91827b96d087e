"""How programs in pods speak with the API server: before a server that answers as Kubernetes does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from publish import Api, BusyError, ConflictError, GoneError

from rehearsal.testing.answering import Asked, Said, answering

EVENTS = [{"type": "ADDED", "object": {"n": 1}}, {"type": "BOOKMARK", "object": {"n": 2}}]
STATUS = {"conflict": 409, "gone": 410, "missing": 404, "refused": 403, "throttled": 429, "broken": 503}


@pytest.fixture
def asked() -> list[tuple[str, str | None, Any]]:
    """Method, type of content and body of each request."""
    return []


@pytest.fixture
def api(asked: list[tuple[str, str | None, Any]]) -> Iterator[Api]:
    def answer(request: Asked) -> Said:
        asked.append((request.method, request.headers.get("Content-Type"), request.body.decode()))
        if request.path == "/log":
            return Said("last words\n")
        if "watch=1" in request.path:
            return Said("".join(f"{json.dumps(each)}\n" for each in EVENTS))
        return Said({"message": f"about {request.path}"}, STATUS.get(request.path.strip("/"), 200))

    with answering(answer) as where:
        yield Api(f"http://{where}", "token", "training", None)


def test_a_patch_is_a_merge_and_whatever_is_made_is_json(api: Api, asked: list[tuple[str, str | None, Any]]) -> None:
    api.patch("/a", {"data": {"x": "y"}})
    assert api.ask("POST", "/a", {"kind": "Event"}) == {"message": "about /a"}
    api.ask("DELETE", "/a")
    assert asked == [
        ("PATCH", "application/merge-patch+json", '{"data": {"x": "y"}}'),
        ("POST", "application/json", '{"kind": "Event"}'),
        ("DELETE", "application/json", ""),
    ]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/conflict", ConflictError),
        ("/gone", GoneError),
        ("/missing", FileNotFoundError),
        ("/refused", OSError),
        ("/throttled", BusyError),
        ("/broken", BusyError),
    ],
)
def test_a_refusal_has_a_kind_and_the_servers_words(api: Api, path: str, kind: type[Exception]) -> None:
    for ask in (lambda: api.ask("GET", path), lambda: api.text(path), lambda: list(api.lines(path, 5))):
        with pytest.raises(kind, match=f"{path}: about {path}"):
            ask()


def test_a_watch_is_read_line_by_line_and_a_log_as_it_is(api: Api) -> None:
    assert list(api.lines("/pods?watch=1", 5)) == EVENTS
    assert api.text("/log") == "last words\n"
