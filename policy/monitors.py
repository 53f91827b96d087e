"""Rules about monitoring that is silently absent: what Prometheus does not read, does not find or does not keep."""

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from policy.gangs import metadata_of, namespace_of, quantity, spec_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.metrics import CUSTOM, claimed
from policy.owners import IN_CHARTS, chart_of, value_at
from policy.pods import is_kubernetes
from policy.rule import Finding, rule
from policy.selectors import holds_all, makes_unseen, selected, selects
from policy.words import seconds

STACK = "kube-prometheus-stack"
SPEC = "prometheus.prometheusSpec"
READ = {
    "ServiceMonitor": "serviceMonitorSelector",
    "PodMonitor": "podMonitorSelector",
    "PrometheusRule": "ruleSelector",
    "Probe": "probeSelector",
    "ScrapeConfig": "scrapeConfigSelector",
}
"""By kind: the selector of those that Prometheus reads."""

DASHBOARD = "grafana_dashboard"
"""The label by which Grafana's sidecar finds its dashboards (chart grafana, values.yaml: sidecar.dashboards.label)."""

_DURATION = re.compile(r"0|(?=\d)(?:\d+y)?(?:\d+w)?(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?(?:\d+ms)?")
_STRINGS = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|#[^\n]*""")
_PAIR = re.compile(r"\([^()\[\]{}]*\)|\[[^()\[\]{}]*\]|\{[^()\[\]{}]*\}")

MOST_OF_DISK = Decimal("0.85")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTPE]?)i?B")


@rule(
    source="Prometheus operator: PodMonitor, podMetricsEndpoints.port is the name of a container's port; "
    "https://prometheus-operator.dev/docs/api-reference/api/",
    remedy="let the monitor select the labels of the pods, and name a port that their container declares",
)
def pod_monitors_find_their_pods(graph: Graph) -> Iterator[Finding]:
    """A PodMonitor selects existing pods, and names one of their ports (Q06)."""
    for each in graph.of_type("PodMonitor"):
        spec = spec_of(each)
        given = spec.get("namespaceSelector") or {}
        places = given.get("matchNames") or [namespace_of(each)]
        if given.get("any") or any(makes_unseen(graph, place) for place in places):
            continue
        found = [pod for place in places for pod in selected(graph, place, spec.get("selector") or {})]
        if not found and all(holds_all(graph, place) for place in places):
            yield each.name, f"selects no pod in {', '.join(places)}"
        names = {port.get("name") for pod in found for one in pod.containers for port in one.get("ports") or []}
        for endpoint in spec.get("podMetricsEndpoints") or [] if found else ():
            if endpoint.get("port") and endpoint["port"] not in names:
                shown = ", ".join(sorted(str(one) for one in names)) or "none"
                yield each.name, f"asks for the port {endpoint['port']}; its pods have {shown}"


@rule(
    source="chart kube-prometheus-stack, values.yaml: ruleSelectorNilUsesHelmValues and its like are true by default: "
    "only objects with the label release are read; prometheus-operator issue 5917",
    remedy="set prometheusSpec.ruleSelectorNilUsesHelmValues and its four like to false, or label the objects release: "
    "NAME",
)
def monitors_and_rules_are_read(graph: Graph) -> Iterator[Finding]:
    """Prometheus reads the rules and monitors that the program registers: what it does not select never fires."""
    stacks = [
        each
        for each in graph.of_type(*IN_CHARTS)
        if chart_of(each) == STACK and value_at(each.inputs.get("values"), "prometheus.enabled") is not False
    ]
    for kind, selector in READ.items():
        for each in graph.of_type(kind) if stacks else ():
            labels = metadata_of(each).get("labels") or {}
            if is_kubernetes(each) and not any(selects(_selector(stack.inputs, selector), labels) for stack in stacks):
                yield each.name, f"is not read by {stacks[0].name}, whose {selector} its labels do not meet"


def _selector(release: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A selector of the chart's Prometheus, as its values make it."""
    spec = value_at(release.get("values"), SPEC) or {}
    if given := spec.get(name):
        return dict(given)
    if spec.get(f"{name}NilUsesHelmValues", True) is False:
        return {}
    return {"matchLabels": {"release": release.get("name")}}


@rule(
    source="Prometheus: https://prometheus.io/docs/prometheus/latest/storage/#right-sizing-retention-size: at most "
    "80 to 85 % of the disk, or it is full before anything is deleted",
    remedy="lower retentionSize, or ask for a larger volume in storageSpec",
)
def metrics_fit_their_disk(graph: Graph) -> Iterator[Finding]:
    """Prometheus deletes old metrics before its volume is full."""
    for each in graph.of_type(*IN_CHARTS):
        spec = (value_at(each.inputs.get("values"), SPEC) or {}) if chart_of(each) == STACK else {}
        kept, disk = _bytes(spec.get("retentionSize")), quantity(_asked(spec))
        if kept and disk and kept > disk * MOST_OF_DISK:
            yield each.name, f"keeps up to {spec['retentionSize']} of metrics on a volume of {_asked(spec)}"


def _asked(spec: Any) -> Any:
    return value_at(spec, "storageSpec.volumeClaimTemplate.spec.resources.requests.storage")


def _bytes(size: Any) -> Decimal | None:
    """A size as Prometheus writes it, whose units are powers of 1024; None where it is none, or not known yet."""
    found = _SIZE.fullmatch(str(size)) if size != UNKNOWN else None
    return Decimal(found[1]) * Decimal(1024) ** " KMGTPE".index(found[2] or " ") if found else None


def _known(graph: Graph) -> set[str] | None:
    """Names of the custom metrics that prometheus-adapter serves; None where something else may serve others."""
    names: set[str] = set()
    serving = [each for each in graph.resources.values() if CUSTOM in claimed(each)]
    for each in serving:
        rules = value_at(each.inputs.get("values"), "rules") if chart_of(each) == "prometheus-adapter" else None
        listed = [(one.get("name") or {}).get("as") for one in (rules or {}).get("custom") or []]
        if not rules or rules.get("default") is not False or not all(listed) or "$" in str(listed):
            return None
        names |= {str(one) for one in listed}
    return names if serving else None


@rule(
    source="prometheus-adapter: https://github.com/kubernetes-sigs/prometheus-adapter/blob/master/docs/config.md "
    "(name.as); issues 150 and 390: the autoscaler says FailedGetPodsMetric and stays at its minimum",
    remedy="ask for the metric by the name that a rule of the adapter gives it (rules.custom[].name.as)",
)
def adapters_know_the_metric(graph: Graph) -> Iterator[Finding]:
    """An autoscaler's metric has the name that the adapter serves it under, not that of the series (P17)."""
    known = _known(graph)
    for each in graph.of_type("HorizontalPodAutoscaler") if known is not None else ():
        if metadata_of(each).get("name") in graph.fed_autoscalers:
            continue
        for metric in spec_of(each).get("metrics") or []:
            source = metric.get({"Pods": "pods", "Object": "object"}.get(str(metric.get("type")), "")) or {}
            name = (source.get("metric") or {}).get("name")
            if name and name not in (*(known or ()), UNKNOWN):
                yield each.name, f"asks for the metric {name}; the adapter serves {', '.join(sorted(known or ()))}"


@rule(
    source="Prometheus operator: a monitor whose scrapeTimeout is longer than its interval is rejected; Alertmanager: "
    "https://prometheus.io/docs/alerting/latest/configuration/ (undefined receiver used in route)",
    remedy="scrapeTimeout up to the interval; define the receiver that the route names; for: 5m; whole brackets, and "
    "dashboards of whole JSON",
)
def monitoring_is_accepted(graph: Graph) -> Iterator[Finding]:
    """Prometheus' operator, Alertmanager and Grafana take what they are given: what is rejected is silently absent."""
    for each in graph.of_type("ServiceMonitor", "PodMonitor"):
        for one in spec_of(each).get("endpoints") or spec_of(each).get("podMetricsEndpoints") or []:
            waits, every = seconds(one.get("scrapeTimeout")), seconds(one.get("interval"))
            if 0 < every < waits:
                yield (
                    each.name,
                    f"waits {one['scrapeTimeout']} for what it asks every {one['interval']}: it is rejected",
                )
    for each in graph.of_type("PrometheusRule"):
        groups = spec_of(each).get("groups") or []
        for one in [one for group in groups for one in group.get("rules") or []]:
            name = one.get("alert") or one.get("record")
            for key in ("for", "keep_firing_for"):
                if (text := str(one.get(key, "0s"))) != UNKNOWN and not _DURATION.fullmatch(text):
                    yield each.name, f"has {name} wait {text!r} ({key}), which is no duration: no rule of it is loaded"
            if not _closed(str(one.get("expr") or "")):
                yield each.name, f"has an expression in {name} whose brackets or quotes do not close: no rule is loaded"
    for each in graph.of_type("ConfigMap"):
        for name, text in (each.inputs.get("data") or {}).items() if DASHBOARD in _labels(each) else ():
            try:
                json.loads(str(text) if text != UNKNOWN else "{}")
            except ValueError:
                yield each.name, f"is a dashboard for Grafana, and {name} is no JSON: it is not shown"
    for each in graph.of_type(*IN_CHARTS):
        config = (value_at(each.inputs.get("values"), "alertmanager.config") or {}) if chart_of(each) == STACK else {}
        there = {one.get("name") for one in config.get("receivers") or []}
        if there and UNKNOWN not in str(config):
            for name in sorted(_receivers(config.get("route") or {}) - there):
                yield each.name, f"sends alerts to the receiver {name}, which is not defined: nobody is told of any"


def _labels(each: Resource) -> Mapping[str, Any]:
    return metadata_of(each).get("labels") or {}


def _closed(text: str) -> bool:
    """Whether the brackets of an expression close each other in their order, outside of strings and comments."""
    bare = _STRINGS.sub("", text)
    while (shorter := _PAIR.sub("", bare)) != bare:
        bare = shorter
    return not re.search(r"[()\[\]{}\"'`]", bare)


def _receivers(route: Mapping[str, Any]) -> set[str]:
    own = {str(route["receiver"])} if route.get("receiver") else set()
    return own.union(*(_receivers(each) for each in route.get("routes") or []))
