"""How model servers are reached: inside the cluster, or through the platform's load balancers (Y11)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class Entry:
    """How a service is published: by load balancers of a class, with annotations for it. Without a class it answers
    inside the cluster only.
    """

    load_balancer_class: str | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)


def published(
    owner: Component,
    entry: Entry,
    *,
    name: str,
    namespace: pulumi.Input[str],
    labels: Mapping[str, str],
    port: int,
    after: pulumi.Resource,
) -> k8s.core.v1.Service:
    """The Service waits for endpoints: before what serves, `after`, it would hold a slot of the engine for nothing."""
    return k8s.core.v1.Service(
        owner.named("service"),
        k8s.core.v1.ServiceInitArgs(
            metadata=k8s.meta.v1.ObjectMetaArgs(
                name=name, namespace=namespace, labels=labels, annotations=dict(entry.annotations) or None
            ),
            spec=k8s.core.v1.ServiceSpecArgs(
                type="LoadBalancer" if entry.load_balancer_class else "ClusterIP",
                load_balancer_class=entry.load_balancer_class,
                selector=labels,
                ports=[k8s.core.v1.ServicePortArgs(name="http", port=port, target_port="http")],
            ),
        ),
        owner.child(depends_on=[after]),
    )
