"""Which real process stands behind a simulated pod's port."""

import threading

from rehearsal import places

Address = tuple[str, int]


class Backends:
    """A thread-safe table: (namespace, pod, container port) -> address on loopback."""

    def __init__(self) -> None:
        self._addresses: dict[tuple[str, str, int], Address] = {}
        self._lock = threading.Lock()

    def add(self, namespace: str, pod: str, port: int, local_port: int) -> None:
        """From now on connections to the pod's port reach 127.0.0.1:local_port."""
        with self._lock:
            self._addresses[namespace, pod, port] = (places.LOOPBACK, local_port)

    def remove(self, namespace: str, pod: str) -> None:
        """Forget every port of a pod."""
        with self._lock:
            for key in [key for key in self._addresses if key[:2] == (namespace, pod)]:
                del self._addresses[key]

    def find(self, namespace: str, pod: str, port: int) -> Address | None:
        """Where a pod's port is served; None if nothing real listens there."""
        with self._lock:
            return self._addresses.get((namespace, pod, port))
