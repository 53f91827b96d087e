"""What serves the metrics that services scale by, where any does (X12, LF06)."""

import pulumi

from catalogue import versions
from components.monitoring.adapter import adapter_values
from components.platform.charts import Chart, ChartArgs
from components.serving.monitor import SCRAPE_SECONDS
from planner.types import Plan
from stacks.charts import chart_source
from stacks.platform import Platform
from stacks.services import Services

PROMETHEUS = "http://kube-prometheus-stack-prometheus.monitoring.svc:9090"
"""Where the chart kube-prometheus-stack serves Prometheus."""


def deploy_autoscaling(plan: Plan, platform: Platform, services: Services) -> None:
    """Register the adapter between Prometheus and HPAs: only with monitoring, and only if replicas are to change."""
    if plan.monitoring is None or not any(service.scaling for service in plan.services.values()):
        return
    Chart(
        "metrics-adapter",
        ChartArgs(
            source=chart_source(versions.PROMETHEUS_ADAPTER, plan.supply),
            namespace=services.namespaces["monitoring"],
            values=adapter_values(PROMETHEUS, SCRAPE_SECONDS),
            after=[platform.cluster.ready, services.monitors],
        ),
        pulumi.ResourceOptions(parent=platform.layer, providers=[platform.cluster.provider]),
    )
