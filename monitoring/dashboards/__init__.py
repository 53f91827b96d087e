"""Grafana dashboards as Python: data in, JSON out, free of pulumi (X08, AB09)."""

from monitoring.dashboards.cluster import cluster
from monitoring.dashboards.cost import cost
from monitoring.dashboards.energy import energy
from monitoring.dashboards.fabric import fabric
from monitoring.dashboards.model import Dashboard
from monitoring.dashboards.pool import pool
from monitoring.dashboards.references import References
from monitoring.dashboards.run import run
from monitoring.dashboards.serving import serving
from monitoring.dashboards.storage import storage

__all__ = ["ALL", "Dashboard", "References", "dashboards"]

ALL = (cluster, pool, run, serving, fabric, storage, cost, energy)
"""The dashboards, each made of what was planned."""


def dashboards(plan: References) -> tuple[Dashboard, ...]:
    """All of them, for a stack."""
    return tuple(make(plan) for make in ALL)
