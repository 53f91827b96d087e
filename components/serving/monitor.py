"""What has Prometheus scrape a model server."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component

SCRAPE_SECONDS = 15
"""How often Prometheus reads a server's metrics."""


def service_monitor(
    owner: Component,
    *,
    metadata: k8s.meta.v1.ObjectMetaArgs,
    labels: Mapping[str, str],
    port: str,
    after: Sequence[pulumi.Resource],
) -> k8s.apiextensions.CustomResource:
    """The monitor of Services with `labels`, which give their metrics at /metrics of the port called so (Q06)."""
    return k8s.apiextensions.CustomResource(
        owner.named("monitor"),
        api_version="monitoring.coreos.com/v1",
        kind="ServiceMonitor",
        metadata=metadata,
        spec={
            "selector": {"matchLabels": dict(labels)},
            "endpoints": [{"port": port, "path": "/metrics", "interval": f"{SCRAPE_SECONDS}s"}],
        },
        opts=owner.child(depends_on=list(after)),
    )
