"""Which of a node's devices a container holds, and how much it makes them work.

Source: Kubernetes, pkg/kubelet/cm/devicemanager: a plugin tells numbered devices and which of them are healthy; a
container that is admitted holds as many healthy ones as it asks for until its pod is gone. Which ones, of equals, is
open there; here they are the first.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Work:
    """What a process does with its GPUs: the share of time that kernels run, and the share of memory it holds."""

    compute: float
    memory: float


@dataclass(frozen=True)
class Holder:
    """A container that holds devices."""

    namespace: str
    pod: str
    container: str


IDLE = Work(0.0, 0.0)
Works = Callable[[], Work]


class Allotted:
    """The device managers of all nodes of one cluster. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._unhealthy: dict[tuple[str, str], frozenset[int]] = {}
        self._slices: dict[tuple[str, str], int] = {}
        self._held: dict[tuple[str, str], dict[int, Holder]] = {}
        self._works: dict[Holder, Works] = {}

    def offer(self, node: str, resource: str, unhealthy: Iterable[int], slices: int = 1) -> None:
        """A plugin offers a resource, of which a GPU gives `slices`, and tells which devices of it are not well."""
        with self._lock:
            self._unhealthy[node, resource] = frozenset(unhealthy)
            self._slices[node, resource] = slices

    def take(self, node: str, pod: Mapping[str, Any]) -> None:
        """A pod that was admitted gets devices of every resource that a plugin offers."""
        with self._lock:
            for (where, resource), sick in self._unhealthy.items():
                for container in pod["spec"]["containers"] if where == node else ():
                    asked = int((container.get("resources") or {}).get("limits", {}).get(resource, 0))
                    holder = Holder(pod["metadata"]["namespace"], pod["metadata"]["name"], container["name"])
                    self._give(self._held.setdefault((node, resource), {}), holder, asked, sick)

    @staticmethod
    def _give(held: dict[int, Holder], holder: Holder, asked: int, sick: frozenset[int]) -> None:
        index = 0
        while asked > 0:
            if index not in held and index not in sick:
                held[index] = holder
                asked -= 1
            index += 1

    def release(self, node: str, namespace: str, pod: str) -> None:
        """The pod is gone from the node."""
        with self._lock:
            for (where, _), held in self._held.items():
                gone = [i for i, each in held.items() if (each.namespace, each.pod) == (namespace, pod)]
                for index in gone if where == node else ():
                    self._works.pop(held.pop(index), None)

    def work(self, holder: Holder, works: Works) -> None:
        """What the process of a container does with its devices from now on."""
        with self._lock:
            self._works[holder] = works

    def holders(self, node: str, resource: str) -> dict[int, Holder]:
        """Who holds which device."""
        with self._lock:
            return dict(self._held.get((node, resource), {}))

    def gpus(self, node: str, holder: Holder) -> set[int]:
        """The GPUs of which a container holds all or slices."""
        with self._lock:
            return {
                index // max(1, self._slices[where, resource])
                for (where, resource), held in self._held.items()
                for index, each in held.items()
                if where == node and each == holder
            }

    def working(self, holder: Holder) -> Work:
        """What a container does with its devices; nothing, if its process never said."""
        with self._lock:
            works = self._works.get(holder)
        return works() if works else IDLE
