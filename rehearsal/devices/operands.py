"""The DaemonSets NVIDIA's GPU operator makes from a ClusterPolicy. Pure.

Source: gpu-operator v26.3.3, assets/state-* (names, node selectors, init containers) and controllers/object_controls.go
(tolerations, priority class and update strategy from `spec.daemonsets`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.devices import exporter_operand

Object = dict[str, Any]
RUNTIME_CLASS = "nvidia"
PRESENT = "nvidia.com/gpu.present"
DEPLOY = "nvidia.com/gpu.deploy."
CONFIGURATIONS = "available-configs"


@dataclass(frozen=True)
class Operand:
    """One operand: its key in the ClusterPolicy, its DaemonSet, container, switch label and what it waits for."""

    key: str
    name: str
    container: str
    switch: str
    waits: tuple[str, ...] = ()
    runtime: bool = True
    optional: bool = True


OPERANDS = (
    Operand("driver", "nvidia-driver-daemonset", "nvidia-driver-ctr", "driver", runtime=False),
    Operand(
        "toolkit",
        "nvidia-container-toolkit-daemonset",
        "nvidia-container-toolkit-ctr",
        "container-toolkit",
        ("driver-validation",),
        runtime=False,
    ),
    Operand(
        "validator",
        "nvidia-operator-validator",
        "nvidia-operator-validator",
        "operator-validator",
        ("driver-validation", "toolkit-validation", "plugin-validation"),
        optional=False,
    ),
    Operand(
        "devicePlugin",
        "nvidia-device-plugin-daemonset",
        "nvidia-device-plugin",
        "device-plugin",
        ("toolkit-validation",),
    ),
    Operand("gfd", "gpu-feature-discovery", "gpu-feature-discovery", "gpu-feature-discovery", ("toolkit-validation",)),
    Operand("dcgm", "nvidia-dcgm", "nvidia-dcgm-ctr", "dcgm", ("toolkit-validation",)),
    Operand("dcgmExporter", "nvidia-dcgm-exporter", "nvidia-dcgm-exporter", "dcgm-exporter", ("toolkit-validation",)),
    Operand("migManager", "nvidia-mig-manager", "nvidia-mig-manager", "mig-manager", ("toolkit-validation",)),
    Operand(
        "nodeStatusExporter",
        "nvidia-node-status-exporter",
        "nvidia-node-status-exporter",
        "node-status-exporter",
        ("toolkit-validation",),
    ),
)


def enabled(operand: Operand, spec: Mapping[str, Any]) -> bool:
    """Whether the ClusterPolicy asks for the operand."""
    return not operand.optional or bool((spec.get(operand.key) or {}).get("enabled"))


def switches(spec: Mapping[str, Any], mig_capable: bool) -> dict[str, str]:
    """The labels the operator puts on a GPU node: present, and one switch per enabled operand."""
    wanted = [o for o in OPERANDS if enabled(o, spec) and (o.key != "migManager" or mig_capable)]
    return {PRESENT: "true", **{DEPLOY + operand.switch: "true" for operand in wanted}}


def daemonset(operand: Operand, policy: Mapping[str, Any], namespace: str) -> Object:
    """The DaemonSet of an operand. It belongs to the ClusterPolicy and goes with it."""
    spec, common = policy["spec"], policy["spec"].get("daemonsets") or {}
    own = spec.get(operand.key) or {}
    labels = {"app": operand.name, "app.kubernetes.io/managed-by": "gpu-operator", **(common.get("labels") or {})}
    pod: Object = {
        "serviceAccountName": operand.name.removesuffix("-daemonset"),
        "nodeSelector": {DEPLOY + operand.switch: "true"},
        "tolerations": common.get("tolerations") or [],
        "priorityClassName": common.get("priorityClassName") or "system-node-critical",
        "initContainers": [_wait(each, spec) for each in operand.waits],
        "containers": [_container(operand, own, spec)],
    }
    if (source := _configurations(operand, spec)) and (file := source.get("name")):
        pod["volumes"] = [{"name": CONFIGURATIONS, "configMap": {"name": file}}]
    if operand.key == "dcgmExporter":
        exporter_operand.complete(pod, own)
    if operand.runtime:
        pod["runtimeClassName"] = (spec.get("operator") or {}).get("runtimeClass") or RUNTIME_CLASS
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": operand.name,
            "namespace": namespace,
            "labels": labels,
            "ownerReferences": [owner(policy)],
        },
        "spec": {
            "selector": {"matchLabels": {"app": operand.name}},
            "updateStrategy": _strategy(operand, common),
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _configurations(operand: Operand, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where the device plugin, and feature discovery after it, have their configurations from."""
    found: Mapping[str, Any] = (spec.get("devicePlugin") or {}).get("config") or {}
    return found if operand.key in ("devicePlugin", "gfd") else {}


def _container(operand: Operand, own: Mapping[str, Any], spec: Mapping[str, Any]) -> Object:
    strategy = (spec.get("mig") or {}).get("strategy") or "none"
    told = [{"name": "MIG_STRATEGY", "value": strategy}] if operand.key in ("devicePlugin", "gfd") else []
    container: Object = {
        "name": operand.container,
        "image": image(own),
        "env": [*(own.get("env") or []), *told],
        "resources": own.get("resources") or {},
        "securityContext": {"privileged": True},
    }
    if (source := _configurations(operand, spec)).get("name"):
        # In life a side-car copies the chosen one to where the container looks, and signals it.
        container["volumeMounts"] = [{"name": CONFIGURATIONS, "mountPath": f"/{CONFIGURATIONS}"}]
        container["env"].append({"name": "DEFAULT_CONFIG", "value": source.get("default") or ""})
    if own.get("args"):
        container["args"] = own["args"]
    return container


def image(own: Mapping[str, Any]) -> str:
    """The image of a part of a ClusterPolicy: a version may be a tag or a digest."""
    repository, name, version = own.get("repository"), own.get("image") or "gpu-operator", own.get("version")
    whole = f"{repository}/{name}" if repository else str(name)
    if not version:
        return whole
    return f"{whole}@{version}" if str(version).startswith("sha256:") else f"{whole}:{version}"


def _wait(name: str, spec: Mapping[str, Any]) -> Object:
    own = {"repository": "nvcr.io/nvidia", "image": "gpu-operator", **(spec.get("validator") or {})}
    return {"name": name, "image": image(own), "securityContext": {"privileged": True}}


def _strategy(operand: Operand, common: Mapping[str, Any]) -> Object:
    if operand.key == "driver" or common.get("updateStrategy") == "OnDelete":
        return {"type": "OnDelete"}
    most = (common.get("rollingUpdate") or {}).get("maxUnavailable") or "1"
    return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": int(most) if str(most).isdigit() else most}}


def owner(policy: Mapping[str, Any]) -> Object:
    """The reference by which what is made of a policy goes with it."""
    meta = policy["metadata"]
    return {
        "apiVersion": policy["apiVersion"],
        "kind": policy["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def companions(operand: Operand, policy: Mapping[str, Any], namespace: str) -> list[Object]:
    """What an operand needs besides its DaemonSet: a service account, and the exporter's Service and ServiceMonitor."""
    owned = {"ownerReferences": [owner(policy)]}
    account = operand.name.removesuffix("-daemonset")
    result: list[Object] = [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": account, "namespace": namespace, **owned},
        }
    ]
    if operand.key == "dcgmExporter":
        own = policy["spec"].get(operand.key) or {}
        result.append(exporter_operand.service(operand.name, namespace, owned))
        if monitor := exporter_operand.monitor(operand.name, namespace, own, owned):
            result.append(monitor)
    return result


def runtime_class(policy: Mapping[str, Any]) -> Object:
    """The RuntimeClass the operands run under."""
    name = (policy["spec"].get("operator") or {}).get("runtimeClass") or RUNTIME_CLASS
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": name, "ownerReferences": [owner(policy)]},
        "handler": "nvidia",
    }
