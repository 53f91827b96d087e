"""Rules about series that rules, adapters and collectors count on: who exports them, and where their words lead."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from policy.gangs import spec_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.monitors import STACK
from policy.owners import IN_CHARTS, chart_of, value_at
from policy.rule import Finding, rule

SERIES: tuple[tuple[str, re.Pattern[str], tuple[tuple[str, str], ...]], ...] = (
    (
        "node-exporter",
        re.compile(r"\bnode_[a-z]+_\w+"),
        ((STACK, "nodeExporter.enabled"), ("prometheus-node-exporter", "")),
    ),
    (
        "kube-state-metrics",
        re.compile(r"\bkube_[a-z]+_\w+"),
        ((STACK, "kubeStateMetrics.enabled"), ("kube-state-metrics", "")),
    ),
    (
        "the DCGM exporter",
        re.compile(r"\bDCGM_FI_\w+"),
        (("gpu-operator", "dcgmExporter.enabled"), ("dcgm-exporter", "")),
    ),
)
"""(exporter, its series, charts that bring it, each with the value by which it is switched off)."""

_GROUP = re.compile(r"^\s*log_group_name\s+(\S+)", re.MULTILINE)


def _releases(graph: Graph, chart: str) -> list[Resource]:
    return [each for each in graph.of_type(*IN_CHARTS) if chart_of(each) == chart]


@rule(
    source="values.yaml of kube-prometheus-stack (nodeExporter, kubeStateMetrics) and gpu-operator (dcgmExporter); "
    "Prometheus: an expression over a series that there is not gives nothing, so its alert never fires",
    remedy="leave the exporter on (nodeExporter, kubeStateMetrics, dcgmExporter.enabled and its serviceMonitor)",
)
def alerts_have_their_series(graph: Graph) -> Iterator[Finding]:
    """What alerts look at is exported: a rule over series that nobody has is silent for ever (X12)."""
    texts = {each.name: str(spec_of(each)) for each in graph.of_type("PrometheusRule")}
    for exporter, series, charts in SERIES if graph.of_type("Release") else ():
        found = [(each, path) for chart, path in charts for each in _releases(graph, chart)]
        lit = [each for each, path in found if not path or value_at(each.inputs.get("values"), path) is not False]
        named = next(((name, seen[0]) for name, text in texts.items() if (seen := series.search(text))), None)
        if named and found and not lit:
            yield named[0], f"looks at {named[1]}, and {exporter} is switched off in {found[0][0].name}"
        for each in lit:
            monitor = value_at(each.inputs.get("values"), "dcgmExporter.serviceMonitor.enabled")
            if named and exporter == "the DCGM exporter" and chart_of(each) == "gpu-operator" and monitor is False:
                yield named[0], f"looks at {named[1]}, and {each.name} has no ServiceMonitor for it"


@rule(
    source="prometheus-adapter: docs/config.md (name.matches is matched with the name of the series); chart "
    "kube-prometheus-stack, templates/_helpers.tpl (fullname) and prometheus/service.yaml",
    remedy="name.matches: ^NAME$ of the series that seriesQuery names; prometheus.url: the Service of Prometheus",
)
def adapters_find_their_series(graph: Graph) -> Iterator[Finding]:
    """An adapter asks the Prometheus that there is, and its rules match the series that they look for (P17)."""
    stacks = {(each.inputs.get("namespace"), f"{_fullname(each)}-prometheus") for each in _releases(graph, STACK)}
    for each in _releases(graph, "prometheus-adapter"):
        url = urlsplit(str(value_at(each.inputs.get("values"), "prometheus.url") or ""))
        name, _, rest = (url.hostname or "").partition(".")
        place = rest.partition(".")[0]
        if stacks and name and place and UNKNOWN not in url.netloc and (place, name) not in stacks:
            yield each.name, f"asks {url.hostname}, where no Prometheus is; there is {_names(stacks)}"
        port = value_at(each.inputs.get("values"), "prometheus.port")
        if (place, name) in stacks and port not in (None, 9090):
            yield each.name, f"asks Prometheus at the port {port}; its Service has 9090"
        for one in value_at(each.inputs.get("values"), "rules.custom") or []:
            series = re.match(r"[a-zA-Z_:][\w:]*", str(one.get("seriesQuery") or ""))
            wanted = (one.get("name") or {}).get("matches")
            if series and wanted and not re.search(str(wanted), series[0]):
                yield each.name, f"looks for {series[0]} by the rule {wanted}, which it does not match: it serves none"


def _names(stacks: set[tuple[object, str]]) -> str:
    return ", ".join(f"{name}.{place}" for place, name in sorted(stacks, key=str))


def _fullname(release: Resource) -> str:
    """The name of what the chart makes, as its templates shorten it."""
    values: Mapping[str, object] = release.inputs.get("values") or {}
    name = str(release.inputs.get("name") or "")
    if given := values.get("fullnameOverride"):
        return str(given)[:26].rstrip("-")
    return (name if STACK in name else f"{name}-{STACK}")[:26].rstrip("-")


@rule(
    source="Fluent Bit: https://docs.fluentbit.io/manual/data-pipeline/outputs/cloudwatch (auto_create_group is Off: "
    "an output whose group is not there drops what it has after its retries)",
    remedy="let log_group_name be the name of a registered log group",
)
def logs_have_their_group(graph: Graph) -> Iterator[Finding]:
    """The log group that a collector writes to is registered."""
    there = {str(each.inputs.get("name")) for each in graph.of_type("aws:cloudwatch/logGroup:LogGroup")}
    for each in _releases(graph, "fluent-bit") if there and UNKNOWN not in there else ():
        text = str(value_at(each.inputs.get("values"), "config.outputs") or "")
        if re.search(r"auto_create_group\s+(?i:on|true)", text) or UNKNOWN in text:
            continue
        for group in sorted({*_GROUP.findall(text)} - there):
            yield each.name, f"writes to the log group {group}, which nothing creates: what pods say is lost"
