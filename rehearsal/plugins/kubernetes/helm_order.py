"""What a release shall be, and what came of it when it was rendered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.charts.chart import Chart
from rehearsal.plugins.kubernetes.helm_store import Record
from rehearsal.plugins.kubernetes.objects import Object


@dataclass(frozen=True)
class Order:
    """A release as its user wants it.

    `timeout` in seconds counts for each hook and for the waiting. `max_history` of 0 keeps all revisions. `validate`
    checks the objects' fields against what the cluster serves.
    """

    name: str
    namespace: str
    chart: Chart
    values: Mapping[str, Any]
    version: str = ""
    timeout: float = 300.0
    wait: bool = True
    wait_for_jobs: bool = False
    atomic: bool = False
    cleanup_on_fail: bool = False
    create_namespace: bool = False
    skip_crds: bool = False
    install_hooks: bool = True
    upgrade_hooks: bool = True
    validate: bool = True
    reset_values: bool = False
    max_history: int = 0
    description: str = ""

    def runs_hooks(self, operation: str) -> bool:
        """Whether an operation ("install", "upgrade", "rollback") runs the chart's hooks."""
        return self.install_hooks if operation == "install" else self.upgrade_hooks


@dataclass(frozen=True)
class Plan:
    """What an operation shall bring: the objects as they are applied, and the hooks."""

    order: Order
    revision: int
    wanted: list[Object]
    hooks: list[Object]

    def record(self, status: str) -> Record:
        """The revision's record."""
        order = self.order
        return Record(
            order.name,
            order.namespace,
            self.revision,
            status,
            order.chart.name,
            order.version or order.chart.version,
            order.values,
            self.wanted,
            app_version=order.chart.app_version,
            hooks=self.hooks,
        )
