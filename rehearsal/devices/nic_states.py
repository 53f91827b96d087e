"""What NVIDIA's network operator makes of a NicClusterPolicy, state by state. Pure.

Source: Mellanox/network-operator v26.4.1, manifests/state-ofed-driver, state-rdma-shared-device-plugin,
state-sriov-device-plugin, state-multus-cni, state-container-networking-plugins and state-nv-ipam-cni (names, selectors,
tolerations; nvIpam brings the definitions of its pools).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rehearsal.charts.played import definitions
from rehearsal.devices import operands
from rehearsal.devices.daemons import FEATURES

Object = dict[str, Any]
CARDS = f"{FEATURES}pci-15b3.present"
WAIT = "network.nvidia.com/operator.mofed.wait"
CONFIG, FILE = "rdma-devices", "config.json"
PLUGIN, DRIVER = "rdma-shared-dp", "mofed"
PORTS_CONFIG, PORTS = "network-operator-sriovdp-config", "kube-sriovdp"
GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_ON_CARDS = {CARDS: "true", WAIT: "false"}
_POOLS = (("IPPool", "ippools"), ("CIDRPool", "cidrpools"))


def objects(policy: Mapping[str, Any], namespace: str) -> Iterator[Object]:
    """What the operator makes of a policy. They go with it."""
    spec, owner = policy["spec"], operands.owner(policy)
    tolerations = [*(spec.get("tolerations") or []), GPU]

    def daemon(name: str, container: str, part: Mapping[str, Any], selector: Mapping[str, str]) -> Object:
        return _daemon(name, namespace, owner, container, part, tolerations, selector)

    if driver := spec.get("ofedDriver"):
        yield daemon(f"{DRIVER}-ds", f"{DRIVER}-container", driver, {CARDS: "true"})
    for key, config, container in (
        ("rdmaSharedDevicePlugin", CONFIG, PLUGIN),
        ("sriovDevicePlugin", PORTS_CONFIG, PORTS),
    ):
        if plugin := spec.get(key):
            yield _file(config, namespace, owner, plugin.get("config") or "")
            name = f"{PLUGIN}-ds" if container == PLUGIN else "network-operator-sriov-device-plugin"
            made = daemon(name, container, plugin, _ON_CARDS)
            pod = made["spec"]["template"]["spec"]
            pod["volumes"] = [{"name": "config", "configMap": {"name": config}}]
            place = "/k8s-rdma-shared-dev-plugin" if container == PLUGIN else "/etc/pcidp"
            pod["containers"][0]["volumeMounts"] = [{"name": "config", "mountPath": place}]
            yield made
    second = spec.get("secondaryNetwork") or {}
    if plugins := second.get("cniPlugins"):
        yield daemon("cni-plugins-ds", "cni-plugins", plugins, {})
    if multus := second.get("multus"):
        made = daemon("kube-multus-ds", "kube-multus", multus, {})
        given = multus.get("containerResources") or []
        for each in (each for each in given if each["name"] == "kube-multus"):
            resources = {key: each[key] for key in ("requests", "limits") if key in each}
            made["spec"]["template"]["spec"]["containers"][0]["resources"] = resources
        yield made
    if ipam := spec.get("nvIpam"):
        yield from (_definition(*names, owner) for names in _POOLS)
        yield daemon("nv-ipam-node", "nv-ipam-node", ipam, {})
        yield _controller(daemon("nv-ipam-controller", "nv-ipam-controller", ipam, {}))


def ready(made: Mapping[str, Any], found: Mapping[str, Any] | None) -> bool:
    """Whether what was made of a policy works (pkg/state/state_skel.go): a DaemonSet without a node does not."""
    status = (found or {}).get("status") or {}
    if made["kind"] == "DaemonSet":
        wanted = int(status.get("desiredNumberScheduled") or 0)
        return wanted > 0 and int(status.get("numberReady") or 0) >= wanted
    return made["kind"] != "Deployment" or int(status.get("availableReplicas") or 0) > 0


def _file(name: str, namespace: str, owner: Object, text: str) -> Object:
    meta = {"name": name, "namespace": namespace, "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {FILE: text}}


def _definition(kind: str, plural: str, owner: Object) -> Object:
    group = "nv-ipam.nvidia.com"
    named = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [{"name": "v1alpha1"}],
        },
    }
    found = definitions.whole(named)
    return {**found, "metadata": {**found["metadata"], "ownerReferences": [owner]}}


def _controller(daemon: Object) -> Object:
    """The same pod, once in the cluster."""
    spec = {"replicas": 1, "selector": daemon["spec"]["selector"], "template": daemon["spec"]["template"]}
    return {**daemon, "kind": "Deployment", "spec": spec}


def _daemon(
    name: str,
    namespace: str,
    owner: Object,
    container: str,
    part: Mapping[str, Any],
    tolerations: list[Object],
    selector: Mapping[str, str],
) -> Object:
    labels = {"app": name.removesuffix("-ds")}
    pod = {
        "hostNetwork": True,
        "priorityClassName": "system-node-critical",
        "tolerations": tolerations,
        "nodeSelector": dict(selector),
        "containers": [
            {"name": container, "image": operands.image(part), "securityContext": {"privileged": True}},
        ],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace, "ownerReferences": [owner]},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
    }
