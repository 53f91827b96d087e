"""HTTPS for clients that may be killed while they connect."""

import logging
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rehearsal.kube.tls import Connection

log = logging.getLogger(__name__)


class TlsServer(ThreadingHTTPServer):
    """An HTTPS server; every connection makes its handshake in a thread of its own."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    """With the default of five, a client that finds the queue full tries again a second later."""

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext) -> None:
        super().__init__(address, handler)
        self._tls = tls
        self._tls.sslsocket_class = Connection

    def get_request(self) -> tuple[ssl.SSLSocket, Any]:
        """A connection whose handshake is left to its own thread. An OSError here is a client that has gone."""
        connection, address = super().get_request()
        return self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - named by the base class
        log.debug("a connection ended early", exc_info=True)
