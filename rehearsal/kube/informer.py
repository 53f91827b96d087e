"""A local copy of all objects of one kind, kept current by a watch (list, watch, list again after a gap)."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from rehearsal.kube.client import ApiError, Kube, Unreachable

log = logging.getLogger(__name__)

Object = dict[str, Any]
Key = tuple[str, str]
Handler = Callable[[Object | None, Object | None], None]
Part = Callable[[Object], str | None]

RETRY_SECONDS = 0.5
NOT_SERVED_SECONDS = 1.0
WATCH_SECONDS = 240


def key_of(obj: Object) -> Key:
    meta = obj["metadata"]
    return meta.get("namespace") or "", meta["name"]


class Informer:
    """Objects of one kind by (namespace, name). Objects handed out are shared: read them, never change them.

    Handlers get (old, new) in the watch's thread: old None = added, new None = deleted. `parts` are what `having` finds
    objects by, each with a function of an object.
    """

    def __init__(
        self, kube: Kube, api_version: str, kind: str, parts: Mapping[str, Part] = MappingProxyType({})
    ) -> None:
        self._kube, self.api_version, self.kind = kube, api_version, kind
        self._parts = parts
        self._having: dict[tuple[str, str], dict[Key, Object]] = {}
        self._objects: dict[Key, Object] = {}
        self._handlers: list[Handler] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self.synced = threading.Event()

    def on_change(self, handler: Handler) -> None:
        """Call `handler` for every change; to be set before `start`."""
        self._handlers.append(handler)

    def start(self) -> None:
        threading.Thread(target=self._run, name=f"watch-{self.kind}", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def get(self, name: str, namespace: str | None = None) -> Object | None:
        with self._lock:
            return self._objects.get((namespace or "", name))

    def all(self) -> list[Object]:
        with self._lock:
            return list(self._objects.values())

    def having(self, part: str, value: str) -> list[Object]:
        """The objects with that value of a part, without a look at the others."""
        with self._lock:
            return list(self._having.get((part, value), {}).values())

    def within(self, namespace: str) -> Iterator[Object]:
        return (obj for obj in self.all() if (obj["metadata"].get("namespace") or "") == namespace)

    def _run(self) -> None:
        version: str | None = None
        while not self._stopped.is_set():
            try:
                if version is None:
                    version = self._relist()
                version = self._follow(version)
            except Unreachable:
                self._stopped.wait(RETRY_SECONDS)
            except ApiError as error:
                version = None
                self._stopped.wait(NOT_SERVED_SECONDS if error.code == 404 else RETRY_SECONDS)
            except Exception:
                log.exception("watch of %s", self.kind)
                version = None
                self._stopped.wait(RETRY_SECONDS)

    def _relist(self) -> str:
        items, version = self._kube.list_at(self.api_version, self.kind)
        fresh = {key_of(item): item for item in items}
        for key in [key for key in self._objects if key not in fresh]:
            self._set(key, None)
        for key, item in fresh.items():
            self._set(key, item)
        self.synced.set()
        return version

    def _follow(self, version: str) -> str:
        events = self._kube.watch(self.api_version, self.kind, resource_version=version, timeout_seconds=WATCH_SECONDS)
        for kind, obj in events:
            if self._stopped.is_set():
                break
            version = obj["metadata"]["resourceVersion"]
            if kind != "BOOKMARK":
                self._set(key_of(obj), None if kind == "DELETED" else obj)
        return version

    def _set(self, key: Key, new: Object | None) -> None:
        with self._lock:
            old = self._objects.get(key)
            if new is None:
                self._objects.pop(key, None)
            else:
                self._objects[key] = new
            self._sort(key, old, new)
        if old is None and new is None:
            return
        if old and new and old["metadata"].get("resourceVersion") == new["metadata"].get("resourceVersion"):
            return
        for handler in self._handlers:
            try:
                handler(old, new)
            except Exception:
                log.exception("handler of %s %s", self.kind, "/".join(key))

    def _sort(self, key: Key, old: Object | None, new: Object | None) -> None:
        """Moves an object to its place among those with the same value of each part."""
        for name, part in self._parts.items():
            was, now = part(old) if old else None, part(new) if new else None
            if was and was != now:
                among = self._having[name, was]
                among.pop(key, None)
                if not among:
                    del self._having[name, was]
            if new and now:
                self._having.setdefault((name, now), {})[key] = new
