"""Probes of containers: how long one may fail, and which port it asks."""

import contextlib
import http.client
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]
SILENT = "timed out"
"""How the words end of a probe that got no answer in time (Python documentation, socket.timeout)."""


@dataclass
class Probing:
    """One probe of a running container: since when it fails, and with what; `passed` is its last answer."""

    spec: Object
    failing_since: float | None = None
    why: str = ""
    passed: bool = False

    @property
    def budget(self) -> float:
        """Seconds of life a container may fail the probe before something happens. Where it does not answer, each
        failure takes `timeoutSeconds`, and a kubelet asks no sooner again (pkg/kubelet/prober/worker.go, run).
        """
        each = float(self.spec.get("periodSeconds", 10))
        if self.why.endswith(SILENT):
            each = max(each, float(self.spec.get("timeoutSeconds", 1)))
        return float(self.spec.get("failureThreshold", 3)) * each

    @property
    def delay(self) -> float:
        return float(self.spec.get("initialDelaySeconds", 0))


def status(scheme: str, address: tuple[str, int], path: str, seconds: float = 2.0) -> int:
    """The status that a server answers a GET with; like a kubelet it believes any certificate.

    Raises OSError and HTTPException.
    """
    connection: http.client.HTTPConnection = http.client.HTTPConnection(*address, timeout=seconds)
    if scheme == "https":
        connection = http.client.HTTPSConnection(*address, timeout=seconds, context=_BELIEVING)
    with contextlib.closing(connection):
        connection.request("GET", path)
        with contextlib.closing(connection.getresponse()) as answer:
            return answer.status


def _believing() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


_BELIEVING = _believing()


def resolve_port(probe: Object, container: Object) -> int | None:
    """The number of a probe's port, which may be given by the name of a container port."""
    for kind in ("httpGet", "tcpSocket", "grpc"):
        port = (probe.get(kind) or {}).get("port")
        if isinstance(port, int):
            return port
        if isinstance(port, str):
            if port.isdigit():
                return int(port)
            named = [each for each in container.get("ports") or [] if each.get("name") == port]
            return int(named[0]["containerPort"]) if named else None
    return None
