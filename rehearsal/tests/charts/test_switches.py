"""Values of played charts: what each kind of switch does to the objects."""

import importlib
import pkgutil
from typing import Any

import pytest
import yaml

from rehearsal.charts import played
from rehearsal.charts.chart import ChartError, Object, Order
from rehearsal.charts.played import files
from rehearsal.charts.played.inventory import rebuilt
from rehearsal.charts.played.switches import On
from rehearsal.charts.played.values import laid

EXTRA = {"key": "pool", "operator": "Exists"}


def rendered(chart: str, values: dict[str, Any]) -> list[Object]:
    found = played.find(chart, files.load(chart)["version"])
    assert found is not None
    made = found.render(Order(chart, "there", values, "1.36.3", frozenset()))
    assert not [each for each in found.unchecked() if "has no effect" in each]
    return made


def one(chart: str, kind: str, name: str, values: dict[str, Any]) -> Object:
    return next(each for each in rendered(chart, values) if (each["kind"], each["metadata"]["name"]) == (kind, name))


def server(**values: Any) -> Object:
    return one("metrics-server", "Deployment", "metrics-server", values)


def container(workload: Object) -> Object:
    found: Object = workload["spec"]["template"]["spec"]["containers"][0]
    return found


def test_a_map_lies_over_the_defaults_and_null_takes_away() -> None:
    assert laid({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": None, "e": 4}}) == {"a": 1, "b": {"d": 3, "e": 4}}
    resources = container(server(resources={"requests": {"cpu": None}, "limits": {"memory": "1Gi"}}))["resources"]
    assert resources == {"requests": {"memory": "200Mi"}, "limits": {"memory": "1Gi"}}


def test_pods_are_placed_as_the_values_say() -> None:
    spec = server(tolerations=[EXTRA], nodeSelector={"role": "system"}, replicas=2)["spec"]
    assert spec["replicas"] == 2
    assert spec["template"]["spec"]["tolerations"] == [EXTRA]
    assert spec["template"]["spec"]["nodeSelector"] == {"role": "system"}
    assert "affinity" not in server(affinity={})["spec"]["template"]["spec"]


def test_arguments_follow_those_of_the_chart() -> None:
    default = container(server())["args"]
    assert container(server(args=["--v=2"]))["args"] == [*default, "--v=2"]
    assert container(server(defaultArgs=["--x"], args=["--v=2"]))["args"] == [default[0], "--x", "--v=2"]


def test_an_object_can_be_switched_off_and_changed() -> None:
    kinds = [each["kind"] for each in rendered("metrics-server", {"apiService": {"create": False}})]
    assert "APIService" not in kinds
    values = {"apiService": {"insecureSkipTLSVerify": False, "caBundle": "YQ=="}}
    service = one("metrics-server", "APIService", "v1beta1.metrics.k8s.io", values)
    assert service["spec"]["insecureSkipTLSVerify"] is False
    assert service["spec"]["caBundle"] == "YQ=="


@pytest.mark.parametrize(
    ("values", "image"),
    [
        ({"image": {"tag": "v9"}}, "registry.k8s.io/metrics-server/metrics-server:v9"),
        ({"image": {"repository": "own.example/ms"}}, "own.example/ms:v0.8.1"),
        ({"image": {"tag": ""}}, "registry.k8s.io/metrics-server/metrics-server:v0.8.1"),
    ],
)
def test_images_follow_repository_and_tag(values: dict[str, Any], image: str) -> None:
    assert container(server(**values))["image"] == image


def test_the_operators_image_has_three_values_and_is_the_hooks_too() -> None:
    values = {"operator": {"repository": "own.example/nv", "image": "op", "version": "v1"}}
    for kind, name in (("Deployment", "gpu-operator"), ("Job", "gpu-operator-upgrade-crd")):
        assert container(one("gpu-operator", kind, name, values))["image"] == "own.example/nv/op:v1"
    master = one("gpu-operator", "Deployment", "gpu-operator-node-feature-discovery-master", values)
    assert container(master)["image"].startswith("registry.k8s.io/nfd/")


def test_volcanos_images_have_a_registry_a_path_and_a_tag() -> None:
    basic = {"image_registry": "own.example", "scheduler_image_name": "a/b", "image_tag_version": "v2"}
    scheduler = one("volcano", "Deployment", "volcano-scheduler", {"basic": basic})
    assert container(scheduler)["image"] == "own.example/a/b:v2"
    controllers = one("volcano", "Deployment", "volcano-controllers", {"basic": basic})
    assert container(controllers)["image"] == "own.example/volcanosh/vc-controller-manager:v2"


def test_flags_are_replaced_added_and_left_out() -> None:
    custom = {"scheduler_kube_api_qps": 7, "scheduler_feature_gates": "A=true", "scheduler_schedule_period": None}
    custom["scheduler_node_worker_threads"] = "9\n            - --one-more=1"
    args = container(one("volcano", "Deployment", "volcano-scheduler", {"custom": custom}))["args"]
    assert "--kube-api-qps=7" in args
    assert "--feature-gates=A=true" in args
    assert args[args.index("--node-worker-threads=9") + 1] == "--one-more=1"
    assert not [each for each in args if each.startswith(("--kube-api-qps=2000", "--schedule-period"))]
    assert (args[0], args[-1]) == ("--logtostderr", "2>&1")


def test_a_components_own_settings_replace_the_default_ones() -> None:
    custom = {"default_tolerations": [EXTRA], "controller_tolerations": None, "default_ns": {"a": "b"}}
    custom |= {"controller_ns": {"c": "d"}}
    pod = one("volcano", "Deployment", "volcano-controllers", {"custom": custom})["spec"]["template"]["spec"]
    assert pod["tolerations"] == [EXTRA]
    assert pod["nodeSelector"] == {"c": "d"}


def test_volcano_without_admission_has_no_webhook() -> None:
    made = rendered("volcano", {"custom": {"admission_enable": False}})
    assert not [each for each in made if "webhooks" in each or "admission" in each["metadata"]["name"]]


def test_a_configuration_lies_over_what_the_file_has() -> None:
    config = {"sources": {"pci": {"deviceLabelFields": ["vendor"]}}}
    values = {"node-feature-discovery": {"worker": {"config": config}}}
    made = one("gpu-operator", "ConfigMap", "gpu-operator-node-feature-discovery-worker-conf", values)
    assert yaml.safe_load(made["data"]["nfd-worker.conf"]) == config


def test_the_efa_plugins_own_toleration_stays() -> None:
    made = one("aws-efa-k8s-device-plugin", "DaemonSet", "aws-efa-k8s-device-plugin", {"tolerations": [EXTRA]})
    own = {"key": "CriticalAddonsOnly", "operator": "Exists"}
    assert made["spec"]["template"]["spec"]["tolerations"] == [own, EXTRA]


def test_the_efa_plugin_runs_on_the_types_it_is_told() -> None:
    values = {"supportedInstanceLabels": {"values": ["p9.48xlarge"]}}
    made = one("aws-efa-k8s-device-plugin", "DaemonSet", "aws-efa-k8s-device-plugin", values)
    affinity = made["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    expressions = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]["matchExpressions"]
    assert expressions[0] == {
        "key": "node.kubernetes.io/instance-type",
        "operator": "In",
        "values": ["p9.48xlarge"],
    }
    assert expressions[1]["operator"] == "NotIn"


# -- from the inventory


def test_pods_carry_what_their_services_select() -> None:
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w", "selector": {"matchLabels": {"a": "b"}}}
    service = {"apiVersion": "v1", "kind": "Service", "name": "s", "serviceSelector": {"a": "b", "c": "d"}}
    other = {**service, "serviceSelector": {"a": "other", "e": "f"}}
    entries = [{**workload, "pod": {"containers": [], "volumes": []}}, service, other]
    assert rebuilt(entries[0], entries)["spec"]["template"]["metadata"]["labels"] == {"a": "b", "c": "d"}


def test_a_volume_finds_the_config_of_its_name_or_does_without() -> None:
    def config(name: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "keys": []}

    volumes = [{"worker-conf": "configMap"}, {"certs": "secret"}]
    job = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "pod": {"containers": [], "volumes": volumes}}
    made = rebuilt(job, [job, config("x-master-conf"), config("x-worker-conf")])
    assert made["spec"]["template"]["spec"]["volumes"] == [
        {"name": "worker-conf", "configMap": {"name": "x-worker-conf"}},
        {"name": "certs", "secret": {"secretName": "certs", "optional": True}},
    ]


RULE = {"seriesQuery": "up", "metricsQuery": "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"}


def adapter(**rules: Any) -> list[Object]:
    return rendered("prometheus-adapter", {"rules": {"default": False, **rules}})


def test_the_adapter_reads_the_rules_of_the_values_and_starts_again_with_others() -> None:
    def found(made: list[Object]) -> tuple[Any, str]:
        (config,) = (each for each in made if each["kind"] == "ConfigMap")
        (deployment,) = (each for each in made if each["kind"] == "Deployment")
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        return yaml.safe_load(config["data"]["config.yaml"]), annotations["checksum/config"]

    rules, checksum = found(adapter(custom=[RULE]))
    assert rules == {"rules": [RULE]}
    others, other = found(adapter(custom=[{**RULE, "seriesQuery": "down"}]))
    assert others != rules
    assert other != checksum


def test_the_adapter_claims_its_api_with_rules_only_and_in_the_version_that_is_served() -> None:
    chart = played.find("prometheus-adapter", "5.3.0")
    assert chart is not None
    assert "APIService" not in {each["kind"] for each in adapter()}
    values = {"rules": {"default": False, "custom": [RULE]}}
    for served, version in ((frozenset(), "v1beta1"), (frozenset({"apiregistration.k8s.io/v1"}), "v1")):
        made = chart.render(Order("prometheus-adapter", "there", values, "1.36.3", served))
        (service,) = (each for each in made if each["kind"] == "APIService")
        assert service["apiVersion"] == f"apiregistration.k8s.io/{version}"


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"default": True}, "set rules.default: false"),
        ({"custom": [RULE], "external": [RULE]}, "rules.external is not played here"),
        ({"existing": "mine"}, "rules.existing is not played here"),
    ],
)
def test_what_is_not_known_of_the_adapters_rules_is_refused(rules: dict[str, Any], said: str) -> None:
    with pytest.raises(ChartError, match=said):
        adapter(**rules)


@pytest.mark.parametrize(
    ("prometheus", "url"),
    [
        ({"url": "http://here", "port": 80}, "http://here:80"),
        ({"url": "http://here", "port": None, "path": "/p"}, "http://here/p"),
        ({}, "http://prometheus.default.svc:9090"),
    ],
)
def test_the_adapter_asks_the_prometheus_of_the_values(prometheus: dict[str, Any], url: str) -> None:
    made = rendered("prometheus-adapter", {"prometheus": prometheus, "metricsRelistInterval": "30s", "logLevel": 2})
    (deployment,) = (each for each in made if each["kind"] == "Deployment")
    arguments = container(deployment)["args"]
    assert {f"--prometheus-url={url}", "--metrics-relist-interval=30s", "--v=2"} <= set(arguments)
    assert len(arguments) == 7


def test_a_budget_of_disruptions_covers_the_pods_of_the_server() -> None:
    budget = {"enabled": True, "maxUnavailable": 1}
    made = one("metrics-server", "PodDisruptionBudget", "metrics-server", {"podDisruptionBudget": budget})
    assert made["spec"] == {"maxUnavailable": 1, "selector": server()["spec"]["selector"]}
    assert made["metadata"]["namespace"] == "there"
    kinds = [each["kind"] for each in rendered("metrics-server", {"podDisruptionBudget": {"enabled": False}})]
    assert "PodDisruptionBudget" not in kinds


def _meant() -> dict[str, On]:
    """Whatever the switches of all charts are on, by where it stands."""
    found = {}
    for each in pkgutil.iter_modules(played.__path__):
        for name, value in vars(importlib.import_module(f"{played.__name__}.{each.name}")).items():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, On):
                    found[f"{each.name}.{name} {part.kinds} {part.name}"] = part
    return found


def test_every_switch_is_on_something_of_a_chart() -> None:
    """A pattern that no name in the data has would change nothing, and say nothing."""
    objects = [each for name in files.names() for each in files.load(name)["objects"]]
    assert len(_meant()) > 20
    assert [where for where, on in _meant().items() if not any(on.takes(each) for each in objects)] == []
