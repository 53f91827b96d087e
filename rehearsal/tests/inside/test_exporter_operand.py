"""What the GPU operator makes for its exporter: environment, list of counters, Service and ServiceMonitor."""

from types import SimpleNamespace
from typing import Any

import pytest

from rehearsal.devices import operands
from rehearsal.devices.gpu_operator import GpuOperator
from rehearsal.kube.client import ApiError

EXPORTER = next(each for each in operands.OPERANDS if each.key == "dcgmExporter")


def policy(**own: Any) -> dict[str, Any]:
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy", "uid": "u"},
        "spec": {"dcgmExporter": {"enabled": True, **own}},
    }


def pod(**own: Any) -> dict[str, Any]:
    return dict(operands.daemonset(EXPORTER, policy(**own), "gpu-operator")["spec"]["template"]["spec"])


def env(container: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in container["env"]}


def test_without_a_list_of_its_own_the_exporter_reads_the_images() -> None:
    (container,) = pod()["containers"]
    assert env(container)["DCGM_EXPORTER_COLLECTORS"] == "/etc/dcgm-exporter/dcp-metrics-included.csv"
    assert "volumes" not in pod()
    assert container["readinessProbe"]["httpGet"] == {"port": 9400, "path": "/health"}


def test_a_configmap_is_mounted_as_the_list_and_the_policys_environment_wins() -> None:
    made = pod(config={"name": "counters"}, env=[{"name": "DCGM_EXPORTER_LISTEN", "value": ":9500"}])
    (container,) = made["containers"]
    assert env(container)["DCGM_EXPORTER_COLLECTORS"] == "/etc/dcgm-exporter/dcgm-metrics.csv"
    assert env(container)["DCGM_EXPORTER_LISTEN"] == ":9500"
    assert [each["name"] for each in container["env"]].count("DCGM_EXPORTER_LISTEN") == 1
    assert made["volumes"][0]["configMap"]["name"] == "counters"
    assert container["volumeMounts"][0]["subPath"] == "dcgm-metrics.csv"


def test_a_service_monitor_is_made_where_the_policy_asks_for_it() -> None:
    kinds = [each["kind"] for each in operands.companions(EXPORTER, policy(), "gpu-operator")]
    assert kinds == ["ServiceAccount", "Service"]
    relabelings = [{"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}]
    asked = {"enabled": True, "interval": "15s", "relabelings": relabelings, "additionalLabels": {"release": "k"}}
    *_, monitor = operands.companions(EXPORTER, policy(serviceMonitor=asked), "gpu-operator")
    assert monitor["metadata"]["labels"] == {"app": "nvidia-dcgm-exporter", "release": "k"}
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint == {"port": "gpu-metrics", "path": "/metrics", "interval": "15s", "relabelings": relabelings}


@pytest.mark.parametrize("there", [True, False])
def test_without_the_definition_of_monitors_the_policy_is_not_ready(there: bool) -> None:
    """The operator's trap: its exporter's state waits for kube-prometheus-stack's definitions."""
    patches: list[dict[str, Any]] = []
    made: list[str] = []

    def apply(each: dict[str, Any], *_: Any, **__: Any) -> None:
        if each["kind"] == "ServiceMonitor" and not there:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        made.append(each["kind"])

    node = {"metadata": {"name": "a", "labels": {"feature.node.kubernetes.io/pci-10de.present": "true"}}}
    kube = SimpleNamespace(apply=apply, delete=lambda *_: None, patch=lambda *told: patches.append(told[4]))
    operator = GpuOperator.__new__(GpuOperator)
    world: Any = SimpleNamespace(
        kube=kube,
        stores={
            "policies": SimpleNamespace(all=lambda: [policy(serviceMonitor={"enabled": True})]),
            "nodes": SimpleNamespace(all=lambda: [node]),
        },
        find=lambda *_: None,
    )
    operator._world, operator._namespace = world, "gpu-operator"
    operator._made, operator._unmonitored, operator._said = "", False, None
    operator._reconcile()
    status = patches[-1]["status"]
    assert status["state"] == ("ready" if there else "notReady")
    assert ("state-dcgm-exporter" in str(status)) is not there
    before = len(made)
    operator._reconcile()
    assert (len(made) > before) is not there
