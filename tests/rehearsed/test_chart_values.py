"""The values that the program gives to charts have their effects in the played charts, and none is without one."""

from functools import partial
from typing import Any

import pytest
import yaml

from catalogue import versions
from components.aws.devices import GPU_OPERATOR_VALUES
from components.monitoring.adapter import adapter_values
from components.platform.external_secrets import external_secrets_values
from components.platform.gpu_operator import gpu_operator_values
from components.platform.metrics_server import metrics_server_values
from components.serving.keda import keda_values
from rehearsal import toolchain
from rehearsal.charts import played
from rehearsal.charts.chart import Order
from tests.graph.stackfiles import graph_of, run_program, stack_config
from tests.stacks.fake_platform import fake_graph

Object = dict[str, Any]
Rendered = dict[tuple[str, str], Object]
operator_values = partial(gpu_operator_values, counters="counted", scrape_s=30)
POOL = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "inference", "effect": "NoSchedule"}


@pytest.fixture(autouse=True)
def nothing_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Definitions of the Prometheus operator come without Go."""
    monkeypatch.setattr(toolchain, "crds", lambda *_, **__: [])


def render(chart: versions.Chart, values: Object) -> Rendered:
    """The objects by kind and name. Every value must be known and have an effect."""
    found = played.find(chart.name, chart.version)
    assert found is not None
    order = Order(chart.name, "there", values, "1.36.3", frozenset({"monitoring.coreos.com/v1"}))
    objects = found.render(order)
    assert found.unknown_values(values) == []
    assert not [each for each in found.unchecked() if "has no effect" in each]
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def pod(obj: Object) -> Object:
    spec: Object = obj["spec"]["template"]["spec"]
    return spec


def policy(*, slices: bool = False) -> Object:
    values = operator_values([POOL], GPU_OPERATOR_VALUES, slices=slices)
    spec: Object = render(versions.GPU_OPERATOR, values)["ClusterPolicy", "cluster-policy"]["spec"]
    return spec


def test_the_cluster_policy_leaves_driver_and_toolkit_to_the_ami() -> None:
    spec = policy()
    on = {section for section, content in spec.items() if content.get("enabled")}
    assert not {"driver", "toolkit", "gds", "migManager"} & on
    assert {"devicePlugin", "gfd", "dcgmExporter", "nodeStatusExporter"} <= on
    assert spec["dcgmExporter"]["serviceMonitor"].items() >= {"enabled": True, "interval": "30s"}.items()
    assert spec["dcgmExporter"]["config"] == {"name": "counted"}
    assert spec["devicePlugin"]["image"] == "k8s-device-plugin"
    assert policy(slices=True)["migManager"]["enabled"] is True


def test_operands_and_feature_discovery_tolerate_the_pools() -> None:
    made = render(versions.GPU_OPERATOR, operator_values([POOL], GPU_OPERATOR_VALUES))
    assert made["ClusterPolicy", "cluster-policy"]["spec"]["daemonsets"]["tolerations"] == [POOL]
    worker = made["DaemonSet", "gpu-operator-node-feature-discovery-worker"]
    assert pod(worker)["tolerations"] == [POOL]


@pytest.mark.parametrize("upgraded", [True, False])
def test_the_hook_that_upgrades_definitions_is_asked_for(upgraded: bool) -> None:
    values = operator_values([], GPU_OPERATOR_VALUES)
    values["operator"]["upgradeCRD"] = upgraded
    assert (("Job", "gpu-operator-upgrade-crd") in render(versions.GPU_OPERATOR, values)) is upgraded


@pytest.fixture(scope="module")
def metrics_server() -> Rendered:
    """What the values make that a stack of 124 nodes registers."""
    config = {key: value for key, value in stack_config("dev").items() if key != "gpucluster:monitoring"}
    system, *others = config["gpucluster:pools"]
    many = {
        "gpucluster:pools": [{**system, "instanceType": "m7i.large", "count": 120}, *others],
        "gpucluster:budget": {"maxHourlyUsd": 1000},
        "gpucluster:serving": {},
    }
    graph = run_program(config | many, stack="dev")
    return render(versions.METRICS_SERVER, graph.one("metrics-server-release").inputs["values"])


def test_metrics_server_survives_the_drain_of_a_node_and_stays_off_gpu_nodes(metrics_server: Rendered) -> None:
    server = metrics_server["Deployment", "metrics-server"]
    labels = server["spec"]["template"]["metadata"]["labels"]
    assert server["spec"]["replicas"] == 2
    assert not pod(server).get("tolerations")
    (spread,) = pod(server)["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"].items() <= labels.items()
    assert (spread["maxSkew"], spread["topologyKey"]) == (1, "kubernetes.io/hostname")
    assert spread["whenUnsatisfiable"] == "ScheduleAnyway"
    budget = metrics_server["PodDisruptionBudget", "metrics-server"]["spec"]
    assert budget == {"maxUnavailable": 1, "selector": server["spec"]["selector"]}


def test_metrics_server_asks_for_more_where_nodes_are_many(metrics_server: Rendered) -> None:
    def asked(made: Rendered) -> Object:
        found: Object = pod(made["Deployment", "metrics-server"])["containers"][0]["resources"]["requests"]
        return found

    assert asked(metrics_server) == {"cpu": "124m", "memory": "248Mi"}
    assert asked(render(versions.METRICS_SERVER, metrics_server_values(100))) == {"cpu": "100m", "memory": "200Mi"}


@pytest.fixture(scope="module", params=["fake", "dev", "prod"])
def watched(request: pytest.FixtureRequest) -> Rendered:
    """kube-prometheus-stack and Fluent Bit with the values that a stack registers."""
    graph = fake_graph() if request.param == "fake" else graph_of(request.param)
    stack, logs = (
        graph.one(f"{name}-release").inputs["values"] for name in ("monitoring-stack-chart", "log-collector")
    )
    return {**render(versions.KUBE_PROMETHEUS_STACK, stack), **render(versions.FLUENT_BIT, logs)}


def test_prometheus_and_alertmanager_are_made_as_the_program_says(watched: Rendered) -> None:
    prometheus = watched["Prometheus", "kube-prometheus-stack-prometheus"]["spec"]
    alertmanager = watched["Alertmanager", "kube-prometheus-stack-alertmanager"]["spec"]
    kinds = ("serviceMonitor", "podMonitor", "rule", "probe", "scrapeConfig")
    assert [prometheus[f"{kind}Selector"] for kind in kinds] == [{}] * 5
    assert prometheus["storage"]["volumeClaimTemplate"]["spec"]["resources"]["requests"]["storage"].endswith("Gi")
    assert alertmanager["configSecret"] == "alertmanager-config"
    assert ("Secret", "alertmanager-kube-prometheus-stack-alertmanager") not in watched


def test_nothing_is_looked_for_that_is_not_there(watched: Rendered) -> None:
    """Every monitor of the chart's own Services finds one; without webhooks there is no certificate to mount."""
    services = [each for (kind, _), each in watched.items() if kind == "Service"]
    for (kind, name), each in watched.items():
        if kind == "ServiceMonitor" and not name.endswith(("-kubelet", "-apiserver")):
            wanted = each["spec"]["selector"]["matchLabels"].items()
            assert [one for one in services if wanted <= one["metadata"].get("labels", {}).items()], name
    assert not [each for each in watched.values() if "webhooks" in each]
    assert pod(watched["Deployment", "kube-prometheus-stack-operator"])["volumes"] == []


def test_daemons_that_watch_are_on_every_node(watched: Rendered) -> None:
    for name in ("kube-prometheus-stack-prometheus-node-exporter", "fluent-bit"):
        assert pod(watched["DaemonSet", name])["tolerations"] == [{"operator": "Exists"}]
        assert pod(watched["DaemonSet", name])["priorityClassName"] == "system-node-critical"


def test_logs_are_read_and_sent(watched: Rendered) -> None:
    text = watched["ConfigMap", "fluent-bit"]["data"]["fluent-bit.conf"]
    assert text.index("[INPUT]") < text.index("[OUTPUT]")
    assert "_TRANSPORT=kernel" in text
    assert pod(watched["DaemonSet", "fluent-bit"])["serviceAccountName"] == "fluent-bit"


def test_the_adapter_reads_the_rules_and_is_never_without_a_replica_x12() -> None:
    values = dict(adapter_values("http://there:9090", 15))
    made = render(versions.PROMETHEUS_ADAPTER, values)
    config = yaml.safe_load(made["ConfigMap", "prometheus-adapter"]["data"]["config.yaml"])
    assert config == {"rules": values["rules"]["custom"]}
    adapter = made["Deployment", "prometheus-adapter"]
    assert {"--prometheus-url=http://there:9090", "--metrics-relist-interval=30s", "--v=2"} <= set(
        pod(adapter)["containers"][0]["args"]
    )
    assert adapter["spec"]["replicas"] == 2
    assert not pod(adapter).get("tolerations")
    budget = made["PodDisruptionBudget", "prometheus-adapter"]["spec"]
    assert budget == {"maxUnavailable": 1, "selector": adapter["spec"]["selector"]}
    (spread,) = pod(adapter)["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"].items() <= adapter["spec"]["template"]["metadata"]["labels"].items()
    claimed = {each["spec"]["group"] for (kind, _), each in made.items() if kind == "APIService"}
    assert claimed == {"custom.metrics.k8s.io"}


def test_the_controller_of_secrets_looks_after_single_namespaces_and_may_do_no_more() -> None:
    values = external_secrets_values("reader", cpu_millicores=7, memory_mib=70)
    made = render(versions.EXTERNAL_SECRETS, values)
    assert [name for kind, name in made if kind == "Deployment"] == ["external-secrets"]
    assert not [kind for kind, _ in made if kind == "ValidatingWebhookConfiguration"]
    spec = pod(made["Deployment", "external-secrets"])
    assert spec["serviceAccountName"] == "reader"
    assert ("ServiceAccount", "reader") in made
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        subjects = [each["subjects"][0]["name"] for (its, _), each in made.items() if its == kind]
        assert subjects == ["reader"]
    (container,) = spec["containers"]
    assert container["resources"]["requests"] == {"cpu": "7m", "memory": "70Mi"}
    ended = {word.removeprefix("--enable-") for word in container["args"] if word.endswith("=false")}
    whole = ("cluster-store", "cluster-external-secret", "cluster-push-secret", "push-secret")
    assert ended == {f"{each}-reconciler=false" for each in whole}
    rights = [rule for (kind, _), each in made.items() if kind == "ClusterRole" for rule in each["rules"]]
    named = {resource for rule in rights for resource in rule["resources"]}
    assert not {each for each in named if each.startswith(("cluster", "pushsecrets")) or each.endswith("/token")}
    assert not [rule for rule in rights if "namespaces" in rule["resources"] and "update" in rule["verbs"]]
    labels = [each["metadata"].get("labels") for (kind, _), each in made.items() if kind == "ClusterRole"]
    assert not any(labels)


def test_by_default_the_chart_adds_to_kubernetes_own_roles() -> None:
    """What the program switches off is on in the chart (templates/rbac.yaml)."""
    made = render(versions.EXTERNAL_SECRETS, {})
    view = made["ClusterRole", "external-secrets-view"]["metadata"]["labels"]
    assert view["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert ("Deployment", "external-secrets-webhook") in made


def test_keda_looks_after_one_namespace_and_its_certificates_are_cert_managers() -> None:
    made = render(versions.KEDA, keda_values("models", cpu_millicores=7, memory_mib=70))
    assert [name for kind, name in made if kind == "Deployment"] == ["keda-operator", "keda-operator-metrics-apiserver"]
    assert not [kind for kind, _ in made if kind == "ValidatingWebhookConfiguration"]
    assert ("ClusterRoleBinding", "keda-operator") not in made
    rights = {
        (kind, name): [
            (group, resource) for rule in each["rules"] for group in rule["apiGroups"] for resource in rule["resources"]
        ]
        for (kind, name), each in made.items()
        if kind in ("ClusterRole", "Role")
    }
    assert ("", "secrets") not in rights["ClusterRole", "keda-operator"]
    assert "*" not in {group for group, _ in rights["ClusterRole", "keda-operator"]}
    groups = {group for group, _ in rights["ClusterRole", "keda-operator-minimal-cluster-role"]}
    assert groups == {"keda.sh", "eventing.keda.sh"}
    own = [rule for rule in made["Role", "keda-operator-certs"]["rules"] if rule["resources"] == ["secrets"]]
    assert {verb for rule in own for verb in rule["verbs"]} == {"get", "list", "watch"}
    service = made["APIService", "v1beta1.external.metrics.k8s.io"]["metadata"]
    assert service["annotations"] == {"cert-manager.io/inject-ca-from": "there/keda-operator-tls-certificates"}
    signed = made["Certificate", "keda-operator-tls-certificates"]["spec"]
    assert "keda-operator-metrics-apiserver.there.svc" in signed["dnsNames"]
    for name in ("keda-operator", "keda-operator-metrics-apiserver"):
        (volume,) = pod(made["Deployment", name])["volumes"]
        assert volume["secret"]["secretName"] == signed["secretName"]
        (container,) = pod(made["Deployment", name])["containers"]
        assert {"name": "WATCH_NAMESPACE", "value": "models"} in container["env"]
        assert container["resources"]["requests"] == {"cpu": "7m", "memory": "70Mi"}
        assert container["imagePullPolicy"] == "IfNotPresent"


def test_keda_is_scraped_at_the_port_that_it_tells_its_numbers_at() -> None:
    made = render(versions.KEDA, keda_values("models", cpu_millicores=7, memory_mib=70))
    monitor, service = made["ServiceMonitor", "keda-operator"]["spec"], made["Service", "keda-operator"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["endpoints"]
    (port,) = (each for each in service["spec"]["ports"] if each["name"] == endpoint["port"])
    (container,) = pod(made["Deployment", "keda-operator"])["containers"]
    assert f"--metrics-bind-address=:{port['targetPort']}" in container["args"]
    assert "--enable-prometheus-metrics=true" in container["args"]
