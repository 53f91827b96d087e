"""Probes of containers: how long one may fail, and which port it asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]


@dataclass
class Probing:
    """One probe of a running container: since when it fails, and with what; `passed` is its last answer."""

    spec: Object
    failing_since: float | None = None
    why: str = ""
    passed: bool = False

    @property
    def budget(self) -> float:
        """Seconds of life a container may fail the probe before something happens."""
        return float(self.spec.get("failureThreshold", 3)) * float(self.spec.get("periodSeconds", 10))

    @property
    def delay(self) -> float:
        return float(self.spec.get("initialDelaySeconds", 0))


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
