"""The API server's token webhook: a TLS server on loopback that answers TokenReview with `access`.

Only who has a client certificate of the cluster is answered: the API server.
"""

import json
import logging
import ssl
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from rehearsal import places
from rehearsal.cluster.access import RefusedError, UnansweredError, User
from rehearsal.cluster.layout import Layout
from rehearsal.cluster.tls import TlsServer

log = logging.getLogger(__name__)

Authenticate = Callable[[str], User]


def review(request: dict[str, Any], authenticate: Authenticate) -> dict[str, Any]:
    """The TokenReview that answers a TokenReview (`authentication.k8s.io/v1`)."""
    token = str((request.get("spec") or {}).get("token") or "")
    status: dict[str, Any]
    try:
        user = authenticate(token)
    except RefusedError as error:
        log.warning("refused: %s", error)
        status = {"authenticated": False, "error": str(error)}
    else:
        extra = {"arn": [user.arn]}
        status = {
            "authenticated": True,
            "user": {"username": user.name, "uid": user.arn, "groups": list(user.groups), "extra": extra},
        }
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": status}


def answered(request: dict[str, Any], authenticate: Authenticate) -> tuple[HTTPStatus, dict[str, Any]]:
    """The status and the answer. After a 500 the API server asks again (apiserver, util/webhook, DefaultShouldRetry):
    an account that runs late on a busy machine has refused nobody.
    """
    try:
        return HTTPStatus.OK, review(request, authenticate)
    except UnansweredError as error:
        log.warning("unanswered: %s", error)
        reason = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "InternalError"}
        return HTTPStatus.INTERNAL_SERVER_ERROR, {**reason, "message": str(error), "code": 500}


class Webhook:
    """Serves `review` over TLS on a port of loopback; `url` is valid after `start()`."""

    def __init__(self, layout: Layout, authenticate: Authenticate) -> None:
        self._layout = layout
        self._authenticate = authenticate
        self._server: TlsServer | None = None

    @property
    def url(self) -> str:
        if self._server is None:
            raise RuntimeError("the token webhook has not been started")
        return f"https://{places.LOOPBACK}:{self._server.server_address[1]}/"

    def start(self) -> None:
        authenticate = self._authenticate

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                status, found = answered(json.loads(self.rfile.read(length)), authenticate)
                answer = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                log.debug(format, *args)

        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self._layout.certificate("webhook"), self._layout.key("webhook"))
        tls.load_verify_locations(self._layout.ca)
        tls.verify_mode = ssl.CERT_REQUIRED
        self._server = TlsServer((places.LOOPBACK, 0), Handler, tls)
        threading.Thread(target=self._server.serve_forever, name="token-webhook", daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
