"""The Node object of a host that joined: what its kubelet finds on the machine as it was prepared, and what it keeps.

Sources: kubeadm v1beta4 (nodeRegistration), kubelet.config.k8s.io/v1beta1 (maxPods, kubeReserved, systemReserved,
evictionHard), Kubernetes documentation, "Reserve compute resources for system daemons": allocatable is capacity less
both reserves and the hard eviction threshold.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import yaml

from rehearsal.kube.quantities import parse
from rehearsal.metal.machine import Machine

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
KUBELET_HOME = "/var/lib/kubelet"
DEFAULT_PODS = 110
# The kernel and the firmware keep about 1.5 % of a server's memory: what /proc/meminfo shows.
SEEN_MEMORY = 0.985
KIB, GB = 1024, 10**9


def documents(text: str) -> dict[str, dict[str, Any]]:
    """The documents of a kubeadm file by their kind."""
    found = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)]
    return {str(each.get("kind")): each for each in found}


def node(machine: Machine, registration: Mapping[str, Any], *, control_plane: bool) -> dict[str, Any]:
    """The object that the kubelet registers. A control plane node has kubeadm's taint unless `taints` is said."""
    extra = {each["name"]: str(each["value"]) for each in registration.get("kubeletExtraArgs") or []}
    name = str(registration.get("name") or machine.name)
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        **dict(each.split("=", 1) for each in extra.get("node-labels", "").split(",") if "=" in each),
        **({CONTROL_PLANE: ""} if control_plane else {}),
    }
    taints = registration.get("taints")
    if taints is None:
        taints = [{"key": CONTROL_PLANE, "effect": "NoSchedule"}] if control_plane else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {"taints": taints},
    }


def status(machine: Machine, question: Mapping[str, str], version: str) -> dict[str, Any]:
    """What the kubelet reports of the machine; not ready before there is a pod network."""
    config = yaml.safe_load(question.get("kubelet") or "") or {}
    capacity = {
        "cpu": str(machine.cores),
        "memory": f"{int(machine.memory_gib * SEEN_MEMORY * KIB * KIB)}Ki",
        "ephemeral-storage": f"{_disk_bytes(machine, question) // KIB}Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "pods": str(config.get("maxPods", DEFAULT_PODS)),
    }
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {
        "type": "Ready",
        "status": "False",
        "reason": "KubeletNotReady",
        "message": "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
        "message:Network plugin returns error: cni plugin not initialized",
        "lastHeartbeatTime": stamp,
        "lastTransitionTime": stamp,
    }
    return {
        "addresses": [
            {"type": "InternalIP", "address": machine.address},
            {"type": "Hostname", "address": machine.name},
        ],
        "capacity": capacity,
        "allocatable": _allocatable(capacity, config),
        "conditions": [ready],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": question.get("boot", ""),
            "containerRuntimeVersion": f"containerd://{question.get('containerd', '')}",
            "kernelVersion": machine.kernel,
            "kubeProxyVersion": "",
            "kubeletVersion": version,
            "machineID": machine.serial,
            "operatingSystem": "linux",
            "osImage": f"{machine.system.capitalize()} {machine.release}",
            "systemUUID": machine.serial,
        },
    }


def _disk_bytes(machine: Machine, question: Mapping[str, str]) -> int:
    """The file system below the kubelet's directory: the array that is mounted there, else the system's drive."""
    arrays = json.loads(question.get("arrays") or "{}")
    for mount in json.loads(question.get("mounts") or "[]"):
        if mount["where"] == KUBELET_HOME and mount["what"] in arrays:
            drives = arrays[mount["what"]]["drives"]
            return sum(each.gb * GB for each in machine.drives if each.name in drives)
    return sum(each.gb * GB for each in machine.drives if each.mounted == "/") or 64 * GB


def _allocatable(capacity: Mapping[str, str], config: Mapping[str, Any]) -> dict[str, str]:
    kept = [config.get(key) or {} for key in ("kubeReserved", "systemReserved")]
    cpu = parse(capacity["cpu"]) - sum(parse(str(each.get("cpu", "0"))) for each in kept)
    memory = parse(capacity["memory"]) - sum(parse(str(each.get("memory", "0"))) for each in kept)
    eviction = (config.get("evictionHard") or {}).get("memory.available", "100Mi")
    memory -= parse(str(eviction))
    disk = parse(capacity["ephemeral-storage"]) * 9 / 10
    return {
        **capacity,
        "cpu": f"{int(cpu * 1000)}m",
        "memory": f"{int(memory) // KIB}Ki",
        "ephemeral-storage": str(int(disk)),
    }
