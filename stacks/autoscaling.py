"""What services scale by, where any does: who serves the metrics, and who takes the last replica away (X12, LF06)."""

import pulumi

from catalogue import versions
from components.monitoring.adapter import adapter_values
from components.platform.charts import Chart, ChartArgs
from components.serving.keda import keda_values
from components.serving.monitor import SCRAPE_SECONDS
from planner.monitoring.room import KEDA_REQUEST
from planner.types import Plan
from stacks.charts import chart_source
from stacks.namespaces import KEDA
from stacks.platform import Platform
from stacks.services import Services

PROMETHEUS = "http://kube-prometheus-stack-prometheus.monitoring.svc:9090"
"""Where the chart kube-prometheus-stack serves Prometheus."""


def deploy_autoscaling(plan: Plan, platform: Platform, services: Services) -> pulumi.Resource | None:
    """Register, only with monitoring, the adapter between Prometheus and HPAs if replicas are to change, and KEDA if
    they may go to zero. Returns what looks after ScaledObjects.
    """
    inside = pulumi.ResourceOptions(parent=platform.layer, providers=[platform.cluster.provider])
    if plan.adapted:
        _adapter(plan, platform, services, inside)
    return _keda(plan, platform, services, inside) if plan.to_zero else None


def _adapter(plan: Plan, platform: Platform, services: Services, inside: pulumi.ResourceOptions) -> None:
    Chart(
        "metrics-adapter",
        ChartArgs(
            source=chart_source(versions.PROMETHEUS_ADAPTER, plan.supply),
            namespace=services.namespaces["monitoring"],
            values=adapter_values(PROMETHEUS, SCRAPE_SECONDS),
            after=[platform.cluster.ready, services.monitors],
        ),
        inside,
    )


def _keda(plan: Plan, platform: Platform, services: Services, inside: pulumi.ResourceOptions) -> pulumi.Resource:
    """After cert-manager, whose certificate its pods wait for."""
    cpu, memory = KEDA_REQUEST
    chart = ChartArgs(
        source=chart_source(versions.KEDA, plan.supply),
        namespace=services.namespaces[KEDA],
        values=keda_values(services.namespaces["inference"], cpu_millicores=cpu, memory_mib=memory),
        after=[
            platform.cluster.ready,
            services.monitors,
            *([services.certificates] if services.certificates else []),
        ],
    )
    return Chart("keda", chart, inside).release
