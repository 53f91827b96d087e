"""Chart gpu-operator: the operator, node feature discovery and the ClusterPolicy that carries the values.

The operands (device plugin, GFD, DCGM exporter, ...) are made by the operator's pod from the ClusterPolicy, not here.
Hook jobs (CRD upgrade, clean-up) are not rendered. Source: NVIDIA/gpu-operator v26.3.3, deployments/gpu-operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rehearsal.effects.charts.manifests import READ, WRITE, Object, Release, Rule, at, merged
from rehearsal.effects.charts.nfd import nfd_objects

TOOLCHAIN_CRDS = ""
UPSTREAM_CRDS = (
    ("nvidia.com", "clusterpolicies", "ClusterPolicy", False, ("v1",)),
    ("nvidia.com", "nvidiadrivers", "NVIDIADriver", False, ("v1alpha1",)),
    ("nfd.k8s-sigs.io", "nodefeatures", "NodeFeature", True, ("v1alpha1",)),
    ("nfd.k8s-sigs.io", "nodefeaturegroups", "NodeFeatureGroup", True, ("v1alpha1",)),
    ("nfd.k8s-sigs.io", "nodefeaturerules", "NodeFeatureRule", False, ("v1alpha1",)),
)
_NGC = "nvcr.io/nvidia"
_GPU_TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}


def _image(repository: str, name: str, version: str, enabled: bool = True) -> Object:
    return {"enabled": enabled, "repository": repository, "image": name, "version": version}


DEFAULTS: Object = {
    "nfd": {"enabled": True},
    "clusterPolicy": {"deployCR": True},
    "daemonsets": {
        "priorityClassName": "system-node-critical",
        "tolerations": [_GPU_TAINT],
        "updateStrategy": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "1"},
    },
    "operator": {
        "repository": _NGC,
        "image": "gpu-operator",
        "runtimeClass": "nvidia",
        "priorityClassName": "system-node-critical",
        "tolerations": [_CONTROL_PLANE],
        "resources": {"limits": {"cpu": "500m", "memory": "350Mi"}, "requests": {"cpu": "200m", "memory": "100Mi"}},
    },
    "mig": {"strategy": "single"},
    "cdi": {"enabled": True},
    "validator": {"repository": _NGC, "image": "gpu-operator"},
    "driver": _image(_NGC, "driver", "580.126.20"),
    "toolkit": _image(f"{_NGC}/k8s", "container-toolkit", "v1.19.1"),
    "devicePlugin": _image(_NGC, "k8s-device-plugin", "v0.19.3"),
    "gfd": _image(_NGC, "k8s-device-plugin", "v0.19.3"),
    "dcgm": _image(f"{_NGC}/cloud-native", "dcgm", "4.5.2-1-ubuntu22.04", enabled=False),
    "dcgmExporter": _image(f"{_NGC}/k8s", "dcgm-exporter", "4.5.3-4.8.2-distroless"),
    "migManager": {
        **_image(f"{_NGC}/cloud-native", "k8s-mig-manager", "v0.14.2"),
        "config": {"default": "all-disabled"},
    },
    "nodeStatusExporter": _image(_NGC, "gpu-operator", "", enabled=False),
    "sandboxWorkloads": {"enabled": False},
    "gds": _image(f"{_NGC}/cloud-native", "nvidia-fs", "2.27.3", enabled=False),
    "gdrcopy": _image(f"{_NGC}/cloud-native", "gdrdrv", "v2.5.2", enabled=False),
}
# The fields of ClusterPolicy's sections that values of the same name fill (nvidia.com/v1).
_OPERAND = (
    "enabled",
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
    "validator": (*_OPERAND[1:], "plugin", "driver", "toolkit", "cuda"),
    "mig": ("strategy",),
    "cdi": ("enabled", "nriPluginEnabled"),
    "psa": ("enabled",),
    "hostPaths": ("rootFS", "driverInstallDir"),
    "sandboxWorkloads": ("enabled", "defaultWorkload", "mode"),
    "driver": (*_OPERAND, "rdma", "kernelModuleType", "usePrecompiled", "startupProbe", "manager", "secretEnv"),
    "toolkit": (*_OPERAND, "installDir"),
    "devicePlugin": (*_OPERAND, "mps"),
    "gfd": _OPERAND,
    "dcgm": _OPERAND,
    "dcgmExporter": (*_OPERAND, "serviceMonitor", "service", "enablePodLabels", "enablePodUID", "hpcJobMapping"),
    "migManager": (*_OPERAND, "gpuClientsConfig"),
    "nodeStatusExporter": _OPERAND,
    "gds": tuple(field for field in _OPERAND if field != "resources"),
    "gdrcopy": tuple(field for field in _OPERAND if field != "resources"),
}
_WITH_CONFIG = ("devicePlugin", "dcgmExporter", "migManager")
RULES: tuple[Rule, ...] = (
    (["nvidia.com"], ["*"], [*READ, *WRITE]),
    (["apps"], ["daemonsets", "deployments", "controllerrevisions"], [*READ, *WRITE]),
    ([""], ["nodes", "pods", "pods/eviction", "events", "services", "configmaps", "serviceaccounts"], [*READ, *WRITE]),
    (["node.k8s.io"], ["runtimeclasses"], [*READ, *WRITE]),
    (["nfd.k8s-sigs.io"], ["nodefeatures", "nodefeaturerules"], [*READ, *WRITE]),
)


def objects(release: Release) -> list[Object]:
    """The objects of the release. Raises ValueError where the chart's templates would fail."""
    values = merged(DEFAULTS, release.values)
    account, labels = "gpu-operator", {"app": "gpu-operator", "app.kubernetes.io/component": "gpu-operator"}
    made = [
        release.account(account),
        *release.cluster_role(account, RULES, account),
        release.deployment("gpu-operator", labels, _operator_pod(release, values, account)),
        *_configmaps(release, values),
    ]
    if at(values, "nfd.enabled"):
        made += nfd_objects(release, values)
    return made + ([_policy(release, values)] if at(values, "clusterPolicy.deployCR") else [])


def _operator_pod(release: Release, values: Object, account: str) -> Object:
    operator = values["operator"]
    image = f"{operator['repository']}/{operator['image']}:{operator.get('version') or release.version}"
    main = {
        "name": "gpu-operator",
        "image": image,
        "command": ["gpu-operator"],
        "args": ["--leader-elect"],
        "env": [{"name": "OPERATOR_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
        "resources": operator["resources"],
        "ports": [{"name": "metrics", "containerPort": 8080}],
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": 8081},
            "initialDelaySeconds": 15,
            "periodSeconds": 20,
        },
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}, "initialDelaySeconds": 5, "periodSeconds": 10},
    }
    return {
        "serviceAccountName": account,
        "priorityClassName": operator["priorityClassName"],
        "tolerations": operator["tolerations"],
        "nodeSelector": operator.get("nodeSelector"),
        "affinity": operator.get("affinity"),
        "containers": [main],
    }


def _policy(release: Release, values: Object) -> Object:
    spec: dict[str, Any] = {}
    for section, fields in _FIELDS.items():
        given = values.get(section) or {}
        spec[section] = {field: given[field] for field in fields if given.get(field) not in (None, "", [], {})}
        if section in _WITH_CONFIG and (chosen := _config(section, given)):
            spec[section]["config"] = chosen
        if given.get("image") == "gpu-operator" and section in ("validator", "nodeStatusExporter"):
            spec[section].setdefault("version", release.version)
    if policy := _upgrade_policy(values):
        spec["driver"]["upgradePolicy"] = policy
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy", "labels": {"app.kubernetes.io/component": "gpu-operator"}},
        "spec": {section: content for section, content in spec.items() if content},
    }


def _upgrade_policy(values: Object) -> Object:
    """The values' `gpuPodDeletion` is the resource's `podDeletion`."""
    given = dict(at(values, "driver.upgradePolicy", {}))
    if "gpuPodDeletion" in given:
        given["podDeletion"] = given.pop("gpuPodDeletion")
    return given


def _config(section: str, given: Mapping[str, Any]) -> Object:
    config = given.get("config") or {}
    fields = ("name",) if section == "dcgmExporter" else ("name", "default")
    return {field: config[field] for field in fields if config.get(field)}


def _configmaps(release: Release, values: Object) -> list[Object]:
    """ConfigMaps the chart makes itself (`config.create`)."""
    made = []
    for section in _WITH_CONFIG:
        config = at(values, f"{section}.config", {})
        if not config.get("create"):
            continue
        data = config.get("data")
        if not config.get("name") or not data:
            raise ValueError(f"gpu-operator: {section}.config.create needs both config.name and config.data")
        text = {"dcgm-metrics.csv": data} if isinstance(data, str) else data
        made.append(release.configmap(str(config["name"]), text))
    return made
