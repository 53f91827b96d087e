"""Charts: what they render from values, and which values they do not know."""

from pathlib import Path
from typing import Any

import pytest

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
    chart = tmp_path / "charts" / "metrics-server"
    chart.mkdir(parents=True)
    (chart / "values.yaml").write_text("image:\n  tag: v1\n  # pullPolicy: x\nnodeSelector: {}\n")
    (chart / "Chart.yaml").write_text("version: 1.15.1\n")
    monkeypatch.setenv("GPUCLUSTER_UPSTREAM", str(tmp_path))
    return tmp_path


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


def test_nfd_can_be_left_out() -> None:
    made = render(*GPU, {"nfd": {"enabled": False}})
    assert "DaemonSet" not in [each["kind"] for each in made]
    assert not [each["metadata"]["name"] for each in made if "node-feature-discovery" in each["metadata"]["name"]]


# -- values and CRDs


def test_unknown_values_are_named(vendors: Path) -> None:
    values = {"image": {"tag": "v2", "pullPolicy": "Always", "tga": 1}, "nodeSelector": {"a": 1}}
    chart = find("metrics-server", "3.13.1")
    assert chart.unknown_values(values) == ["chart metrics-server 3.13.1 has no value image.tga: see its values.yaml"]
    said = "metrics-server 3.13.1: values are compared with those of version 1.15.1"
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
