"""What simulated pods answer over HTTP: functions by port, all of them served by one thread and a few workers.

A listener on loopback exists only for a port that somebody has dialled; the cluster's proxy asks a function directly.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol

from rehearsal import places

log = logging.getLogger(__name__)

WORKERS = 4
LONGEST_HEAD, LONGEST_BODY = 64 * 1024, 16 * 2**20
IDLE_SECONDS = 120.0
PATIENCE = 5.0
# Source: Prometheus, "Exposition formats", text format 0.0.4.
METRICS_TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Parts(Iterator[tuple[float, bytes]], Protocol):
    """What follows in a stream, each part after so many seconds. ConnectionError cuts the connection. It is closed at
    its end, and where nobody hears it to its end.
    """

    def close(self) -> None: ...


Rest = Callable[[], Parts]


@dataclass(frozen=True)
class Request:
    """A request: `path` without the query, names of `headers` in small letters."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    """What is sent back; a text goes out as UTF-8. With `rest` it is a stream, of which `content` is the first part."""

    content: str | bytes
    status: int = 200
    content_type: str = METRICS_TEXT
    headers: Mapping[str, str] = field(default_factory=dict)
    rest: Rest | None = None


Handler = Callable[[Request], Answer]
"""Answers one request, quickly: all simulated pods share the workers that call it. Any thread may call it."""


def texts(by_path: Mapping[str, Callable[[], str]]) -> Handler:
    """A handler of pages: GET of a path is what its function returns then; 404 for any other path."""

    def answer(request: Request) -> Answer:
        page = by_path.get(request.path)
        if page is None:
            return Answer("404 page not found\n", 404, "text/plain; charset=utf-8")
        if request.method not in ("GET", "HEAD"):
            return Answer("Method Not Allowed\n", 405, "text/plain; charset=utf-8")
        return Answer(page())

    return answer


class Server:
    """One event loop in one thread, started with its first use; functions that answer run in a few workers."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._workers: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._workers = ThreadPoolExecutor(WORKERS, "pages")
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="pages", daemon=True)
                self._thread.start()
            return self._loop

    def open(self, handler: Handler, tls: ssl.SSLContext | None = None) -> Listener:
        """Listens on a free port of loopback."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self.converse(reader, writer, handler)

        async def start() -> asyncio.Server:
            return await asyncio.start_server(answer, places.LOOPBACK, 0, ssl=tls, limit=LONGEST_HEAD, backlog=128)

        return Listener(asyncio.run_coroutine_threadsafe(start(), self.loop).result(), self.loop)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler) -> None:
        """Answers the requests of one connection until either side ends it."""
        try:
            while (request := await asyncio.wait_for(read(reader), IDLE_SECONDS)) is not None:
                await self.reply(request, handler, writer)
                if request.headers.get("connection", "").lower() == "close":
                    break
        except (OSError, ValueError, TimeoutError, EOFError, asyncio.LimitOverrunError) as error:
            log.debug("a connection ended: %s", error)
        finally:
            writer.close()

    async def reply(self, request: Request, handler: Handler, writer: asyncio.StreamWriter) -> None:
        """Sends a handler's answer, a stream part by part. Raises OSError where either side ends it before its end."""
        answer = await self._answered(request, handler)
        if answer.rest is None or request.method == "HEAD":
            writer.write(encoded(request, answer))
            await writer.drain()
            return
        with contextlib.closing(answer.rest()) as parts:
            writer.write(encoded(request, answer))
            await writer.drain()
            for seconds, part in parts:
                await asyncio.sleep(seconds)
                writer.write(_chunk(part))
                await writer.drain()
        writer.write(_chunk(b""))
        await writer.drain()

    async def _answered(self, request: Request, handler: Handler) -> Answer:
        """A handler's answer; 500 if it raises."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._workers, handler, request)
        except Exception:
            log.exception("%s %s", request.method, request.path)
            return Answer("Internal Server Error\n", 500, "text/plain; charset=utf-8")

    def stop(self) -> None:
        """Ends the thread, and open connections with it; what is opened later begins anew."""
        with self._lock:
            loop, thread, workers = self._loop, self._thread, self._workers
            self._loop = self._thread = self._workers = None
        if loop is not None and thread is not None and workers is not None:
            loop.call_soon_threadsafe(loop.stop)
            workers.shutdown(wait=False, cancel_futures=True)
            thread.join(PATIENCE)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """The thread: runs until it is told to stop, then lets go of every connection."""
    loop.run_forever()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()

    async def ended() -> None:
        await asyncio.gather(*tasks, return_exceptions=True)
        await loop.shutdown_default_executor()

    loop.run_until_complete(ended())
    loop.close()


class Listener:
    """An open port on loopback."""

    def __init__(self, server: asyncio.Server, loop: asyncio.AbstractEventLoop) -> None:
        self._server, self._loop = server, loop
        self.port = int(server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Stop listening; open connections go on to their end."""

        async def end() -> None:
            self._server.close()

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()


async def read(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; None at its end. Raises ValueError for what is no HTTP/1.1 we speak."""
    head = await read_head(reader)
    if head is None:
        return None
    method, target, headers = head
    path, _, query = target.partition("?")
    return Request(method, path, query, headers, await read_body(reader, headers))


async def read_head(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str]] | None:
    """Method, target and headers of the next request; None at the connection's end. Raises ValueError."""
    try:
        text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = text.split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise ValueError(f"no HTTP/1.1 request: {first[:80]!r}")
    pairs = (line.partition(":") for line in lines if line)
    return words[0], words[1], {name.strip().lower(): value.strip() for name, _, value in pairs}


async def read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    """What follows a head. Raises ValueError if it is too long."""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await _chunks(reader)
    length = int(headers.get("content-length") or 0)
    if length > LONGEST_BODY:
        raise ValueError(f"a body of {length} bytes")
    return await reader.readexactly(length)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        if len(body) + size > LONGEST_BODY:
            raise ValueError("a body without end")
        body += await reader.readexactly(size)
        await reader.readline()
    while (await reader.readline()).strip():
        pass
    return body


def _chunk(part: bytes) -> bytes:
    """A part of a stream; an empty one is its end (RFC 9112, 7.1)."""
    return f"{len(part):x}\r\n".encode() + part + b"\r\n"


def encoded(request: Request, answer: Answer) -> bytes:
    """An answer as it goes over the wire. Pure."""
    content = answer.content.encode() if isinstance(answer.content, str) else answer.content
    phrase = HTTPStatus(answer.status).phrase
    length = {"Content-Length": str(len(content))} if answer.rest is None else {"Transfer-Encoding": "chunked"}
    headers = {"Content-Type": answer.content_type, **length, **answer.headers}
    content = content if answer.rest is None else _chunk(content)
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {answer.status} {phrase}\r\n{head}\r\n".encode() + (b"" if request.method == "HEAD" else content)
