"""The stack's dashboards, with what its plan expects drawn in."""

import pulumi

from components.monitoring.dashboards import Dashboards, DashboardsArgs
from monitoring.dashboards import dashboards
from planner.references import references
from planner.types import Plan

FIRST = "gpucluster-cluster"
"""The dashboard to begin with."""


def deploy_dashboards(plan: Plan, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions) -> None:
    """Register them where Grafana's sidecar looks. They are only read, so that they need not wait for Grafana."""
    Dashboards("dashboards", DashboardsArgs(namespace=namespace, boards=dashboards(references(plan))), opts)
