"""A small Helm 3: install, upgrade, roll back and uninstall a release, with its rules about names and owners."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.plugins.kubernetes.helm_objects import NotReady, Objects, key
from rehearsal.plugins.kubernetes.helm_store import PENDING, Record, Store
from rehearsal.plugins.kubernetes.objects import Object


class HelmError(Exception):
    """Helm refuses, or undid what it did: nothing new is left."""


class ReleaseFailed(Exception):  # noqa: N818 - Helm's own word for the release's state
    """The release exists with status `failed`."""

    def __init__(self, record: Record, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.record, self.reasons = record, reasons


@dataclass(frozen=True)
class Order:
    """What a release shall be. `timeout` in seconds, for the whole operation."""

    name: str
    namespace: str
    chart: str
    version: str
    values: Mapping[str, Any]
    rendered: list[Object]
    crds: list[Object] = field(default_factory=list)
    timeout: float = 300.0
    wait: bool = True
    wait_for_jobs: bool = False
    atomic: bool = False
    cleanup_on_fail: bool = False
    create_namespace: bool = False


class Helm:
    """Carries out orders in one cluster."""

    def __init__(self, kube: Kube, stop: threading.Event) -> None:
        self._kube, self._stop, self._store = kube, stop, Store(kube)

    def install(self, order: Order) -> Record:
        """Installs a new release. Raises HelmError, ReleaseFailed, ApiError, Unreachable."""
        deadline = time.monotonic() + order.timeout
        if history := self._store.history(order.namespace, order.name):
            raise HelmError(
                f"cannot re-use a name that is still in use: release {order.namespace}/{order.name} is "
                f"{history[-1].status} at revision {history[-1].revision}; `helm uninstall` it, or import it"
            )
        objects = self._objects(order)
        objects.install_crds(order.crds)
        wanted = self._marked(objects, order)
        if foreign := objects.foreign(wanted):
            raise HelmError(f"unable to continue with install: {foreign}")
        if order.create_namespace:
            self._make_namespace(order.namespace)
        record = self._store.add(_record(order, wanted, 1, "pending-install"))
        try:
            self._carry_out(objects, wanted, [], order, deadline)
        except (ApiError, Unreachable, NotReady) as error:
            record = self._store.set_status(record, "failed", str(error))
            if not order.atomic:
                raise ReleaseFailed(record, _reasons(error)) from None
            self.uninstall(order.namespace, order.name, order.timeout, wait=True)
            raise HelmError(
                f"release {order.name} failed, and has been uninstalled due to atomic being set: {error}"
            ) from None
        return self._store.set_status(record, "deployed", "Install complete")

    def upgrade(self, order: Order) -> Record:
        """Brings the release to a new revision, and removes objects that are no longer rendered."""
        deadline = time.monotonic() + order.timeout
        history = self._store.history(order.namespace, order.name)
        current = _current(history, order)
        objects = self._objects(order)
        wanted = self._marked(objects, order)
        if foreign := objects.foreign(wanted, current.objects):
            raise HelmError(f"unable to continue with update: {foreign}")
        record = self._store.add(_record(order, wanted, history[-1].revision + 1, "pending-upgrade"))
        known = {key(obj) for obj in current.objects}
        added = [obj for obj in wanted if key(obj) not in known and not objects.exists(obj)]
        try:
            self._carry_out(objects, wanted, current.objects, order, deadline)
        except (ApiError, Unreachable, NotReady) as error:
            record = self._store.set_status(record, "failed", str(error))
            if order.cleanup_on_fail or order.atomic:
                objects.delete(added)
            if not order.atomic:
                raise ReleaseFailed(record, _reasons(error)) from None
            self._roll_back(objects, history, record, order)
            raise HelmError(
                f"release {order.name} failed, and has been rolled back due to atomic being set: {error}"
            ) from None
        for old in history:
            if old.status == "deployed":
                self._store.set_status(old, "superseded")
        return self._store.set_status(record, "deployed", "Upgrade complete")

    def uninstall(self, namespace: str, name: str, timeout: float, wait: bool) -> None:
        """Deletes the release's objects (not its CRDs) and its records; a release that is gone is fine."""
        history = self._store.history(namespace, name)
        if not history:
            return
        self._store.set_status(history[-1], "uninstalling")
        objects = Objects(self._kube, name, namespace, self._stop)
        asked = objects.delete(history[-1].objects)
        if wait:
            objects.wait_gone(asked, time.monotonic() + timeout)
        for record in history:
            self._store.remove(record)

    def last(self, namespace: str, name: str) -> Record | None:
        """The newest revision, None if there is no such release."""
        history = self._store.history(namespace, name)
        return history[-1] if history else None

    # -- parts

    def _objects(self, order: Order) -> Objects:
        return Objects(self._kube, order.name, order.namespace, self._stop)

    def _marked(self, objects: Objects, order: Order) -> list[Object]:
        try:
            return objects.marked(order.rendered)
        except ApiError as error:
            if error.reason == "NoMatch":
                text = f"unable to build kubernetes objects from release manifest: {error}; ensure CRDs are installed"
                raise HelmError(f"{text} first") from None
            raise

    def _carry_out(
        self, objects: Objects, wanted: list[Object], before: list[Object], order: Order, deadline: float
    ) -> None:
        objects.apply(wanted)
        kept = {key(obj) for obj in wanted}
        objects.delete([obj for obj in before if key(obj) not in kept])
        if order.wait:
            objects.wait_ready(wanted, order.wait_for_jobs, deadline)

    def _roll_back(self, objects: Objects, history: list[Record], failed: Record, order: Order) -> None:
        good = next((record for record in reversed(history) if record.status == "deployed"), history[-1])
        text = f"Rollback to {good.revision}"
        back = Record(
            good.name, good.namespace, failed.revision + 1, "pending-rollback", good.chart, good.version, good.values,
            good.objects, text, good.app_version,
        )  # fmt: skip
        self._store.add(back)
        self._carry_out(objects, good.objects, failed.objects, order, time.monotonic() + order.timeout)
        for record in history:
            if record.status == "deployed":
                self._store.set_status(record, "superseded")
        self._store.set_status(back, "deployed", text)

    def _make_namespace(self, name: str) -> None:
        if self._kube.get("v1", "Namespace", name) is None:
            self._kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, manager="helm")


def _current(history: list[Record], order: Order) -> Record:
    """The revision that an upgrade starts from. Raises HelmError if there is none or an operation is under way."""
    if not history:
        raise HelmError(f"release {order.namespace}/{order.name} is gone; it was uninstalled by others: refresh")
    if history[-1].status in PENDING:
        raise HelmError(
            f"another operation (install/upgrade/rollback) is in progress: revision {history[-1].revision} of "
            f"{order.namespace}/{order.name} is {history[-1].status}; if nothing runs, `helm rollback {order.name}`"
        )
    return next((record for record in reversed(history) if record.status == "deployed"), history[-1])


def _record(order: Order, objects: list[Object], revision: int, status: str) -> Record:
    version = order.version
    return Record(order.name, order.namespace, revision, status, order.chart, version, order.values, objects)


def _reasons(error: Exception) -> list[str]:
    return error.reasons if isinstance(error, NotReady) else [str(error)]
