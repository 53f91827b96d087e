"""The server: moto behind one lock, with faults, request counts and the rehearsal's own routes in front of it.

Nothing is answered to who has no key of the account: other people of this machine reach the port too, and so does a
page that a browser here has open, by a name of its own for this address (hence the look at Host).
"""

import hmac
import io
import json
import socket
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from http import HTTPStatus
from threading import RLock
from time import monotonic, sleep
from typing import Any

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import BaseWSGIServer, make_server

from rehearsal import places
from rehearsal.cloud import polls, signatures
from rehearsal.cloud.account import now, secret_of
from rehearsal.cloud.agenda import AGENDA
from rehearsal.cloud.control import Control
from rehearsal.cloud.dispatch import Dispatcher
from rehearsal.cloud.faults import Fault, error_body
from rehearsal.cloud.operations import Operation, identify
from rehearsal.keys import HEADER, Keys

StartResponse = Callable[[str, list[tuple[str, str]]], object]
Environ = dict[str, Any]
LARGEST_BODY = 64 * 2**20
_KEY = f"HTTP_{HEADER.upper().replace('-', '_')}"


class CloudApp:
    """WSGI application of one account.

    Requests run one at a time: moto's state is plain dictionaries, and a create or a delete with its checks must be
    one step for the sixteen connections of the AWS plugin. Reading requests and writing replies stay parallel.
    """

    def __init__(self, keys: Keys, alone: bool = False) -> None:
        self._keys = keys
        self._lock = RLock()
        self._moto = Dispatcher()
        self.faults: list[Fault] = []
        self.requests: Counter[str] = Counter()
        self._control = Control(self.faults, self.requests, alone)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if not _addressed(environ):
            return _plainly(start_response, HTTPStatus.FORBIDDEN, "this account answers to its own address only")
        own = environ["PATH_INFO"].startswith(("/rehearsal/", "/moto-api/"))
        if own and not hmac.compare_digest(environ.get(_KEY, "").encode(), self._keys.control.encode()):
            return _plainly(start_response, HTTPStatus.FORBIDDEN, f"{HEADER} is not the key of this rehearsal")
        body = _read_body(environ)
        if body is None:
            return _plainly(start_response, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the body is too large")
        until, begun = 0.0, _Begun()
        while True:
            answer, waits = self._turn(environ, begun, body, own)
            until = until or monotonic() + waits
            if not waits or not polls.empty(answer) or monotonic() > until:
                start_response(*begun.said)
                return answer
            sleep(polls.LOOK_SECONDS)
            environ["wsgi.input"] = io.BytesIO(body)

    def _turn(
        self, environ: Environ, start_response: StartResponse, body: bytes, own: bool
    ) -> tuple[Iterable[bytes], float]:
        """One answer, and for how long whoever asked would rather wait for a fuller one."""
        with self._lock:
            AGENDA.run_due()
            if environ["PATH_INFO"].startswith("/rehearsal/"):
                status, reply = self._control.handle(environ["REQUEST_METHOD"], environ["PATH_INFO"], body)
                said = json.dumps(reply, default=str).encode()
                return _reply(start_response, status, said), 0.0
            if own:
                return list(self._moto(environ, start_response)), 0.0
            signed = signatures.parse(environ)
            if signed and signed.presigned and signed.service != "s3":
                environ["HTTP_AUTHORIZATION"] = signed.header  # where moto looks for the service
            operation = identify(environ, body)
            if flaw := signatures.flaw(signed, environ, body, self._secret, now()):
                code, status = signatures.told(flaw, operation.protocol)
                return _refuse(start_response, operation, status, code, flaw.value), 0.0
            self.requests[operation.label] += 1
            fault = next((fault for fault in self.faults if fault.strikes(operation)), None)
            if fault:
                return _refuse(start_response, operation, fault.status, fault.code, fault.message), 0.0
            return self._answer(operation, environ, start_response), polls.patience(operation, body)

    def _secret(self, key: str, token: str | None) -> str | None:
        return self._keys.secret if key == self._keys.access and token is None else secret_of(key, token)

    def _answer(self, operation: Operation, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return list(self._moto(environ, start_response))
        except NotImplementedError:  # moto's answer to an operation that it does not play
            message = f"The rehearsal's AWS has no {operation.label}; add it to rehearsal/cloud."
            return _refuse(start_response, operation, HTTPStatus.NOT_IMPLEMENTED, "NotImplemented", message)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            message = f"{operation.label} failed inside the rehearsal's AWS: {type(error).__name__}: {error}"
            return _refuse(start_response, operation, HTTPStatus.BAD_REQUEST, "RehearsalInternalError", message)


class _Begun:
    """How an answer begins, kept until it is known that it is the one: a server takes one beginning."""

    def __init__(self) -> None:
        self.said: tuple[str, list[tuple[str, str]]] = ("", [])

    def __call__(self, status: str, headers: list[tuple[str, str]], *_: object) -> None:
        self.said = (status, headers)


def _addressed(environ: Environ) -> bool:
    """Whether the request names the address that it was sent to, and not a name that leads here."""
    return environ.get("HTTP_HOST") == f"{places.LOOPBACK}:{environ['SERVER_PORT']}"


def _read_body(environ: Environ) -> bytes | None:
    """The body; None if it is longer than any that a rehearsal sends."""
    stream = environ["wsgi.input"]
    chunked = environ.get("HTTP_TRANSFER_ENCODING", "").lower() == "chunked"
    length = LARGEST_BODY + 1 if chunked else int(environ.get("CONTENT_LENGTH") or 0)
    if not chunked and length > LARGEST_BODY:
        return None
    body: bytes = stream.read(length)
    if len(body) > LARGEST_BODY:
        return None
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))
    return body


def _reply(start_response: StartResponse, status: int, body: bytes) -> list[bytes]:
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    start_response(f"{int(status)} {HTTPStatus(status).phrase}", headers)
    return [body]


def _plainly(start_response: StartResponse, status: int, reason: str) -> list[bytes]:
    return _reply(start_response, status, json.dumps({"error": reason}).encode())


def _refuse(start: StartResponse, operation: Operation, status: int, code: str, message: str) -> list[bytes]:
    content_type, body = error_body(operation.protocol, code, message)
    headers = [("Content-Type", content_type), ("Content-Length", str(len(body))), ("x-amzn-errortype", code)]
    start(f"{int(status)} {HTTPStatus(status).phrase}", headers)
    return [body]


class _Handler(MotoRequestHandler):  # type: ignore[misc]
    """Logs no request: a body or a path may carry a secret."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        del code, size


def bind(keys: Keys, port: int = 0, alone: bool = False) -> BaseWSGIServer:
    """A server bound to ``127.0.0.1:port`` (0: a free port) with every amendment in place; call ``serve_forever``."""
    from rehearsal.cloud.amendments import apply_all

    apply_all()
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    port = listener.getsockname()[1]
    descriptor = listener.detach()
    return make_server("127.0.0.1", port, CloudApp(keys, alone), threaded=True, request_handler=_Handler, fd=descriptor)
