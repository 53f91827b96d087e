"""A caller from outside of a rehearsed cluster: TLS and plain http to the gateway's pods, by the cluster's proxy."""

import base64
import http.client
import json
import ssl
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509

from rehearsal.cluster.layout import PROXY
from rehearsal.cluster.proxy import admitting

from .rehearsed import Rehearsed

SPACE = "gateway"
PLAIN_PORT, TLS_PORT = 8000, 8443


@dataclass(frozen=True)
class Answered:
    """An answer: its status, where it leads, and its text."""

    status: int
    location: str
    text: str

    @property
    def code(self) -> str:
        """What a refusal of the door calls itself."""
        return str(json.loads(self.text)["error"]["code"])


@dataclass
class Caller:
    """Asks for `host`, trusts the stack's private authority alone, and sends `key` if there is one."""

    site: Rehearsed
    host: str
    key: str = ""
    _trust: ssl.SSLContext = field(init=False)

    def __post_init__(self) -> None:
        found = self.site.kube.get("v1", "Secret", "private-ca", SPACE)
        assert found is not None, "the authority has no certificate"
        authority = base64.b64decode(found["data"]["tls.crt"]).decode()
        self._trust = ssl.create_default_context(cadata=authority)

    def pods(self) -> dict[str, str]:
        """Addresses of the gateway's pods, by their names."""
        found = self.site.kube.list("v1", "Pod", SPACE, label_selector="app.kubernetes.io/name=traefik")
        return {each["metadata"]["name"]: each["status"]["podIP"] for each in found}

    def secure(self, at: str, path: str = "/v1/models", body: Any = None, *, trusting: bool = False) -> Answered:
        """An answer over TLS of what is at an address. ssl.SSLError if its certificate is not the hostname's."""
        connection = self._connected(at, TLS_PORT, trusting=trusting)
        return self._asked(connection, path, body)

    def unnamed(self, at: str, path: str = "/v1/models") -> Answered:
        """An answer over TLS to a caller who names no host in the handshake and trusts anybody, as a load balancer."""
        connection = self._tunnel(at, TLS_PORT)
        connection.connect()
        trust = ssl._create_unverified_context()  # noqa: S323 - load balancers look at no certificate of their targets
        trust.check_hostname = False
        connection.sock = trust.wrap_socket(connection.sock, server_hostname=None)
        return self._asked(connection, path, None)

    def plain(self, at: str, path: str = "/v1/models", body: Any = None) -> Answered:
        """An answer to plain http."""
        return self._asked(self._tunnel(at, PLAIN_PORT), path, body)

    def certificate(self, at: str) -> x509.Certificate:
        """What is shown for the hostname at an address, which the authority has signed."""
        connection = self._connected(at, TLS_PORT)
        try:
            assert isinstance(connection.sock, ssl.SSLSocket)
            shown = connection.sock.getpeercert(binary_form=True)
        finally:
            connection.close()
        assert shown is not None
        return x509.load_der_x509_certificate(shown)

    def _connected(self, at: str, port: int, *, trusting: bool = False) -> http.client.HTTPConnection:
        trust = ssl._create_unverified_context() if trusting else self._trust  # noqa: S323 - strangers' hostnames
        connection = self._tunnel(at, port)
        connection.connect()
        connection.sock = trust.wrap_socket(connection.sock, server_hostname=self.host)
        return connection

    def _tunnel(self, at: str, port: int) -> http.client.HTTPConnection:
        proxy = self.site.kubeconfig.with_name(PROXY).read_text()
        where = urlsplit(proxy)
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
        admitted = {name.title(): value for name, value in admitting(proxy).items()}
        connection.set_tunnel(at, port, headers=admitted)
        return connection

    def _asked(self, connection: http.client.HTTPConnection, path: str, body: Any) -> Answered:
        headers = {"Host": self.host, "Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        try:
            connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return Answered(answer.status, answer.getheader("Location") or "", answer.read().decode())
        finally:
            connection.close()
