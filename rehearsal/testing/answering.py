"""HTTP servers of tests on loopback: a function says what is answered, and nothing is logged."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rehearsal.cluster.tls import TlsServer


@dataclass(frozen=True)
class Asked:
    """A request; names of headers as they came, found in any spelling."""

    method: str
    path: str
    headers: Any
    body: bytes

    @property
    def content(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Said:
    """An answer: text, bytes, or whatever JSON can hold."""

    content: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """What is sent."""
        if isinstance(self.content, bytes):
            return self.content
        return (self.content if isinstance(self.content, str) else json.dumps(self.content)).encode()


@contextmanager
def answering(answer: Callable[[Asked], Said], *, port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server's HOST:PORT, until the block ends; of whichever port is free unless one is asked for."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            said = answer(Asked(self.command, self.path, self.headers, body))
            self.send_response(said.status)
            for name, value in {"Content-Length": str(len(said.body)), **said.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said.body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - named by the base class

        def log_message(self, *_: object) -> None: ...

    where = ("127.0.0.1", port)
    server = TlsServer(where, Handler, tls) if tls else ThreadingHTTPServer(where, Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
