"""Charts: what they render from values, and which values they do not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal.charts import played, upstream
from rehearsal.charts.chart import ChartError, Order
from rehearsal.devices import operands

EXTRA = {"key": "pool", "operator": "Equal", "value": "inference", "effect": "NoSchedule"}


def find(chart: str, version: str) -> played.PlayedChart:
    found = played.find(chart, version)
    assert found is not None
    return found


def render(chart: str, version: str, values: dict[str, Any], namespace: str = "ns") -> list[dict[str, Any]]:
    return find(chart, version).render(Order(chart, namespace, values, "1.36.3", frozenset()))


def rendered(chart: str, version: str, values: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    found = [
        each for each in render(chart, version, values) if (each["kind"], each["metadata"]["name"]) == (kind, name)
    ]
    assert len(found) == 1
    return found[0]


def pod_of(obj: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = obj["spec"]["template"]["spec"]
    return spec


@pytest.fixture
def no_upstream(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUCLUSTER_UPSTREAM", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def vendors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory of vendors' files with one chart."""
    chart = tmp_path / "charts" / "volcano"
    chart.mkdir(parents=True)
    (chart / "values.yaml").write_text("basic:\n  image_tag_version: v1\n  # image_pull_secret: x\ncustom:\n  ns: {}\n")
    (chart / "Chart.yaml").write_text("version: 1.15.1\n")
    monkeypatch.setenv("GPUCLUSTER_UPSTREAM", str(tmp_path))
    return tmp_path


# -- EFA device plugin

EFA = ("aws-efa-k8s-device-plugin", "0.5.30")


def test_efa_plugin_tolerates_critical_addons_only_by_itself() -> None:
    pod = pod_of(rendered(*EFA, {}, "DaemonSet", EFA[0]))
    assert pod["tolerations"] == [{"key": "CriticalAddonsOnly", "operator": "Exists"}]


def test_efa_plugin_adds_tolerations_and_picks_types() -> None:
    pod = pod_of(rendered(*EFA, {"tolerations": [EXTRA]}, "DaemonSet", EFA[0]))
    assert EXTRA in pod["tolerations"]
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    types = terms[0]["matchExpressions"][0]["values"]
    assert "p5.4xlarge" in types
    assert "g6e.xlarge" not in types


# -- GPU operator

GPU = ("gpu-operator", "v26.3.3")


def policy(**values: Any) -> dict[str, Any]:
    made = rendered(*GPU, values, "ClusterPolicy", "cluster-policy")
    return {**made, "metadata": {**made["metadata"], "uid": "u"}}


def test_cluster_policy_carries_the_values() -> None:
    spec = policy(driver={"enabled": False}, toolkit={"enabled": False}, daemonsets={"tolerations": [EXTRA]})["spec"]
    assert spec["driver"]["enabled"] is False
    assert spec["toolkit"]["enabled"] is False
    assert spec["daemonsets"]["tolerations"] == [EXTRA]
    assert spec["devicePlugin"]["version"] == "v0.19.3"
    required = {"daemonsets", "dcgm", "dcgmExporter", "devicePlugin", "driver", "gfd", "nodeStatusExporter", "operator",
                "toolkit"}  # fmt: skip
    assert required <= set(spec)


def test_pod_deletion_has_another_name_in_the_resource() -> None:
    spec = policy(driver={"upgradePolicy": {"gpuPodDeletion": {"force": True}}})["spec"]
    assert "gpuPodDeletion" not in spec["driver"]["upgradePolicy"]
    assert spec["driver"]["upgradePolicy"]["podDeletion"] == {
        "deleteEmptyDir": False,
        "force": True,
        "timeoutSeconds": 300,
    }


def test_a_created_config_needs_name_and_data() -> None:
    with pytest.raises(ChartError, match=r"config\.name"):
        render(*GPU, {"devicePlugin": {"config": {"create": True}}})


def test_a_created_config_is_a_configmap_that_the_policy_names() -> None:
    values = {"devicePlugin": {"config": {"create": True, "name": "plugin", "data": {"default": "version: v1"}}}}
    assert rendered(*GPU, values, "ConfigMap", "plugin")["data"] == {"default": "version: v1"}
    assert policy(**values)["spec"]["devicePlugin"]["config"] == {"name": "plugin"}


def test_operands_tolerate_what_the_policy_says_and_follow_the_switches() -> None:
    made = policy(daemonsets={"tolerations": [EXTRA]})
    plugin = next(each for each in operands.OPERANDS if each.key == "devicePlugin")
    pod = pod_of(operands.daemonset(plugin, made, "ns"))
    assert pod["tolerations"] == [EXTRA]
    assert pod["nodeSelector"] == {"nvidia.com/gpu.deploy.device-plugin": "true"}
    assert [each["name"] for each in pod["initContainers"]] == ["toolkit-validation"]


def test_disabled_operands_are_neither_switched_on_nor_made() -> None:
    spec = policy(devicePlugin={"enabled": False}, driver={"enabled": False})["spec"]
    on = operands.switches(spec, mig_capable=False)
    assert "nvidia.com/gpu.deploy.device-plugin" not in on
    assert "nvidia.com/gpu.deploy.driver" not in on
    assert "nvidia.com/gpu.deploy.mig-manager" not in on
    assert on["nvidia.com/gpu.present"] == "true"
    assert "nvidia.com/gpu.deploy.mig-manager" in operands.switches(spec, mig_capable=True)


def test_nfd_workers_take_their_own_tolerations() -> None:
    values = {"node-feature-discovery": {"worker": {"tolerations": [EXTRA]}}}
    worker = rendered(*GPU, values, "DaemonSet", "gpu-operator-node-feature-discovery-worker")
    assert pod_of(worker)["tolerations"] == [EXTRA]


def test_nfd_can_be_left_out() -> None:
    made = render(*GPU, {"nfd": {"enabled": False}})
    assert "DaemonSet" not in [each["kind"] for each in made]
    assert not [each["metadata"]["name"] for each in made if "node-feature-discovery" in each["metadata"]["name"]]


# -- Volcano

VOLCANO = ("volcano", "1.14.1")


def test_scheduler_reads_the_overridden_configuration() -> None:
    text = "actions: allocate\n"
    values = {"custom": {"scheduler_config_override": text}}
    config = rendered(*VOLCANO, values, "ConfigMap", "volcano-scheduler-configmap")
    assert config["data"]["volcano-scheduler.conf"] == text
    pod = pod_of(rendered(*VOLCANO, values, "Deployment", "volcano-scheduler"))
    assert "--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf" in pod["containers"][0]["args"]


def test_default_scheduler_configuration_has_gangs_and_no_preemption() -> None:
    """KJ11: queues and priorities do not evict anybody unless the program says so."""
    config = rendered(*VOLCANO, {}, "ConfigMap", "volcano-scheduler-configmap")["data"]["volcano-scheduler.conf"]
    loaded = yaml.safe_load(config)
    assert loaded["actions"] == "enqueue, allocate, backfill"
    assert {"name": "gang", "enablePreemptable": False} in loaded["tiers"][0]["plugins"]


def test_a_configuration_that_is_no_text_is_refused() -> None:
    with pytest.raises(ChartError, match="scheduler_config_override") as refused:
        render(*VOLCANO, {"custom": {"scheduler_config_override": {"actions": "allocate"}}})
    assert refused.value.where == "values"


def test_component_settings_win_over_default_settings() -> None:
    values = {"custom": {"default_tolerations": [EXTRA], "controller_tolerations": [{"operator": "Exists"}]}}
    scheduler, controllers = (
        pod_of(rendered(*VOLCANO, values, "Deployment", f"volcano-{name}")) for name in ("scheduler", "controllers")
    )
    assert scheduler["tolerations"] == [EXTRA]
    assert controllers["tolerations"] == [{"operator": "Exists"}]


# -- values and CRDs


def test_unknown_values_are_named(vendors: Path) -> None:
    values = {
        "basic": {"image_tag_version": "v2", "image_pull_secret": "s", "image_tga": 1},
        "custom": {"ns": {"a": 1}},
    }
    chart = find(*VOLCANO)
    assert chart.unknown_values(values) == ["chart volcano 1.14.1 has no value basic.image_tga: see its values.yaml"]
    said = "volcano 1.14.1: values are compared with those of version 1.15.1"
    assert any(each.startswith(said) for each in chart.unchecked())


def test_without_vendors_files_the_checks_are_off_and_say_so(no_upstream: None) -> None:
    chart = find(*GPU)
    assert chart.unknown_values({"nonsense": 1}) == []
    off = chart.unchecked()
    assert any("schema check off for ClusterPolicy" in each for each in off)
    assert any("values check off" in each for each in off)


@pytest.mark.skipif(upstream.directory() is None, reason="no GPUCLUSTER_UPSTREAM: schema check off")
def test_cluster_policy_matches_the_vendors_schema() -> None:
    import jsonschema_rs

    definition = next(each for each in find(*GPU).crds() if each["metadata"]["name"] == "clusterpolicies.nvidia.com")
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    made = policy(driver={"enabled": False, "upgradePolicy": {"gpuPodDeletion": {"force": True}}})["spec"]
    jsonschema_rs.validate(schema, made)
    for section, content in made.items():
        assert set(content) <= set(schema["properties"][section]["properties"])
