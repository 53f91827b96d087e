"""Which real process, or which function, stands behind a simulated pod's port."""

import ssl
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rehearsal import places
from rehearsal.cluster.pages import Handler, Listener, Server

Address = tuple[str, int]
Key = tuple[str, str, int]


@dataclass
class _Answered:
    """A port that a function answers: whether it accepts connections now, and its listener once somebody dialled."""

    handler: Handler
    accepting: Callable[[], bool]
    tls: ssl.SSLContext | None
    listener: Listener | None = None


class Backends:
    """A thread-safe table: (namespace, pod, container port) -> address on loopback.

    What belongs to a machine rather than to a pod has the namespace "" and the node's name.
    """

    def __init__(self) -> None:
        self._addresses: dict[Key, Address] = {}
        self._answered: dict[Key, _Answered] = {}
        self._lock = threading.Lock()
        self.server = Server()

    def add(self, namespace: str, pod: str, port: int, local_port: int, host: str = places.LOOPBACK) -> None:
        """From now on connections to the pod's port reach `local_port` of `host`, which is on loopback."""
        with self._lock:
            self._addresses[namespace, pod, port] = (host, local_port)

    def answer(
        self,
        namespace: str,
        pod: str,
        port: int,
        handler: Handler,
        accepting: Callable[[], bool] = lambda: True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """From now on `handler` answers HTTP on the pod's port; connections are refused while it is not `accepting`."""
        with self._lock:
            self._answered[namespace, pod, port] = _Answered(handler, accepting, tls)

    def remove(self, namespace: str, pod: str, ports: Iterable[int]) -> None:
        """Forget ports of a pod."""
        with self._lock:
            for port in ports:
                self._addresses.pop((namespace, pod, port), None)
                gone = self._answered.pop((namespace, pod, port), None)
                if gone is not None and gone.listener is not None:
                    gone.listener.close()

    def handler(self, namespace: str, pod: str, port: int) -> Handler | None:
        """The function that answers plain HTTP on a pod's port; None for any other port, and while it is refused."""
        with self._lock:
            found = self._answered.get((namespace, pod, port))
        return found.handler if found is not None and found.tls is None and found.accepting() else None

    def accepts(self, namespace: str, pod: str, port: int) -> bool:
        """Whether something listens on a pod's port."""
        with self._lock:
            answered = self._answered.get((namespace, pod, port))
            known = (namespace, pod, port) in self._addresses
        return known or (answered is not None and answered.accepting())

    def find(self, namespace: str, pod: str, port: int) -> Address | None:
        """Where a pod's port is served; None if nothing listens there."""
        with self._lock:
            known, answered = self._addresses.get((namespace, pod, port)), self._answered.get((namespace, pod, port))
        if known is not None or answered is None or not answered.accepting():
            return known
        with self._lock:
            if answered.listener is None:
                answered.listener = self.server.open(answered.handler, answered.tls)
            return places.LOOPBACK, answered.listener.port

    def close(self) -> None:
        """Stop every server: no port is answered any more."""
        with self._lock:
            for each in self._answered.values():
                if each.listener is not None:
                    each.listener.close()
            self._answered.clear()
        self.server.stop()
