"""Samples of what watches."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from components.monitoring.dashboards import Dashboards, DashboardsArgs
from components.monitoring.isolation import Isolation, IsolationArgs
from components.monitoring.monitors import Monitors, MonitorsArgs, Target
from components.monitoring.rules import Rules, RulesArgs
from components.monitoring.stack import MonitoringStack, MonitoringStackArgs
from components.monitoring.stack_values import Prometheus, Request, Requests
from components.platform.charts import ChartSource
from monitoring.dashboards.model import Dashboard
from tests.components.samples.common import Make, done, of

BOARD = Dashboard(uid="gpucluster-heat", title="Heat", description="How warm.", sections=())


def isolation_args(**changes: Any) -> IsolationArgs:
    """Arguments of what isolates nodes of two pools."""
    known: dict[str, Any] = {
        "namespace": "monitoring",
        "image": "python:3.13",
        "files": {"isolate.py": "import publish"},
        "prometheus": "http://prometheus.monitoring.svc:9090",
        "pools": ["training", "inference"],
        "most": 2,
        "after": [done("cluster")],
    }
    return IsolationArgs(**{**known, **changes})


def monitoring_args(**changes: Any) -> MonitoringStackArgs:
    """Every container asks for amounts of its own."""
    names = [each.name for each in fields(Requests)]
    amounts = {name: Request(cpu_millicores=10 + index, memory_mib=100 + index) for index, name in enumerate(names)}
    known: dict[str, Any] = {
        "source": ChartSource(name="kube-prometheus-stack", version="1.2.3", repository="https://charts"),
        "namespace": "monitoring",
        "cluster": "lab",
        "storage_class": "volumes",
        "prometheus": Prometheus(retention_days=9, disk_gib=50, retention_size_gib=40, alerts_disk_gib=2, scrape_s=20),
        "requests": Requests(**amounts),
        "receivers": [],
        "secrets": {},
        "default_rules": {"disabled": {"TargetDown": True}},
        "control_plane": (),
        "counters": None,
        "after": done(),
    }
    return MonitoringStackArgs(**{**known, **changes})


SAMPLES: Mapping[str, Make] = {
    "monitors": of(
        Monitors,
        lambda: MonitorsArgs(
            targets=[
                Target(name="scheduler", namespace="gangs", labels={"app": "scheduler"}),
                Target(name="files", namespace="monitoring", machines=["10.0.0.1:9292", "10.0.0.2:9292"]),
            ],
            every_s=45,
            after=done(),
        ),
    ),
    "rules": of(
        Rules,
        lambda: RulesArgs(
            namespace="monitoring",
            recording=[{"name": "seen", "rules": [{"record": "gpucluster:node:seen", "expr": "up"}]}],
            alerts=[{"name": "told", "interval": "30s", "rules": [{"alert": "Gone", "expr": "up == 0"}]}],
            after=done(),
        ),
    ),
    "monitoring-stack": of(MonitoringStack, monitoring_args),
    "isolation": of(Isolation, isolation_args),
    "dashboards": of(Dashboards, lambda: DashboardsArgs(namespace="monitoring", boards=[BOARD])),
}
