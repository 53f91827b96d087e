"""Where the stand-in is found: over TLS on loopback, and by its own name through a proxy that leads there and no
further.
"""

import socketserver
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rehearsal import places
from rehearsal.cluster import egress
from rehearsal.cluster.backends import Address
from rehearsal.cluster.pki import Authority
from rehearsal.cluster.router import NoRouteError
from rehearsal.images.oidc.issuer import Issuer


class Listening:
    """Serves an issuer until it is closed. `proxy` is the address of an HTTP proxy, `ca` a file with the certificate
    that the issuer's own is signed by, below `directory`.
    """

    def __init__(self, issuer: Issuer, directory: Path) -> None:
        parts = urlsplit(issuer.url)
        self.issuer, self._known = issuer, (str(parts.hostname), parts.port or 443)
        authority = Authority("rehearsed issuers")
        pair = authority.server(self._known[0], dns=[self._known[0]])
        places.private_directory(directory)
        self.ca, own = directory / "issuer-ca.pem", directory / "issuer.pem"
        places.write(self.ca, authority.certificate)
        places.write(own, pair.certificate + pair.key)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(own)
        self._server = ThreadingHTTPServer((places.LOOPBACK, 0), _handler(issuer))
        # A handshake belongs into the thread of its connection.
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._proxy = _Proxy((places.LOOPBACK, 0), _passing(self._route))
        for each in (self._server, self._proxy):
            each.daemon_threads = True
            threading.Thread(target=each.serve_forever, name="issuer", daemon=True).start()

    @property
    def proxy(self) -> str:
        return f"http://{places.LOOPBACK}:{self._proxy.server_address[1]}"

    @property
    def at(self) -> Address:
        return places.LOOPBACK, int(self._server.server_address[1])

    def close(self) -> None:
        for each in (self._server, self._proxy):
            each.shutdown()
            each.server_close()

    def _route(self, host: str, port: int) -> Address:
        if (host, port) != self._known:
            raise NoRouteError(f"{host}:{port} is not the issuer")
        return self.at


class _Proxy(socketserver.ThreadingMixIn, socketserver.TCPServer):
    block_on_close = False


def _passing(route: Any) -> type[socketserver.BaseRequestHandler]:
    class Passing(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            egress.serve(self.request, route)

    return Passing


def _handler(issuer: Issuer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = issuer.answer(self.command, self.path, headers, body)
            content = reply.content.encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            if reply.location:
                self.send_header("Location", reply.location)
            self.end_headers()
            self.wfile.write(content)

    return Handler
