"""A cluster's endpoint: what DescribeCluster tells, before the API server, for who comes from outside the cluster.

In life a packet that the endpoint does not answer is lost, and its sender waits for a timeout. Here the connection is
reset, which says the same at once.
"""

import logging
import socket
import socketserver
import struct
import threading
from collections.abc import Callable

from botocore.exceptions import BotoCoreError, ClientError

from rehearsal import places
from rehearsal.cloud.seen.aws import CloudError
from rehearsal.cluster.egress import carry

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 10.0
RESET = struct.pack("ii", 1, 0)


class Front:
    """Carries connections from a port of loopback to the API server's, unless `barred` gives a reason not to."""

    def __init__(self, server_port: int, barred: Callable[[], str | None]) -> None:
        self._server_port = server_port
        self._barred = barred
        self._reason: str | None = None
        front = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                front.serve(self.request)

        self._server = _Server((places.LOOPBACK, 0), Handler)
        self.endpoint = f"https://{places.LOOPBACK}:{self._server.server_address[1]}"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, name="endpoint", daemon=True).start()

    def stop(self) -> None:
        """Ends the listening; connections that are open end with the API server."""
        self._server.shutdown()
        self._server.server_close()

    def serve(self, client: socket.socket) -> None:
        """Carry one connection until either side ends it."""
        try:
            if self._asked() is None:
                with socket.create_connection((places.LOOPBACK, self._server_port), PATIENCE_SECONDS) as server:
                    server.settimeout(None)
                    carry(client, server)
                    return
        except OSError as error:
            log.debug("a connection to the endpoint ended: %s", error)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    def _asked(self) -> str | None:
        """Why the endpoint does not answer; what was true last, while the account does not tell."""
        try:
            self._reason = self._barred()
        except (BotoCoreError, ClientError, CloudError) as error:
            log.warning("whether the endpoint answers is not known: %s", error)
        if self._reason:
            log.warning("the endpoint does not answer: %s", self._reason)
        return self._reason


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        """Close without a shutdown first: that would end politely what is to be reset."""
        self.close_request(request)
