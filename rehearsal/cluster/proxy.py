"""The cluster's network for real processes on this machine: an HTTP proxy that dials addresses of pods and Services.

A process that scrapes `http://10.0.1.7:9400/metrics` asks this proxy for it, or for a tunnel (`CONNECT`) where TLS goes
end to end. An address that nothing answers in the cluster is refused: 502, with the link that is missing. Who does not
know the proxy's word, which its URL holds, is not in the cluster's network at all: 407 (RFC 9110, 11.7; RFC 7617).
"""

import asyncio
import contextlib
import hmac
import logging
import secrets
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

import urllib3

from rehearsal import places
from rehearsal.cluster import socks
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

_STRANGER = (
    b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="rehearsal"\r\n'
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)
_CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_UNCONNECTED = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
KINDS = ("http", "socks5")
PATIENCE = 10.0
CHUNK = 65_536
# Of one connection only (RFC 9110, 7.6.1), and what a client says to a proxy.
_HOP = ("connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "upgrade", "transfer-encoding")


USER = "rehearsal"


def admitting(url: str) -> dict[str, str]:
    """The header by which a client of the proxy at `url` is let through."""
    parts = urlsplit(url)
    return urllib3.make_headers(proxy_basic_auth=f"{parts.username}:{parts.password}") if parts.username else {}


class Proxy:
    """Listens on two free ports of loopback, in the thread of `server`: HTTP at `url`, SOCKS5 at `socks`.

    Both are valid after `start()`.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._listening: list[asyncio.Server] = []
        self._word = self._admitted = ""
        self.url = self.socks = ""

    def start(self, route: Router) -> None:
        """Begins, following addresses by `route`: it asks the API server, so other threads do."""

        self._route = route
        self._word = secrets.token_urlsafe(24)
        (self._admitted,) = urllib3.make_headers(proxy_basic_auth=f"{USER}:{self._word}").values()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._serve(reader, writer, route)

        async def serve_socks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.closing(writer):
                await self._relay(reader, writer, route)

        async def listen() -> list[asyncio.Server]:
            return [
                await asyncio.start_server(each, places.LOOPBACK, 0, limit=LONGEST_HEAD, backlog=128)
                for each in (serve, serve_socks)
            ]

        self._listening = asyncio.run_coroutine_threadsafe(listen(), self._server.loop).result()
        ports = [each.sockets[0].getsockname()[1] for each in self._listening]
        self.url, self.socks = (
            f"{kind}://{USER}:{self._word}@{places.LOOPBACK}:{port}" for kind, port in zip(KINDS, ports, strict=True)
        )

    def lead(self, local: Address, host: str, port: int) -> Callable[[], None]:
        """Carries what a client that knows no proxy says to `local`, an address on loopback, to an address of the
        cluster; what ends that. Raises NoRouteError if nobody answers there now.
        """
        self._route(host, port)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.closing(writer):
                await _carry(self._route, (host, port), reader, writer)

        loop = self._server.loop
        listening = asyncio.run_coroutine_threadsafe(asyncio.start_server(serve, *local), loop).result()

        def end() -> None:
            loop.call_soon_threadsafe(listening.close)

        return end

    def stop(self) -> None:
        for each in self._listening:
            self._server.loop.call_soon_threadsafe(each.close)
        self._listening = []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, route: Router) -> None:
        try:
            while (head := await asyncio.wait_for(read_head(reader), IDLE_SECONDS)) is not None:
                method, target, headers = head
                if not hmac.compare_digest(headers.get("proxy-authorization", "").encode(), self._admitted.encode()):
                    writer.write(_STRANGER)
                    await writer.drain()
                    return
                if method == "CONNECT":
                    name, _, port = target.rpartition(":")
                    await _carry(route, (name.strip("[]"), int(port)), reader, writer, _CONNECTED, _UNCONNECTED)
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
                await self._server.reply(request, handler, writer)
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

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, route: Router) -> None:
        """A connection by SOCKS5, until one side ends it."""
        try:
            host, port = await asyncio.wait_for(socks.wanted(reader, writer, USER, self._word), PATIENCE)
        except (socks.SocksError, OSError, TimeoutError, EOFError) as error:
            log.debug("a connection by SOCKS5 ended: %s", error)
            return
        await _carry(route, (host, port), reader, writer, socks.reply(socks.SUCCEEDED), socks.reply(socks.REFUSED))


async def _carry(
    route: Router,
    where: Address,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    reached: bytes = b"",
    refused: bytes = b"",
) -> None:
    """Carries a connection to an address of the cluster until one side ends it; what is said before, either way."""
    try:
        upstream, outgoing = await _dial(route, *where)
    except (NoRouteError, ApiError, Unreachable, OSError, TimeoutError) as error:
        log.debug("%s:%d refused: %s", *where, error)
        writer.write(refused)
        return
    with contextlib.closing(outgoing):
        writer.write(reached)
        await _both_ways(reader, writer, upstream, outgoing)


async def _both_ways(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    upstream: asyncio.StreamReader,
    outgoing: asyncio.StreamWriter,
) -> None:
    """Carries bytes between a client and whom it reached, until one of them ends."""
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
