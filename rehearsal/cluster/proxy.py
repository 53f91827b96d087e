"""The cluster's network for real processes on this machine: an HTTP proxy that dials addresses of pods and Services.

A process that scrapes `http://10.0.1.7:9400/metrics` asks this proxy for it, or for a tunnel (`CONNECT`) where TLS goes
end to end. An address that nothing answers in the cluster is refused: 502, with the link that is missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import replace
from urllib.parse import urlsplit

from rehearsal import places
from rehearsal.cluster.backends import Address
from rehearsal.cluster.pages import (
    IDLE_SECONDS,
    LONGEST_HEAD,
    Answer,
    Handler,
    Request,
    Server,
    encoded,
    read_body,
    read_head,
)
from rehearsal.cluster.router import NoRouteError, Router
from rehearsal.kube.client import ApiError, Unreachable

log = logging.getLogger(__name__)

UNREACHED = "X-Unreached"
"""A header of our own 502: nobody answered, which a server's own 502 does not say."""

PATIENCE = 10.0
CHUNK = 65_536
# Of one connection only (RFC 9110, 7.6.1), and what a client says to a proxy.
_HOP = ("connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "upgrade", "transfer-encoding")


class Proxy:
    """Listens on a free port of loopback, in the thread of `server`; `url` is valid after `start()`."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._listening: asyncio.Server | None = None
        self.url = ""

    def start(self, route: Router) -> None:
        """Begins, following addresses by `route`: it asks the API server, so other threads do."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._serve(reader, writer, route)

        async def listen() -> asyncio.Server:
            return await asyncio.start_server(serve, places.LOOPBACK, 0, limit=LONGEST_HEAD, backlog=128)

        self._listening = asyncio.run_coroutine_threadsafe(listen(), self._server.loop).result()
        self.url = f"http://{places.LOOPBACK}:{self._listening.sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        if self._listening is not None:
            self._server.loop.call_soon_threadsafe(self._listening.close)
            self._listening = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, route: Router) -> None:
        try:
            while (head := await asyncio.wait_for(read_head(reader), IDLE_SECONDS)) is not None:
                method, target, headers = head
                if method == "CONNECT":
                    await self._tunnel(route, target, reader, writer)
                    return
                url = urlsplit(target)
                if url.scheme != "http" or not url.hostname:
                    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                    return
                request = Request(method, url.path or "/", url.query, headers, await read_body(reader, headers))
                if not await self._ask(route, (url.hostname, url.port or 80), request, writer):
                    return
        except (OSError, ValueError, TimeoutError, EOFError, asyncio.LimitOverrunError) as error:
            log.debug("a connection ended: %s", error)
        finally:
            writer.close()

    async def _ask(self, route: Router, where: Address, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Sends back what the address answers; whether the connection may carry another request."""
        try:
            handler: Handler | None = await asyncio.to_thread(route.handler, *where)
            if handler is not None:
                writer.write(await self._server.answered(request, handler))
                await writer.drain()
                return request.headers.get("proxy-connection", "").lower() != "close"
            upstream, outgoing = await _dial(route, *where)
        except (NoRouteError, ApiError, Unreachable, OSError, TimeoutError) as error:
            log.debug("%s:%d refused: %s", *where, error)
            writer.write(encoded(request, Answer(f"{error}\n", 502, "text/plain; charset=utf-8", {UNREACHED: "yes"})))
            await writer.drain()
            return True
        with contextlib.closing(outgoing):
            outgoing.write(_forwarded(request))
            await outgoing.drain()
            await _copy(upstream, writer)
        return False

    async def _tunnel(
        self, route: Router, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        host, _, port = target.rpartition(":")
        try:
            upstream, outgoing = await _dial(route, host.strip("[]"), int(port))
        except (NoRouteError, ApiError, Unreachable, OSError, TimeoutError) as error:
            log.debug("%s refused: %s", target, error)
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        with contextlib.closing(outgoing):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await writer.drain()
            ways = [asyncio.create_task(_copy(reader, outgoing)), asyncio.create_task(_copy(upstream, writer))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()


async def _dial(route: Router, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    address = await asyncio.to_thread(route, host, port)
    return await asyncio.wait_for(asyncio.open_connection(*address, limit=LONGEST_HEAD), PATIENCE)


def _forwarded(request: Request) -> bytes:
    """A request as it goes on to its server, alone on its connection. Pure."""
    kept = {name: value for name, value in request.headers.items() if name not in _HOP}
    if request.body:
        kept["content-length"] = str(len(request.body))
    sent = replace(request, headers={**kept, "connection": "close"})
    head = "".join(f"{name}: {value}\r\n" for name, value in sent.headers.items())
    target = f"{sent.path}?{sent.query}" if sent.query else sent.path
    return f"{sent.method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + sent.body


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Carries bytes until the source ends."""
    with contextlib.suppress(OSError):
        while data := await source.read(CHUNK):
            target.write(data)
            await target.drain()
