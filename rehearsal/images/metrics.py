"""The metrics-server image: the API `metrics.k8s.io`, which the API server's aggregation layer reaches over TLS.

Sources: kubernetes-sigs/metrics-server 0.8, pkg/api (resources, order, what is not found), pkg/storage (fields of the
answers), pkg/server (probes), cmd/metrics-server/app/options (flags); Kubernetes documentation, "Configure the
aggregation layer" (whom an extension API server believes). It reads pods and nodes with the rights of its own service
account; how much they use is assumed (`usage.SHARE`). Bearer tokens are not known here: only the aggregation layer
comes this way, and what a user may ask has been settled by the API server before.
"""

import contextlib
import json
import logging
import ssl
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

from rehearsal import places
from rehearsal.cluster.pki import Authority
from rehearsal.cluster.tls import TlsServer
from rehearsal.images.usage import Usage
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.kubelet.process import client
from rehearsal.kubelet.program import Launch, Local, Program, failed

log = logging.getLogger(__name__)

PROBES = ("/livez", "/readyz", "/healthz")
_PORT, _RESOLUTION = "10250", "60s"
AUTHENTICATION = ("v1", "ConfigMap", "extension-apiserver-authentication", "kube-system")
_REVIEW: dict[str, Any] = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SelfSubjectAccessReview",
    "spec": {"resourceAttributes": {"verb": "get", "resource": "nodes", "subresource": "metrics"}},
}


def run(launch: Launch) -> Program:
    """Serves, or ends as the real one does: it must know whom to believe, and have where to put its certificate."""
    directory = flag(launch.argv, "--cert-dir", "apiserver.local.config/certificates")
    mount = launch.mount_of(directory)
    sealed = (launch.spec.get("securityContext") or {}).get("readOnlyRootFilesystem")
    if sealed and (mount is None or mount.read_only):
        return failed(launch, f"error creating self-signed certificates: mkdir {directory}: read-only file system")
    kube = client(launch)
    try:
        believed = kube.get(*AUTHENTICATION)
    except (ApiError, Unreachable) as error:
        return failed(launch, f"unable to load configmap based request-header-client-ca-file: {error}")
    return MetricsServer(launch, kube, (believed or {}).get("data") or {})


def flag(argv: Sequence[str], name: str, default: str) -> str:
    """The value of `--name=value` on a command line. The last one counts."""
    found = [word.partition("=")[2] for word in argv if word.startswith(f"{name}=")]
    return found[-1] if found else default


class Answers(Protocol):
    """What an extension API has at a path."""

    def answer(self, path: str, query: Mapping[str, str]) -> Any:
        """The object there. Raises ApiError."""


class MetricsServer(Local):
    """A server on loopback that answers whom `believed` names: the data of `extension-apiserver-authentication`."""

    def __init__(self, launch: Launch, kube: Kube, believed: Mapping[str, str]) -> None:
        self._launch, self._kube = launch, kube
        self._port = int(flag(launch.argv, "--secure-port", _PORT))
        self._ready = False
        usage = Usage(kube, flag(launch.argv, "--metric-resolution", _RESOLUTION))
        names = json.loads(believed.get("requestheader-allowed-names") or "[]")
        self._server = TlsServer((places.LOOPBACK, 0), handler(usage, names), _tls(launch, believed))
        threading.Thread(target=self._server.serve_forever, name=f"metrics-{launch.pod_name}", daemon=True).start()
        launch.world.backends.add(launch.namespace, launch.pod_name, self._port, self._server.server_address[1])

    def listens(self, port: int, now: float) -> bool:  # noqa: ARG002
        return port == self._port

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:
        asked = probe.get("httpGet")
        if asked is None:
            return super().refuses(probe, port, now)
        path = asked.get("path") or "/"
        if port != self._port:
            return f"Get https://:{port}{path}: dial tcp: connect: connection refused"
        if str(asked.get("scheme") or "HTTP") != "HTTPS":
            return "HTTP probe failed with statuscode: 400"
        if path not in PROBES:
            return "HTTP probe failed with statuscode: 403"
        return self._unready() if path == "/readyz" else None

    def _unready(self) -> str | None:
        """Why there is nothing to serve: it cannot list pods and nodes, or the kubelets would not answer it."""
        if self._ready:
            return None
        try:
            for kind in ("Node", "Pod"):
                self._kube.call("GET", self._kube.path("v1", kind), limit=1)
            review = self._kube.path(_REVIEW["apiVersion"], _REVIEW["kind"])
            if not self._kube.call("POST", review, _REVIEW)["status"]["allowed"]:
                return "HTTP probe failed with statuscode: 500 (no metrics to serve: nodes/metrics is forbidden)"
        except (ApiError, Unreachable) as error:
            return f"HTTP probe failed with statuscode: 500 (an informer has not synced: {error})"
        self._ready = True
        return None

    def stop(self) -> None:
        self._launch.world.backends.remove(self._launch.namespace, self._launch.pod_name, [self._port])
        self._server.shutdown()
        self._server.server_close()
        self._kube.close()


def _tls(launch: Launch, believed: Mapping[str, str]) -> ssl.SSLContext:
    """A certificate of its own, as `--cert-dir` without one makes; clients may show one of the front proxy's CA."""
    pair = Authority("metrics-server").server("metrics-server", ["localhost"])
    certificate, key = launch.directory / "tls.crt", launch.directory / "tls.key"
    places.write(certificate, pair.certificate)
    places.write(key, pair.key)
    return aggregated(certificate, key, believed)


def aggregated(certificate: Path, key: Path, believed: Mapping[str, str]) -> ssl.SSLContext:
    """TLS of a server behind the API server, which shows it a certificate of the front proxy's authority."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    if authority := believed.get("requestheader-client-ca-file"):
        tls.load_verify_locations(cadata=authority)
        tls.verify_mode = ssl.CERT_OPTIONAL
    return tls


def handler(usage: Answers, believed: Sequence[str]) -> type[BaseHTTPRequestHandler]:
    """What answers a request, if the client's certificate is of one of the names `believed` (all, if there are none).

    A verified certificate is one of the front proxy's authority, the only one that `_tls` knows.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        connection: ssl.SSLSocket

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            try:
                self._send(200, "ok" if url.path in PROBES else self._answer(url.path, dict(parse_qsl(url.query))))
            except ApiError as error:
                self._send(error.code, status(error))
            except Unreachable as error:
                self._send(500, status(ApiError(500, "InternalError", str(error))))

        def _answer(self, path: str, query: Mapping[str, str]) -> Any:
            subject: Any = (self.connection.getpeercert() or {}).get("subject") or ()
            names = [value for part in subject for kind, value in part if kind == "commonName"]
            if not names or (believed and names[0] not in believed):
                text = f'forbidden: User "system:anonymous" cannot get path "{path}"'
                raise ApiError(403, "Forbidden", text)
            return usage.answer(path, query)

        def _send(self, code: int, body: Any) -> None:
            text = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            log.debug(format, *args)

    return Handler


def status(error: ApiError) -> dict[str, Any]:
    """An error as the API writes it."""
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": str(error),
        "reason": error.reason,
        "code": error.code,
    }
