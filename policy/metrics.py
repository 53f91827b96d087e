"""Rules about the APIs that autoscalers read: who serves custom, external and resource metrics."""

from collections.abc import Iterator, Mapping

from policy.gangs import spec_of
from policy.graph import Graph, Resource
from policy.owners import IN_CHARTS, chart_of, value_at
from policy.pods import is_kubernetes
from policy.rule import Finding, rule

CUSTOM, EXTERNAL, USAGE = "custom.metrics.k8s.io", "external.metrics.k8s.io", "metrics.k8s.io"

CLAIMS: Mapping[str, Mapping[str, Mapping[str, bool]]] = {
    "prometheus-adapter": {
        CUSTOM: {"rules.default": True, "rules.custom": False},
        EXTERNAL: {"rules.external": False},
        USAGE: {"rules.resource": False},
    },
    "keda": {EXTERNAL: {"metricsServer.enabled": True}},
    "k8s-cloudwatch-adapter": {EXTERNAL: {"": True}},
    "kube-metrics-adapter": {CUSTOM: {"": True}, EXTERNAL: {"": True}},
    "datadog": {EXTERNAL: {"clusterAgent.metricsProvider.enabled": False}},
    "metrics-server": {USAGE: {"apiService.create": True}},
}
"""By chart and API group: the values of which one is enough to claim the group, and whether the chart has it set."""


def claimed(each: Resource) -> Iterator[str]:
    """The groups of metrics that a release or an APIService serves for the whole cluster."""
    if each.kind == "APIService" and is_kubernetes(each):
        group = str(spec_of(each).get("group"))
        if group in (CUSTOM, EXTERNAL, USAGE):
            yield group
    if each.kind not in IN_CHARTS:
        return
    for group, switches in CLAIMS.get(chart_of(each), {}).items():
        given = {path: value_at(each.inputs.get("values"), path) if path else None for path in switches}
        if any(usual if given[path] is None else given[path] for path, usual in switches.items()):
            yield group


@rule(
    source="Kubernetes: aggregation layer (an APIService names one Service); charts prometheus-adapter, "
    "templates/external-metrics-apiservice.yaml, and keda: both would own v1beta1.external.metrics.k8s.io",
    remedy="let one serve each group: prometheus-adapter with rules.custom alone and rules.default: false beside KEDA, "
    "metrics-server for metrics.k8s.io",
)
def one_owner_per_metrics_api(graph: Graph) -> Iterator[Finding]:
    """Each metrics API that autoscalers use (custom, external, resource) has exactly one server (X12)."""
    seen: dict[str, str] = {}
    for each in graph.resources.values():
        for group in claimed(each):
            if group in seen:
                yield each.name, f"serves {group}, which {seen[group]} serves already"
            seen.setdefault(group, each.name)
