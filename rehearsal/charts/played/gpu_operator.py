"""Switches of gpu-operator: the ClusterPolicy carries most values, the rest is the operator and feature discovery.

The operands (device plugin, GFD, DCGM exporter, ...) are made by the operator's pod from the ClusterPolicy.
Source: NVIDIA/gpu-operator v26.3.3, deployments/gpu-operator/templates, and the fields of ClusterPolicy nvidia.com/v1.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rehearsal.charts.chart import ChartError, Object, Order
from rehearsal.charts.played import node_feature_discovery as nfd
from rehearsal.charts.played.switches import Effect, On, Rules, Switch, both, image, named, only_if, put, scheduling

POLICY = On("ClusterPolicy")
OPERATOR = On("Deployment", "gpu-operator")
UPGRADE = On("ServiceAccount ClusterRole ClusterRoleBinding Job", "gpu-operator-upgrade-crd*")
_NFD = On(
    "ServiceAccount ConfigMap ClusterRole ClusterRoleBinding Role RoleBinding DaemonSet Deployment Job", f"*{nfd.NAME}*"
)
# The fields of ClusterPolicy's sections that values of the same name fill.
_OPERAND = (
    "repository",
    "image",
    "version",
    "imagePullPolicy",
    "imagePullSecrets",
    "env",
    "args",
    "resources",
)
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "operator": ("runtimeClass", "defaultRuntime", "initContainer", "labels", "annotations", "use_ocp_driver_toolkit"),
    "daemonsets": ("labels", "annotations", "priorityClassName", "tolerations", "updateStrategy", "rollingUpdate"),
    "validator": (*_OPERAND, "plugin", "driver", "toolkit", "cuda"),
    "mig": ("strategy",),
    "cdi": ("enabled", "nriPluginEnabled"),
    "psa": ("enabled",),
    "hostPaths": ("rootFS", "driverInstallDir"),
    "sandboxWorkloads": ("enabled", "defaultWorkload", "mode"),
    "driver": (
        "enabled", *_OPERAND, "rdma", "kernelModuleType", "usePrecompiled", "startupProbe", "manager", "secretEnv",
    ),
    "toolkit": ("enabled", *_OPERAND, "installDir"),
    "devicePlugin": ("enabled", *_OPERAND, "mps"),
    "gfd": ("enabled", *_OPERAND),
    "dcgm": ("enabled", *_OPERAND),
    "dcgmExporter": (
        "enabled", *_OPERAND, "serviceMonitor", "service", "enablePodLabels", "enablePodUID", "hpcJobMapping",
    ),
    "migManager": ("enabled", *_OPERAND, "gpuClientsConfig"),
    "nodeStatusExporter": ("enabled", *_OPERAND),
    "gds": ("enabled", *_OPERAND[:-1]),
    "gdrcopy": ("enabled", *_OPERAND[:-1]),
    "vgpuManager": ("enabled", *_OPERAND, "driverManager"),
    "vfioManager": ("enabled", *_OPERAND, "driverManager"),
    "vgpuDeviceManager": ("enabled", *_OPERAND),
    "ccManager": ("enabled", *_OPERAND, "defaultMode"),
    "sandboxDevicePlugin": ("enabled", *_OPERAND),
    "kataSandboxDevicePlugin": ("enabled", *_OPERAND),
}  # fmt: skip
_CONFIG_FIELDS = {"devicePlugin": ("name", "default"), "dcgmExporter": ("name",), "migManager": ("name", "default")}


def _switches() -> Iterator[Switch]:
    for section, fields in _FIELDS.items():
        for name in fields:
            yield Switch(f"{section}.{name}", put(POLICY, "spec", section, name))
    for section in _CONFIG_FIELDS:
        yield Switch(f"{section}.config", _config(section))
    yield Switch("driver.upgradePolicy", _upgrade_policy)
    yield Switch("clusterPolicy.deployCR", only_if(POLICY))
    yield from _of_operator()
    yield Switch("nfd.enabled", only_if(_NFD))
    yield from nfd.switches(nfd.NAME)


def _of_operator() -> Iterator[Switch]:
    for value, part in {"repository": "parent", "image": "name", "version": "tag"}.items():
        of_both = (image(each.container, part) for each in (OPERATOR, replace(UPGRADE, kinds="Job")))
        yield Switch(f"operator.{value}", both(*of_both))
    yield from named("operator", OPERATOR.pod, "priorityClassName imagePullSecrets")
    yield Switch("operator.upgradeCRD", only_if(UPGRADE))
    yield from scheduling("operator", OPERATOR)


def _upgrade_policy(objects: list[Object], value: Any, order: Order) -> list[Object]:
    """The values' `gpuPodDeletion` is the resource's `podDeletion`."""
    named = {"podDeletion" if key == "gpuPodDeletion" else key: each for key, each in value.items()}
    return put(POLICY, "spec", "driver", "upgradePolicy")(objects, named, order)


def _config(section: str) -> Effect:
    """An operand's configuration: the policy names its ConfigMap, which the chart makes itself if told to."""

    def effect(objects: list[Object], value: Any, order: Order) -> list[Object]:
        named = {key: value[key] for key in _CONFIG_FIELDS[section] if value.get(key)}
        objects = put(POLICY, "spec", section, "config")(objects, named, order)
        if not value.get("create"):
            return objects
        content = value.get("data")
        if not value.get("name") or not content:
            raise ChartError("values", f"gpu-operator: {section}.config.create needs both config.name and config.data")
        files = {"dcgm-metrics.csv": content} if isinstance(content, str) else content
        meta = {"name": value["name"], "namespace": order.namespace}
        return [*objects, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": files}]

    return effect


RULES = Rules(tuple(_switches()))
