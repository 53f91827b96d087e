"""kube-prometheus-stack and fluent-bit as they are played: what real controllers read of them follows the values."""

from typing import Any

import pytest

from rehearsal.charts.chart import Object, Order
from rehearsal.tests.charts.facts import find

STACK = "kube-prometheus-stack"
KINDS = frozenset({"monitoring.coreos.com/v1"})


def rendered(chart: str, **values: Any) -> list[Object]:
    played = find(chart)
    made = played.render(Order(chart, "there", values, "1.36.3", KINDS))
    assert not [each for each in played.unchecked() if "has no effect" in each]
    return made


def one(objects: list[Object], kind: str, name: str = "") -> Object:
    (found,) = [each for each in objects if each["kind"] == kind and name in ("", each["metadata"]["name"])]
    return found


def container(workload: Object, index: int = 0) -> Object:
    found: Object = workload["spec"]["template"]["spec"]["containers"][index]
    return found


def test_prometheus_is_what_the_values_say() -> None:
    claim = {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}
    spec = {
        "retention": "7d",
        "retentionSize": "8GB",
        "replicas": 2,
        "storageSpec": claim,
        "resources": {"requests": {"memory": "1Gi"}},
        "externalLabels": {"cluster": "a"},
    }
    off = {f"{each}SelectorNilUsesHelmValues": False for each in ("serviceMonitor", "podMonitor", "rule", "probe")}
    made = one(rendered(STACK, prometheus={"prometheusSpec": {**spec, **off}}), "Prometheus")
    assert made["metadata"]["name"] == "kube-prometheus-stack-prometheus"
    assert made["spec"].items() >= {key: value for key, value in spec.items() if key != "storageSpec"}.items()
    assert made["spec"]["storage"] == claim
    assert [made["spec"][f"{each}Selector"] for each in ("serviceMonitor", "podMonitor", "rule", "probe")] == [{}] * 4
    assert made["spec"]["scrapeConfigSelector"] == {"matchLabels": {"release": STACK}}


def test_a_selector_in_the_values_is_taken() -> None:
    own = {"matchLabels": {"team": "a"}}
    made = one(rendered(STACK, prometheus={"prometheusSpec": {"ruleSelector": own}}), "Prometheus")
    assert made["spec"]["ruleSelector"] == own


def test_alertmanager_reads_the_secret_that_it_is_told() -> None:
    spec = {"configSecret": "who-is-told", "secrets": ["keys"], "useExistingSecret": True}
    made = rendered(STACK, alertmanager={"alertmanagerSpec": spec})
    assert one(made, "Alertmanager")["spec"].items() >= {"configSecret": "who-is-told", "secrets": ["keys"]}.items()
    assert not [each for each in made if each["metadata"]["name"].startswith("alertmanager-")]


def test_every_monitor_selects_a_service_with_its_port() -> None:
    made = rendered(STACK, prometheusOperator={"tls": {"enabled": False}})
    services = [each for each in made if each["kind"] == "Service"]
    monitors = [each for each in made if each["kind"] == "ServiceMonitor"]
    assert len(monitors) == 13
    for monitor in monitors:
        if monitor["metadata"]["name"] in (f"{STACK}-kubelet", f"{STACK}-apiserver"):
            continue  # of Services that are not the chart's
        (namespace,) = monitor["spec"].get("namespaceSelector", {"matchNames": ["there"]})["matchNames"]
        wanted = monitor["spec"]["selector"]["matchLabels"]
        (service,) = [each for each in services if wanted.items() <= each["metadata"].get("labels", {}).items()]
        assert service["metadata"]["namespace"] == namespace
        ports = {port["name"] for port in service["spec"]["ports"]}
        assert {each["port"] for each in monitor["spec"]["endpoints"]} <= ports


def test_jobs_are_called_as_the_rules_call_them() -> None:
    made = rendered(STACK)
    names = ("prometheus-node-exporter", "kube-state-metrics", "coredns")
    jobs = {}
    for name in names:
        full = f"{STACK}-{name}"
        label = one(made, "ServiceMonitor", full)["spec"]["jobLabel"]
        jobs[name] = one(made, "Service", full)["metadata"]["labels"][label]
    assert jobs == {
        "prometheus-node-exporter": "node-exporter",
        "kube-state-metrics": "kube-state-metrics",
        "coredns": "coredns",
    }


def test_no_played_alert_fires_but_the_watchdog() -> None:
    rules = [
        rule
        for each in rendered(STACK)
        if each["kind"] == "PrometheusRule"
        for group in each["spec"]["groups"]
        for rule in group["rules"]
    ]
    assert {rule["expr"] for rule in rules if "alert" in rule} == {"vector(0) > 0", "vector(1)"}
    assert [rule["alert"] for rule in rules if rule["expr"] == "vector(1)"] == ["Watchdog"]


@pytest.mark.parametrize(("value", "part"), [("kubeEtcd", "etcd"), ("kubeScheduler", "scheduler")])
def test_what_is_not_scraped_has_no_objects(value: str, part: str) -> None:
    def left(**values: Any) -> list[str]:
        names = (each["metadata"]["name"] for each in rendered(STACK, **values))
        return [name for name in names if part in name]

    assert left()
    assert left(**{value: {"enabled": False}}) == []


def test_definitions_come_with_the_sub_chart_or_not() -> None:
    chart = find(STACK)
    assert len(chart.crds({"crds": {"enabled": True}})) == len(chart.crds()) == 10
    assert chart.crds({"crds": {"enabled": False}}) == []


def test_without_webhooks_and_certificate_the_operator_serves_in_clear() -> None:
    operator = {"admissionWebhooks": {"enabled": False}, "tls": {"enabled": False}}
    made = rendered(STACK, prometheusOperator=operator)
    assert not [each for each in made if "webhooks" in each or "admission" in each["metadata"]["name"]]
    workload = one(made, "Deployment", f"{STACK}-operator")
    assert container(workload)["ports"] == [{"containerPort": 8080, "name": "http"}]
    assert container(workload)["args"][-2:] == ["--web.enable-tls=false", "--web.listen-address=:8080"]
    assert workload["spec"]["template"]["spec"]["volumes"] == []


def test_reloaders_may_use_what_the_operator_is_told() -> None:
    resources = {"requests": {"cpu": "10m"}, "limits": {"memory": "50Mi"}}
    made = rendered(STACK, prometheusOperator={"prometheusConfigReloader": {"resources": resources}})
    args = container(one(made, "Deployment", f"{STACK}-operator"))["args"]
    assert {"--config-reloader-cpu-request=10m", "--config-reloader-memory-limit=50Mi"} <= set(args)
    assert {"--config-reloader-cpu-limit=0", "--config-reloader-memory-request=0"} <= set(args)


def test_kube_state_metrics_lists_what_it_tells_of_and_no_more() -> None:
    values = {"collectors": ["nodes", "pods"], "metricLabelsAllowlist": ["nodes=[a]", "pods=[b]"]}
    made = rendered(STACK, **{"kube-state-metrics": values})
    args = container(one(made, "Deployment", f"{STACK}-kube-state-metrics"))["args"]
    assert args[1:] == ["--resources=nodes,pods", "--metric-labels-allowlist=nodes=[a],pods=[b]"]
    role = one(made, "ClusterRole", f"{STACK}-kube-state-metrics")
    assert [each["resources"] for each in role["rules"]] == [["nodes"], ["pods"]]


def test_a_container_beside_the_node_exporter_writes_what_it_reads() -> None:
    beside = {"name": "counters", "image": "own.example/shell:1", "command": ["sh"]}
    shared = [{"name": "files", "mountPath": "/run/files", "readOnly": False}]
    host = {"name": "told", "hostPath": "/run/told", "mountPath": "/run/host", "readOnly": True}
    values = {
        "sidecars": [beside],
        "sidecarVolumeMount": shared,
        "sidecarHostVolumeMounts": [host],
        "extraArgs": ["--collector.x"],
    }
    workload = one(rendered(STACK, **{"prometheus-node-exporter": values}), "DaemonSet")
    exporter, other = workload["spec"]["template"]["spec"]["containers"]
    assert exporter["args"][-1] == "--collector.x"
    assert exporter["volumeMounts"][-1] == {**shared[0], "readOnly": True}
    mount = {"name": "told", "mountPath": "/run/host", "readOnly": True}
    assert (other["image"], other["volumeMounts"]) == ("own.example/shell:1", [*shared, mount])
    assert other["securityContext"] == exporter["securityContext"]
    assert workload["spec"]["template"]["spec"]["volumes"][-2:] == [
        {"name": "files", "emptyDir": {"medium": "Memory"}},
        {"name": "told", "hostPath": {"path": "/run/told"}},
    ]


def test_the_kubelet_is_looked_at_as_often_and_where_it_is_told() -> None:
    values = {"serviceMonitor": {"interval": "45s", "probes": False}}
    endpoints = one(rendered(STACK, kubelet=values), "ServiceMonitor", f"{STACK}-kubelet")["spec"]["endpoints"]
    assert [(each.get("path"), each["interval"]) for each in endpoints] == [(None, "45s"), ("/metrics/cadvisor", "45s")]


def test_fluent_bits_file_has_its_sections_in_order() -> None:
    config = {"outputs": "[OUTPUT]\n    Name null\n", "inputs": "[INPUT]\n    Name tail\n"}
    made = rendered("fluent-bit", config=config, serviceAccount={"name": "own"})
    text = one(made, "ConfigMap")["data"]["fluent-bit.conf"]
    assert text == "[INPUT]\n    Name tail\n\n[OUTPUT]\n    Name null\n"
    assert one(made, "ServiceAccount")["metadata"]["name"] == "own"
    assert one(made, "ClusterRoleBinding")["subjects"][0]["name"] == "own"
    assert one(made, "DaemonSet")["spec"]["template"]["spec"]["serviceAccountName"] == "own"


def test_fluent_bits_monitor_is_there_where_its_kind_is() -> None:
    monitor = {"enabled": True, "interval": "20s"}
    made = one(rendered("fluent-bit", serviceMonitor=monitor), "ServiceMonitor")
    assert made["spec"]["endpoints"] == [{"port": "http", "path": "/api/v2/metrics/prometheus", "interval": "20s"}]
    without = find("fluent-bit").render(Order("x", "y", {"serviceMonitor": monitor}, "1.36.3", frozenset()))
    assert "ServiceMonitor" not in [each["kind"] for each in without]


def test_single_alerts_can_be_left_out_and_directories_of_the_host_be_seen() -> None:
    made = rendered(STACK, defaultRules={"disabled": {"TargetDown": True, "Watchdog": False}})
    groups = one(made, "PrometheusRule", "kube-prometheus-stack-general.rules")["spec"]["groups"]
    assert [rule["alert"] for group in groups for rule in group["rules"]] == ["InfoInhibitor", "Watchdog"]
    bus = {"name": "bus", "hostPath": "/run/dbus", "mountPath": "/var/run/dbus", "readOnly": True}
    node = one(rendered(STACK, **{"prometheus-node-exporter": {"extraHostVolumeMounts": [bus]}}), "DaemonSet")
    assert {"name": "bus", "hostPath": {"path": "/run/dbus"}} in node["spec"]["template"]["spec"]["volumes"]
    assert {"name": "bus", "mountPath": "/var/run/dbus", "readOnly": True} in container(node)["volumeMounts"]
