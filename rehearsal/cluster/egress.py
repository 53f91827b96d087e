"""The way from the API server into the cluster's network: admission webhooks and aggregated APIs.

kube-apiserver asks this proxy to `CONNECT <service or pod IP>:<port>` (its egress selector, as with konnectivity).
Where a cluster would refuse the connection, so does the proxy (`router.py`).
"""

import contextlib
import logging
import os
import selectors
import socket
import socketserver
import threading
from collections.abc import Callable
from pathlib import Path

from rehearsal.cluster.backends import Address
from rehearsal.cluster.router import NoRouteError
from rehearsal.kube.client import ApiError, Unreachable

log = logging.getLogger(__name__)

LONGEST_REQUEST = 8192
PATIENCE = 10.0


class Egress:
    """The proxy: an HTTP CONNECT server on a socket in the cluster's directory."""

    def __init__(self, path: Path, route: Callable[[str, int], Address]) -> None:
        self.path = path
        self._route = route
        self._server: _Server | None = None

    def start(self) -> None:
        route = self._route

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                serve(self.request, route)

        self.path.unlink(missing_ok=True)
        directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # A socket's address holds 107 bytes; this name for the same place is always short enough.
            self._server = _Server(f"/proc/self/fd/{directory}/{self.path.name}", Handler)
        finally:
            os.close(directory)
        self.path.chmod(0o600)
        threading.Thread(target=self._server.serve_forever, name="egress", daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
            self.path.unlink(missing_ok=True)


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


def serve(client: socket.socket, route: Callable[[str, int], Address]) -> None:
    """Answer one CONNECT request and carry bytes both ways until either side ends."""
    client.settimeout(PATIENCE)
    with contextlib.suppress(OSError):
        target = _requested(client)
        if target is None:
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return
        try:
            server = socket.create_connection(route(*target), timeout=PATIENCE)
        except (NoRouteError, ApiError, Unreachable, OSError) as error:
            log.warning("connection to %s:%d refused: %s", *target, error)
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nX-Reason: connection refused\r\n\r\n")
            return
        with server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            client.settimeout(None)
            server.settimeout(None)
            carry(client, server)


def _requested(client: socket.socket) -> tuple[str, int] | None:
    """Read the request's head; the address it asks for, or None if it is no CONNECT."""
    head = b""
    while b"\r\n\r\n" not in head:
        chunk = client.recv(LONGEST_REQUEST)
        head += chunk
        if not chunk or len(head) > LONGEST_REQUEST:
            return None
    words = head.split(b"\r\n", 1)[0].decode("ascii", "replace").split()
    if len(words) != 3 or words[0] != "CONNECT":
        return None
    host, _, port = words[1].rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdigit() else None


def carry(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until either side ends."""
    opposite = {one: other, other: one}
    with selectors.DefaultSelector() as selector:
        for end in opposite:
            selector.register(end, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                end = one if key.fileobj is one else other
                data = end.recv(65_536)
                if not data:
                    return
                opposite[end].sendall(data)
