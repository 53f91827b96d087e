"""A small Helm 3: install, upgrade, roll back and uninstall a release as pkg/action of helm.sh/helm/v3 3.22 does."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from rehearsal.charts import chart as charts
from rehearsal.kube.client import ApiError, Kube, Unreachable
from rehearsal.plugins.kubernetes.helm_hooks import HookFailed, Hooks, split
from rehearsal.plugins.kubernetes.helm_objects import NotReady, Objects, key
from rehearsal.plugins.kubernetes.helm_order import Order, Plan
from rehearsal.plugins.kubernetes.helm_schema import Schemas
from rehearsal.plugins.kubernetes.helm_store import PENDING, Record, Store
from rehearsal.plugins.kubernetes.objects import Object

FAILURES = (ApiError, Unreachable, NotReady, HookFailed)


class HelmError(Exception):
    """Helm refuses, or undid what it did: nothing new is left."""


class ReleaseFailed(Exception):  # noqa: N818 - Helm's own word for the release's state
    """The release exists with status `failed`."""

    def __init__(self, record: Record, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.record, self.reasons = record, reasons


class Helm:
    """Carries out orders in one cluster; `log` gets a line per hook."""

    def __init__(self, kube: Kube, stop: threading.Event, log: Callable[[str], None] = lambda _: None) -> None:
        self._kube, self._stop, self._store, self._log = kube, stop, Store(kube), log

    def install(self, order: Order) -> Record:
        """Installs a new release (install.go, RunWithContext): the definitions of `crds/` first, which charts may ask
        for, then everything is rendered and checked, then hooks and objects.

        Raises HelmError, ReleaseFailed, ChartError, ApiError, Unreachable.
        """
        if history := self._store.history(order.namespace, order.name):
            raise HelmError(
                f"cannot re-use a name that is still in use: release {order.namespace}/{order.name} is "
                f"{history[-1].status} at revision {history[-1].revision}; `helm uninstall` it, or import it"
            )
        objects = self._objects(order.name, order.namespace)
        if not order.skip_crds:
            objects.install_crds(order.chart.crds(order.values))
        plan = self._planned(order, objects, 1, upgrade=False)
        if foreign := objects.foreign(plan.wanted):
            raise HelmError(f"unable to continue with install: {foreign}")
        if order.create_namespace:
            self._make_namespace(order.namespace)
        record = self._store.add(plan.record("pending-install"), order.max_history)
        try:
            self._carry_out("install", plan, [], order)
        except FAILURES as error:
            record = self._store.set_status(record, "failed", f'Release "{order.name}" failed: {error}')
            if not order.atomic:
                raise ReleaseFailed(record, _reasons(error)) from None
            try:
                self.uninstall(order.namespace, order.name, order.timeout, wait=False, hooks=order.install_hooks)
            except FAILURES as second:
                raise HelmError(
                    f"an error occurred while uninstalling the release: {second}. original install error: {error}"
                ) from None
            raise HelmError(
                f"release {order.name} failed, and has been uninstalled due to atomic being set: {error}"
            ) from None
        return self._store.set_status(record, "deployed", order.description or "Install complete")

    def upgrade(self, order: Order) -> Record:
        """Brings the release to a new revision, and removes objects that are no longer rendered (upgrade.go).

        Definitions in `crds/` are neither made nor changed. Raises as `install`.
        """
        history = self._store.history(order.namespace, order.name)
        current = _current(history, order)
        if not order.values and not order.reset_values:
            order = replace(order, values=current.values)
        objects = self._objects(order.name, order.namespace)
        plan = self._planned(order, objects, history[-1].revision + 1, upgrade=True)
        if foreign := objects.foreign(plan.wanted, current.objects):
            raise HelmError(f"unable to continue with update: {foreign}")
        record = self._store.add(plan.record("pending-upgrade"), order.max_history)
        known = {key(obj) for obj in current.objects}
        added = [obj for obj in plan.wanted if key(obj) not in known and objects.live(obj) is None]
        try:
            self._carry_out("upgrade", plan, current.objects, order)
        except FAILURES as error:
            record = self._store.set_status(record, "failed", f'Upgrade "{order.name}" failed: {error}')
            if order.cleanup_on_fail:
                objects.delete(added)
            if not order.atomic:
                raise ReleaseFailed(record, _reasons(error)) from None
            self._roll_back(record, order, error)
            raise HelmError(
                f"release {order.name} failed, and has been rolled back due to atomic being set: {error}"
            ) from None
        self._store.set_status(current, "superseded")
        return self._store.set_status(record, "deployed", order.description or "Upgrade complete")

    def uninstall(self, namespace: str, name: str, timeout: float, wait: bool, hooks: bool = True) -> list[Object]:
        """Deletes the release's objects and its records, running its delete hooks (uninstall.go).

        Definitions from `crds/` and objects with `helm.sh/resource-policy: keep` stay; the latter are given back. A
        release that is gone is fine. Raises HookFailed, NotReady, ApiError.
        """
        history = self._store.history(namespace, name)
        if not history:
            return []
        last = self._store.set_status(history[-1], "uninstalling", "Deletion in progress (or silently failed)")
        objects = self._objects(name, namespace)
        runner = Hooks(self._kube, objects, self._stop)
        if hooks:
            runner.run(last.hooks, "pre-delete", timeout, self._log)
        asked = objects.delete(last.objects)
        if wait:
            objects.wait_gone(asked, time.monotonic() + timeout)
        if hooks:
            runner.run(last.hooks, "post-delete", timeout, self._log)
        for record in history:
            self._store.remove(record)
        gone = {key(obj) for obj in asked}
        return [obj for obj in last.objects if key(obj) not in gone]

    def last(self, namespace: str, name: str) -> Record | None:
        """The newest revision, None if there is no such release."""
        history = self._store.history(namespace, name)
        return history[-1] if history else None

    # -- parts

    def _objects(self, name: str, namespace: str) -> Objects:
        return Objects(self._kube, name, namespace, self._stop)

    def _planned(self, order: Order, objects: Objects, revision: int, upgrade: bool) -> Plan:
        """Renders with what the server serves now, and checks every object against it. Raises HelmError, ChartError."""
        rendered = rendered_for(order, self._kube, revision, upgrade)
        hooks, own = split(rendered)
        new = "new " if upgrade else ""
        try:
            wanted = [objects.marked(obj) for obj in own]
        except ApiError as error:
            if error.reason == "NoMatch":
                text = (
                    f"unable to build kubernetes objects from {new}release manifest: {error}; ensure CRDs are installed"
                )
                raise HelmError(f"{text} first") from None
            raise
        if order.validate and (problems := Schemas(self._kube).problems(wanted)):
            raise HelmError(
                f"unable to build kubernetes objects from {new}release manifest: error validating data: "
                f"{'; '.join(problems[:5])}. Either the values are wrong, or the cluster's definitions are older "
                "than the chart: apply the chart's CRDs first"
            )
        return Plan(order, revision, wanted, hooks)

    def _carry_out(self, operation: str, plan: Plan, before: list[Object], order: Order) -> None:
        """Hooks, objects, waiting, hooks; `timeout` counts for each hook and for the waiting, as in Helm."""
        objects = self._objects(order.name, order.namespace)
        runner = Hooks(self._kube, objects, self._stop)
        hooks = plan.hooks if order.runs_hooks(operation) else []
        runner.run(hooks, f"pre-{operation}", order.timeout, self._log)
        objects.apply(plan.wanted)
        kept = {key(obj) for obj in plan.wanted}
        objects.delete([obj for obj in before if key(obj) not in kept])
        if order.wait or order.atomic:
            objects.wait_ready(plan.wanted, order.wait_for_jobs, time.monotonic() + order.timeout)
        runner.run(hooks, f"post-{operation}", order.timeout, self._log)

    def _roll_back(self, failed: Record, order: Order, why: Exception) -> None:
        """Goes back to the last revision that worked, as a revision of its own (upgrade.go, rollback.go)."""
        history = self._store.history(order.namespace, order.name)
        worked = [record for record in history if record.status in ("deployed", "superseded")]
        if not worked:
            raise HelmError(f"unable to find a previously successful release when attempting to rollback: {why}")
        good, text = worked[-1], f"Rollback to {worked[-1].revision}"
        back = self._store.add(
            replace(good, revision=failed.revision + 1, status="pending-rollback", description=text), order.max_history
        )
        plan = Plan(order, back.revision, good.objects, good.hooks)
        try:
            self._carry_out("rollback", plan, failed.objects, replace(order, wait=True))
        except FAILURES as error:
            self._store.set_status(back, "failed", f'Rollback "{order.name}" failed: {error}')
            raise HelmError(
                f"an error occurred while rolling back the release: {error}. original upgrade error: {why}"
            ) from None
        for record in worked:
            if record.status == "deployed":
                self._store.set_status(record, "superseded")
        self._store.set_status(back, "deployed", text)

    def _make_namespace(self, name: str) -> None:
        if self._kube.get("v1", "Namespace", name) is None:
            meta = {"name": name, "labels": {"name": name}}
            self._kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta}, manager="helm")


def rendered_for(order: Order, kube: Kube, revision: int, upgrade: bool) -> list[Object]:
    """What the chart makes of the values with the server's version and what it serves now. Raises ChartError."""
    return order.chart.render(
        charts.Order(order.name, order.namespace, order.values, *kube.capabilities(), revision, upgrade)
    )


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


def _reasons(error: Exception) -> list[str]:
    return error.reasons if isinstance(error, NotReady | HookFailed) else [str(error)]
