"""Simulated processes that answer HTTP on ports of their pod, beside all that a program does."""

import time
from collections.abc import Mapping
from typing import Any

from rehearsal.cluster.pages import Handler, Request
from rehearsal.kubelet.program import Launch, Local


def on_loopback(pod: str) -> str:
    """The name by which the cluster's table of ports knows a pod's loopback, which only its own containers reach."""
    return f"{pod}@localhost"


class Answering(Local):
    """Answers on `ports` (container port -> handler) from the monotonic time `at` on; until then it refuses.

    Scrapers, the API server's proxy and real processes in other pods reach it as they would in a cluster. Probes are
    asked of the same handlers. With `local` it listens on the pod's loopback: nobody outside the pod reaches it, and no
    probe either, since a kubelet asks the pod's address.
    """

    def __init__(self, launch: Launch, ports: Mapping[int, Handler], at: float = 0.0, *, local: bool = False) -> None:
        self._launch, self._handlers, self._at, self._local = launch, dict(ports), at, local
        self._pod = on_loopback(launch.pod_name) if local else launch.pod_name
        for port, handler in self._handlers.items():
            launch.world.backends.answer(launch.namespace, self._pod, port, handler, self._accepting)

    def _accepting(self) -> bool:
        return time.monotonic() >= self._at

    def listens(self, port: int, now: float) -> bool:
        return not self._local and port in self._handlers and now >= self._at

    def refuses(self, probe: Mapping[str, Any], port: int | None, now: float) -> str | None:
        if probe.get("exec"):
            return None
        path, _, query = str((probe.get("httpGet") or {}).get("path") or "/").partition("?")
        if port is None or not self.listens(port, now):
            return f'Get "http://:{port}{path}": dial tcp: connect: connection refused'
        if not probe.get("httpGet"):
            return None
        status = self._handlers[port](Request("GET", path, query)).status
        return None if 200 <= status < 400 else f"HTTP probe failed with statuscode: {status}"

    def next_change(self, now: float) -> float | None:
        return self._at if now < self._at else None

    def stop(self) -> None:
        self._launch.world.backends.remove(self._launch.namespace, self._pod, self._handlers)
