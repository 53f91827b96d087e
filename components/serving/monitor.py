"""What has Prometheus scrape a model server."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.serving.tokens import SecretKey

SCRAPE_SECONDS = 15
"""How often Prometheus reads a server's metrics."""


def service_monitor(
    owner: Component,
    *,
    metadata: k8s.meta.v1.ObjectMetaArgs,
    labels: Mapping[str, str],
    port: str,
    after: Sequence[pulumi.Resource],
    key: SecretKey | None = None,
) -> k8s.apiextensions.CustomResource:
    """The monitor of Services with `labels`, which give their metrics at /metrics of the port called so (Q06).

    Where that asks for a key, Prometheus sends `key`, which it has from a Secret of the same namespace.
    """
    endpoint: dict[str, Any] = {"port": port, "path": "/metrics", "interval": f"{SCRAPE_SECONDS}s"}
    if key is not None:
        endpoint["authorization"] = {"type": "Bearer", "credentials": {"name": key.name, "key": key.key}}
    return k8s.apiextensions.CustomResource(
        owner.named("monitor"),
        api_version="monitoring.coreos.com/v1",
        kind="ServiceMonitor",
        metadata=metadata,
        spec={
            "selector": {"matchLabels": dict(labels)},
            "endpoints": [endpoint],
        },
        opts=owner.child(depends_on=list(after)),
    )
