"""kube-prometheus-stack: what its inventory leaves out, and switches. The custom resources carry most values.

The operator makes Prometheus and Alertmanager from their resources, and what Prometheus scrapes from the monitors: so
Services have the labels that monitors select, and monitors say in which namespace and by which label jobs are called.
What a rule computes is not in the inventory: alerts never fire and recording rules record nothing, but for Watchdog.
Source: prometheus-community/helm-charts, charts/kube-prometheus-stack/templates at 88.5.3.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rehearsal.charts.chart import Object, Order
from rehearsal.charts.played import kube_prometheus_stack_images as images
from rehearsal.charts.played import kube_prometheus_stack_parts as parts
from rehearsal.charts.played.switches import Effect, On, Rules, Switch, named, only_if, put, scheduling

NAME = "kube-prometheus-stack"
FULL = f"<<fullname {NAME}>>"
PROMETHEUS, ALERTMANAGER = On("Prometheus"), On("Alertmanager")
OPERATOR = On("Deployment", f"{FULL}-operator")
MONITORS = On("ServiceMonitor")
_HOOKS = On("ServiceAccount ClusterRole ClusterRoleBinding Role RoleBinding Job", f"{FULL}-admission*")
_CONFIG = On("Secret", "alertmanager-*")

_JOB_LABELS = {
    "apiserver": ("component", None),
    "coredns": ("jobLabel", "coredns"),
    "kube-controller-manager": ("jobLabel", "kube-controller-manager"),
    "kube-etcd": ("jobLabel", "kube-etcd"),
    "kube-proxy": ("jobLabel", "kube-proxy"),
    "kube-scheduler": ("jobLabel", "kube-scheduler"),
    "kubelet": ("k8s-app", None),
}
"""Of the monitors of Kubernetes' own parts: the label of a Service that names the job, and its value in the chart's."""

_NAMESPACES = {"apiserver": "default"}

_OF_PROMETHEUS = (
    "additionalArgs", "affinity", "containers", "enableFeatures", "evaluationInterval", "externalLabels",
    "externalUrl", "logLevel", "nodeSelector", "persistentVolumeClaimRetentionPolicy", "podMetadata",
    "priorityClassName", "query", "remoteWrite", "replicas", "resources", "retention", "retentionSize",
    "scrapeInterval", "scrapeTimeout", "secrets", "securityContext", "shards", "tolerations",
    "topologySpreadConstraints", "tsdb", "walCompression",
)  # fmt: skip
_OF_ALERTMANAGER = (
    "affinity", "alertmanagerConfigMatcherStrategy", "alertmanagerConfigSelector", "configSecret", "containers",
    "externalUrl", "logLevel", "nodeSelector", "persistentVolumeClaimRetentionPolicy", "podMetadata",
    "priorityClassName", "replicas", "resources", "retention", "secrets", "securityContext", "storage", "tolerations",
    "topologySpreadConstraints",
)  # fmt: skip
_SELECTORS = {
    "serviceMonitor": "serviceMonitorSelector",
    "podMonitor": "podMonitorSelector",
    "rule": "ruleSelector",
    "probe": "probeSelector",
    "scrapeConfig": "scrapeConfigSelector",
}
_RULES: Mapping[str, str] = {
    "alertmanager": "alertmanager.rules",
    "etcd": "etcd",
    "configReloaders": "config-reloaders",
    "general": "general.rules",
    "kubeControllerManager": "kubernetes-system-controller-manager",
    "kubelet": "kubelet.rules",
    "kubeProxy": "kubernetes-system-kube-proxy",
    "kubernetesApps": "kubernetes-apps",
    "kubernetesResources": "kubernetes-resources",
    "kubernetesStorage": "kubernetes-storage",
    "kubeSchedulerAlerting": "kubernetes-system-scheduler",
    "kubeSchedulerRecording": "kube-scheduler.rules",
    "kubeStateMetrics": "kube-state-metrics",
    "network": "node-network",
    "node": "node.rules",
    "nodeExporterAlerting": "node-exporter",
    "nodeExporterRecording": "node-exporter.rules",
    "prometheus": "prometheus",
    "prometheusOperator": "prometheus-operator",
}
"""Groups of rules by the value below `defaultRules.rules` that switches each off."""
_CONTROL_PLANE = {
    "kubeEtcd": ("kube-etcd", "etcd"),
    "kubeControllerManager": ("kube-controller-manager", "controller-manager"),
    "kubeScheduler": ("kube-scheduler", "scheduler"),
    "kubeProxy": ("kube-proxy", "proxy"),
    "coreDns": ("coredns", "k8s-coredns"),
}
"""Objects of a part of the control plane: its Service and monitor, and its dashboard, which goes with them."""


def _always(objects: list[Object], _: Order) -> None:
    labels = {each["metadata"]["name"]: each["spec"]["selector"]["matchLabels"] for each in MONITORS.places(objects)}
    for each in On("Service").places(objects):
        if found := labels.get(each["metadata"]["name"]):
            each["metadata"]["labels"] = dict(found)
    for each in MONITORS.places(objects):
        short = each["metadata"]["name"].removeprefix(f"{FULL}-")
        if short in _JOB_LABELS:
            label, job = _JOB_LABELS[short]
            each["spec"]["jobLabel"] = label
            each["spec"]["namespaceSelector"] = {"matchNames": [_NAMESPACES.get(short, "kube-system")]}
            for service in On("Service", each["metadata"]["name"]).places(objects if job else []):
                service["metadata"]["labels"]["jobLabel"] = job
                service["spec"]["clusterIP"] = "None"
    for each in On("PrometheusRule").places(objects):
        for rule in (rule for group in each["spec"]["groups"] for rule in group["rules"]):
            if rule.get("alert") == "Watchdog":
                rule |= {"expr": "vector(1)", "labels": {"severity": "none"}}
    for each in On("ConfigMap").places(objects):
        if any(key.endswith(".json") for key in each["data"]):
            each["metadata"]["labels"] = {"grafana_dashboard": "1"}
    for pod in OPERATOR.pod.places(objects):
        pod["volumes"] = [{"name": "tls-secret", "secret": {"secretName": f"{FULL}-admission"}}]
    parts.always(objects)


def _switches() -> Iterator[Switch]:
    for name in _OF_PROMETHEUS:
        yield Switch(f"prometheus.prometheusSpec.{name}", put(PROMETHEUS, "spec", name))
    yield Switch("prometheus.prometheusSpec.storageSpec", put(PROMETHEUS, "spec", "storage"))
    for value, field in _SELECTORS.items():
        yield Switch(f"prometheus.prometheusSpec.{value}SelectorNilUsesHelmValues", _selects(field))
        yield Switch(f"prometheus.prometheusSpec.{field}", _selector(field))
    for name in _OF_ALERTMANAGER:
        yield Switch(f"alertmanager.alertmanagerSpec.{name}", put(ALERTMANAGER, "spec", name))
    yield Switch("alertmanager.alertmanagerSpec.useExistingSecret", _not(only_if(_CONFIG)))
    for value, group in _RULES.items():
        yield Switch(f"defaultRules.rules.{value}", only_if(On("PrometheusRule", f"{FULL}-{group}")))
    yield Switch("defaultRules.rules.windows", only_if())  # rendered with windowsMonitoring only
    yield Switch("defaultRules.create", only_if(On("PrometheusRule")))
    yield Switch("defaultRules.disabled", _disabled)
    for name in ("appNamespacesOperator", "appNamespacesTarget"):
        yield Switch(f"defaultRules.{name}", only_if())  # in expressions, which the inventory does not have
    for value, (monitored, dashboard) in _CONTROL_PLANE.items():
        there = On("Service ServiceMonitor", f"{FULL}-{monitored}"), On("ConfigMap", f"{FULL}-{dashboard}")
        yield Switch(f"{value}.enabled", only_if(*there, *_ruled_by(value)))
    yield from _of_operator()
    yield from images.switches(OPERATOR, PROMETHEUS, ALERTMANAGER, parts.STATE_METRICS, parts.NODE_EXPORTER)
    yield from parts.switches()


def _ruled_by(value: str) -> tuple[On, ...]:
    """Rules that the chart renders where a part is on only."""
    groups = {
        "kubeEtcd": ("etcd",),
        "kubeControllerManager": ("kubernetes-system-controller-manager",),
        "kubeScheduler": ("kubernetes-system-scheduler", "kube-scheduler.rules"),
        "kubeProxy": ("kubernetes-system-kube-proxy",),
    }
    return tuple(On("PrometheusRule", f"{FULL}-{group}") for group in groups.get(value, ()))


def _of_operator() -> Iterator[Switch]:
    webhooks = On("ValidatingWebhookConfiguration MutatingWebhookConfiguration")
    yield Switch("prometheusOperator.admissionWebhooks.enabled", only_if(webhooks, _HOOKS))
    yield Switch("prometheusOperator.tls.enabled", _tls)
    yield from scheduling("prometheusOperator", OPERATOR)
    yield from named("prometheusOperator", OPERATOR.pod, "priorityClassName")
    yield Switch("prometheusOperator.prometheusConfigReloader.resources", _reloader)


def _selects(field: str) -> Effect:
    """Whether without a selector of its own a kind is selected by the release's label, or wholly."""

    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for each in PROMETHEUS.places(objects):
            each["spec"][field] = {"matchLabels": {"release": "<<release>>"}} if value else {}
        return objects

    return effect


def _selector(field: str) -> Effect:
    def effect(objects: list[Object], value: Any, _: Order) -> list[Object]:
        for each in PROMETHEUS.places(objects if value else []):
            each["spec"][field] = value
        return objects

    return effect


def _disabled(objects: list[Object], value: Any, _: Order) -> list[Object]:
    """Single alerts that are left out, by their names."""
    for each in On("PrometheusRule").places(objects):
        for group in each["spec"]["groups"]:
            group["rules"] = [rule for rule in group["rules"] if not (value or {}).get(rule.get("alert"))]
    return objects


def _not(effect: Effect) -> Effect:
    return lambda objects, value, order: effect(objects, not value, order)


def _tls(objects: list[Object], value: Any, _: Order) -> list[Object]:
    """Without TLS the operator serves on 8080, in clear, and mounts no certificate."""
    if value:
        return objects
    for container in OPERATOR.container.places(objects):
        kept = [each for each in container["args"] if not each.startswith("--web.")]
        container["args"] = [*kept, "--web.enable-tls=false", "--web.listen-address=:8080"]
        container["ports"] = [{"containerPort": 8080, "name": "http"}]
        container.pop("volumeMounts", None)
        for probe in ("livenessProbe", "readinessProbe"):
            container[probe]["httpGet"] |= {"port": "http", "scheme": "HTTP"}
    for pod in OPERATOR.pod.places(objects):
        pod["volumes"] = []
    for service in On("Service", OPERATOR.name).places(objects):
        service["spec"]["ports"] = [{"name": "http", "port": 8080, "targetPort": "http"}]
    for monitor in On("ServiceMonitor", OPERATOR.name).places(objects):
        monitor["spec"]["endpoints"] = [{"port": "http", "honorLabels": True}]
    return objects


def _reloader(objects: list[Object], value: Any, _: Order) -> list[Object]:
    """The operator is told by flags what the reloaders beside Prometheus and Alertmanager may use."""
    for container in OPERATOR.container.places(objects):
        for kind in ("request", "limit"):
            for amount in ("cpu", "memory"):
                name = f"--config-reloader-{amount}-{kind}"
                word = f"{name}={(value.get(f'{kind}s') or {}).get(amount) or 0}"
                container["args"] = [word if each.startswith(f"{name}=") else each for each in container["args"]]
    return objects


RULES = Rules(tuple(_switches()), _always, definitions="crds.enabled")
