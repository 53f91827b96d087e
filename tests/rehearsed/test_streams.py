"""Streams of a rehearsed vLLM whose pod is to go: whole where it is given the time, and cut where not (J11)."""

import http.client
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.cluster.pages import Server
from rehearsed import streams, vllm
from rehearsed.openai import OpenAi
from rehearsed.streams import Streams

TOKENS = 6


class Pages:
    """Servers of pages, and the connections to them."""

    def __init__(self) -> None:
        self.server = Server()
        self.open: list[Any] = []

    def serving(self, drain: float) -> tuple[Streams, int, list[str]]:
        """A server's streams, its port, and what its kubelet was told."""
        woken: list[str] = []
        held = Streams(drain, lambda: woken.append("look"))
        listener = self.server.open(OpenAi(["chat"], "/m", 4096, streams=held).answer)
        self.open.append(listener)
        return held, listener.port, woken

    def ask(self, port: int, **more: Any) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        asked = {"model": "chat", "prompt": "Count", "max_tokens": TOKENS, **more}
        connection.request("POST", "/v1/completions", body=json.dumps(asked))
        answer = connection.getresponse()
        self.open += [connection, answer]
        return answer


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pages]:
    monkeypatch.setattr(streams, "TOKEN_SECONDS", 0.02)
    found = Pages()
    yield found
    for each in reversed(found.open):
        each.close()
    found.server.stop()


def words(text: bytes) -> str:
    events = [line.removeprefix("data: ") for line in text.decode().splitlines() if line]
    return "".join(json.loads(each)["choices"][0]["text"] if each != "[DONE]" else "." for each in events)


def test_a_stream_is_what_the_whole_answer_is_token_by_token(pages: Pages) -> None:
    held, port, _ = pages.serving(0)
    found = pages.ask(port, stream=True)
    assert (found.status, found.headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
    assert words(found.read()) == json.loads(pages.ask(port).read())["choices"][0]["text"] + "."
    assert held.leaves(), "nothing is under way"


def test_a_server_that_is_to_end_takes_no_more_and_ends_what_it_has(pages: Pages) -> None:
    held, port, woken = pages.serving(30)
    found = pages.ask(port, stream=True)
    begun = found.read1()
    assert not held.leaves()
    refused = pages.ask(port)
    assert (refused.status, json.loads(refused.read())["error"]["type"]) == (503, "ServiceUnavailableError")
    assert not woken
    assert words(begun + found.read()).endswith(" six.")
    until = time.monotonic() + 5
    while not woken and time.monotonic() < until:
        time.sleep(0.01)
    assert (woken, held.leaves()) == (["look"], True)


@pytest.mark.parametrize("killed", [True, False])
def test_without_time_to_drain_or_killed_a_stream_is_cut(pages: Pages, *, killed: bool) -> None:
    """`--shutdown-timeout` is 0 by default."""
    held, port, _ = pages.serving(30 if killed else 0)
    found = pages.ask(port, stream=True)
    found.read1()
    assert held.leaves() is not killed
    if killed:
        held.cut()
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        found.read()


def test_the_seconds_are_those_of_the_command_line() -> None:
    assert vllm.parse(["vllm", "serve", "m", "--shutdown-timeout=95"]).drain_seconds == 95
    assert vllm.parse(["vllm", "serve", "m"]).drain_seconds is None
