"""Traefik as the gateway: it serves Gateways and HTTPRoutes, and its own middlewares for features that these lack.

Values of traefik-helm-chart 41.6, VALUES.md. What the Gateway API has no words for, a limit of requests, is a
Middleware of Traefik's, to which a route's filter refers (Traefik documentation, Kubernetes Gateway API, extension
reference). Timeouts of answers are Traefik's defaults, none: a long prompt is read before the first token comes, and a
stream lasts as long as it lasts (respondingTimeouts.writeTimeout and forwardingTimeouts.responseHeaderTimeout are 0).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from components.serving.autoscaler import Scaling, values
from components.serving.entry import Entry

CLASS = "traefik"
PLAIN_PORT, TLS_PORT, METRICS_PORT = 8000, 8443, 9100
"""Of the pods: Traefik finds the entry point of a listener by its port."""

PLAIN_ENTRY, TLS_ENTRY = "web", "websecure"
"""What the chart calls the entry points of these ports."""

LABELS = {"app.kubernetes.io/name": "traefik"}
READ_SECONDS = 300
"""For a whole request with its body, which may hold pictures: Traefik's own 60 s cut a slow line's."""


@dataclass(frozen=True, kw_only=True)
class TraefikArgs:
    """`replicas` pods, or as many as `scaling` says, published as `entry` says to `callers`. A pod that stops takes
    requests for `leave_seconds`, until all have heard of it, and goes on with its streams for `drain_seconds`.
    With `counts_routes` its metrics tell routes apart: those of services are counted at servers, of which there may be
    none.
    """

    entry: Entry
    callers: tuple[str, ...]
    replicas: int
    cpu_millicores: int
    memory_mib: int
    leave_seconds: int
    drain_seconds: int
    scaling: Scaling | None = None
    counts_routes: bool = False


def traefik_values(args: TraefikArgs) -> dict[str, Any]:
    """Values of the `traefik` chart."""
    off = {"enabled": False}
    amounts = {"cpu": f"{args.cpu_millicores}m", "memory": f"{args.memory_mib}Mi"}
    return {
        "providers": {
            "kubernetesGateway": {"enabled": True},
            # Middlewares of its own. No name of one namespace can be that of another.
            "kubernetesCRD": {"enabled": True, "allowCrossNamespace": False, "safeNaming": True},
            "kubernetesIngress": off,
        },
        "gateway": off,
        "gatewayClass": {"enabled": True, "name": CLASS},
        "ingressClass": off,
        "api": {"dashboard": False},
        "global": {"checkNewVersion": False, "sendAnonymousUsage": False},
        "deployment": {
            "replicas": args.replicas,
            "terminationGracePeriodSeconds": args.leave_seconds + args.drain_seconds + 5,
        },
        **({"autoscaling": values(args.scaling)} if args.scaling else {}),
        "podDisruptionBudget": {"enabled": True, "maxUnavailable": 1},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": LABELS},
            }
        ],
        "resources": {"requests": amounts, "limits": {"memory": amounts["memory"]}},
        "ports": {PLAIN_ENTRY: _entry_point(args), TLS_ENTRY: _entry_point(args)},
        "service": {"annotations": dict(args.entry.annotations), "spec": _published(args)},
        "metrics": {
            "prometheus": {
                **({"addRoutersLabels": True} if args.counts_routes else {}),
                "service": {"enabled": True},
                "serviceMonitor": {"enabled": True},
                # The kind is there when the release is; a first preview, which renders it, comes before.
                "disableAPICheck": True,
            }
        },
    }


def _entry_point(args: TraefikArgs) -> Mapping[str, Any]:
    return {
        "transport": {
            "respondingTimeouts": {"readTimeout": f"{READ_SECONDS}s"},
            "lifeCycle": {
                "requestAcceptGraceTimeout": f"{args.leave_seconds}s",
                "graceTimeOut": f"{args.drain_seconds}s",
            },
        }
    }


def _published(args: TraefikArgs) -> dict[str, pulumi.Input[Any]]:
    named = {"loadBalancerClass": args.entry.load_balancer_class} if args.entry.load_balancer_class else {}
    return {"type": "LoadBalancer", "loadBalancerSourceRanges": list(args.callers), **named}
