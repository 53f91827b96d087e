"""How model servers are reached: by pods of the cluster at a Service, by others through the gateway (Y11)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What the platform publishes a gateway by: load balancers of a class, None for its only one, with annotations."""

    load_balancer_class: str | None = None
    annotations: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)


def published(
    owner: Component,
    *,
    name: str,
    namespace: pulumi.Input[str],
    labels: Mapping[str, str],
    port: int,
    after: pulumi.Resource,
    awaited: bool = True,
) -> k8s.core.v1.Service:
    """The Service waits for endpoints: before what serves, `after`, it would hold a slot of the engine for nothing.
    One whose pods may all be gone is not `awaited`: a change of it would wait for a caller.
    """
    annotations = None if awaited else {"pulumi.com/skipAwait": "true"}
    return k8s.core.v1.Service(
        owner.named("service"),
        metadata=k8s.meta.v1.ObjectMetaArgs(name=name, namespace=namespace, labels=labels, annotations=annotations),
        spec=k8s.core.v1.ServiceSpecArgs(
            type="ClusterIP",
            selector=labels,
            ports=[k8s.core.v1.ServicePortArgs(name="http", port=port, target_port="http")],
        ),
        opts=owner.child(depends_on=[after]),
    )
