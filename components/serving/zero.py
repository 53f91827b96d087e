"""Replicas that go to zero: a ScaledObject of KEDA's, in the place of a HorizontalPodAutoscaler (Q08, X12, IN06).

KEDA makes an HPA of it, which goes from one replica to the most and back; KEDA itself takes away the last replica when
no trigger has been active for the idle time, and brings back the first. Triggers are what vLLM's pods have waiting and
cached, as for an HPA, and whether anybody asks: a request at the gateway in the last minutes, one that runs or waits,
or a pod of the namespace that carries `wakes` (a smoke request, which does not come through the gateway).

A query that finds nothing where there must be something is an error and no zero: KEDA then leaves the replicas as they
are (the executor changes nothing while a trigger fails and `fallback.replicas` is not 0; the HPA gets a number for as
many as there are, after `failureThreshold` failures). So without Prometheus nothing is taken away, and what is at zero
stays there. Sources: KEDA v2.20.2, pkg/scaling/executor/scale_scaledobjects.go, pkg/fallback/fallback.go,
pkg/scalers/prometheus_scaler.go (ignoreNullValues) and kubernetes_workload_scaler.go; apis/keda/v1alpha1.
"""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components._base import Component
from components.platform.awaited import awaited
from components.serving.autoscaler import one_each_way

WAKES_KEY = "gpucluster/wakes"
"""Label of pods for whose sake a service of the same namespace has a replica; its value is the service's name."""

FAILURES = 3
"""Of a trigger in a row, before KEDA tells the HPA of as many replicas as there are."""


@dataclass(frozen=True, kw_only=True)
class Zero:
    """From none to `most` replicas by so many requests that wait and so much of the cache in use for each, one more or
    less at a time as an HPA's windows say; the last one goes after `idle_seconds`.

    KEDA asks `prometheus`, an address, every `ask_seconds`. `router` is a regular expression for the gateway's routers
    to the service, whose requests Prometheus reads every `scrape_seconds`. `ready` is what looks after ScaledObjects.
    """

    most: int
    waiting: int
    cache_percent: int
    up_seconds: int
    down_seconds: int
    idle_seconds: int
    ask_seconds: int
    prometheus: str
    router: str
    scrape_seconds: int
    ready: pulumi.Resource


def arrivals(router: str, scrape_seconds: int) -> str:
    """How many series of the gateway's counters have grown in the time of four scrapes, or are new since: a counter
    begins at its first request, of which `increase` sees nothing. Nothing where Prometheus reads no gateway.

    Traefik counts with a router's name when it has answered, 503 without a server too, and not with the service's,
    since it counts these at the servers (v3.7.13, pkg/middlewares/metrics and pkg/server/service/service.go).
    """
    counted, window = f'traefik_router_requests_total{{router=~"{router}"}}', f"{4 * scrape_seconds}s"
    grown = f"count(increase({counted}[{window}]) > 0 or ({counted} unless {counted} offset {window}))"
    return f'({grown} or vector(0)) and on () (count(up{{namespace="gateway"}} == 1) > 0)'


def of_pods(series: str, service: str, namespace: str) -> str:
    """What a service's pods report, together; 0 where none is ready, nothing where one is and reports nothing."""
    named = f'namespace="{namespace}",service="{service}"'
    ready = f'kube_deployment_status_replicas_ready{{namespace="{namespace}",deployment="{service}"}}'
    return f"sum({series}{{{named}}}) or (sum({ready}) == 0)"


def triggers(zero: Zero, service: str, namespace: str) -> list[dict[str, Any]]:
    """What replicas follow. All metadata of triggers are texts (apis/keda/v1alpha1, ScaleTriggers)."""
    running = of_pods("vllm:num_requests_running", service, namespace)
    waiting = of_pods("vllm:num_requests_waiting", service, namespace)
    cache = of_pods("vllm:kv_cache_usage_perc", service, namespace)
    asked = f"({arrivals(zero.router, zero.scrape_seconds)}) + ({running}) + ({waiting})"
    return [
        # 1 while anybody asks, for one replica.
        _prometheus("asked", zero, f"clamp_max({asked}, 1)", "1", "0"),
        _prometheus("waiting", zero, waiting, str(zero.waiting), "0"),
        # A cache in use does not wake what its requests keep awake.
        _prometheus("cache", zero, cache, f"{zero.cache_percent / 100:g}", str(zero.most)),
        {
            "type": "kubernetes-workload",
            "name": "wakes",
            "metadata": {"podSelector": f"{WAKES_KEY}={service}", "value": "1"},
        },
    ]


def _prometheus(name: str, zero: Zero, query: str, threshold: str, activation: str) -> dict[str, Any]:
    return {
        "type": "prometheus",
        "name": name,
        "metadata": {
            "serverAddress": zero.prometheus,
            "query": query,
            "threshold": threshold,
            "activationThreshold": activation,
            "ignoreNullValues": "false",
        },
    }


def scaled_to_zero(
    owner: Component,
    zero: Zero,
    *,
    namespace: pulumi.Input[str],
    metadata: k8s.meta.v1.ObjectMetaArgs,
    service: str,
    target: k8s.apps.v1.Deployment,
) -> k8s.apiextensions.CustomResource:
    """The ScaledObject of a Deployment: done when KEDA has made its HPA."""
    behaviour = one_each_way(zero.up_seconds, zero.down_seconds)
    return k8s.apiextensions.CustomResource(
        owner.named("scaled-object"),
        api_version="keda.sh/v1alpha1",
        kind="ScaledObject",
        metadata=k8s.meta.v1.ObjectMetaArgs(
            name=metadata.name,
            namespace=metadata.namespace,
            labels=metadata.labels,
            annotations=awaited("ScaledObject"),
        ),
        spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target.metadata.name},
            "minReplicaCount": 0,
            "maxReplicaCount": zero.most,
            "pollingInterval": zero.ask_seconds,
            "cooldownPeriod": zero.idle_seconds,
            # Without it the first replica goes before anybody has asked it (scale_scaledobjects.go, LastActiveTime).
            "initialCooldownPeriod": zero.idle_seconds,
            "fallback": {"failureThreshold": FAILURES, "replicas": 1, "behavior": "currentReplicas"},
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": behaviour}},
            "triggers": pulumi.Output.from_input(namespace).apply(lambda there: triggers(zero, service, there)),
        },
        opts=owner.child(depends_on=[zero.ready]),
    )
