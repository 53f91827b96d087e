"""Rules about what operators of the fabric bring to nodes: RDMA devices, their plugin, and the network of pods."""

import json
import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from policy.gangs import metadata_of, spec_of
from policy.graph import UNKNOWN, Graph, Resource
from policy.owners import IN_CHARTS, chart_of, value_at
from policy.places import machines
from policy.pods import is_kubernetes, pods
from policy.rule import Finding, rule

PLUGINS = {
    "rdmaSharedDevicePlugin": ("configList", "resourcePrefix", "rdma"),
    "sriovDevicePlugin": ("resourceList", "resourcePrefix", "nvidia.com"),
}
"""By part of a NicClusterPolicy: where its configuration lists resources, the key of their prefix, and its default."""


NIC_POLICY = "nic-cluster-policy"
"""The one name that the network operator reconciles (controllers/nicclusterpolicy_controller.go)."""


def _policies(graph: Graph) -> list[Resource]:
    return [each for each in graph.of_type("NicClusterPolicy") if is_kubernetes(each)]


def _given(each: Resource) -> Iterator[str] | None:
    """Resources that the plugins of a NicClusterPolicy give; None where nobody can tell."""
    found: list[str] = []
    for part, (where, key, usual) in PLUGINS.items():
        text = (spec_of(each).get(part) or {}).get("config")
        try:
            content: Any = json.loads(text) if text else {}
        except ValueError:
            return None
        for one in content.get(where) or []:
            found.append(f"{one.get(key) or usual}/{one.get('resourceName')}")
    return iter(found)


def _asked(graph: Graph) -> Iterator[tuple[str, str]]:
    """(logical name, resource) of each RDMA device that a pod asks for."""
    for pod in pods(graph):
        for container in pod.containers:
            for name in (container.get("resources") or {}).get("limits") or {}:
                if name.startswith("rdma/"):
                    yield pod.owner, name


@rule(
    source="NVIDIA network operator 26.4: NicClusterPolicy, rdmaSharedDevicePlugin.config (resourceName); "
    "Kubernetes: a pod that asks for a resource of which no node has any stays Pending",
    remedy="let the pods ask for PREFIX/resourceName as the plugin's configuration says it",
)
def rdma_devices_are_given(graph: Graph) -> Iterator[Finding]:
    """The RDMA resources that pods ask for are those of the device plugins."""
    given: set[str] = set()
    for each in _policies(graph):
        if UNKNOWN in str(each.inputs) or (names := _given(each)) is None:
            return
        given |= set(names)
    for owner, name in dict.fromkeys(_asked(graph)) if given else ():
        if name not in given:
            yield owner, f"asks for {name}; the device plugins give {', '.join(sorted(given))}"


@rule(
    source="NVIDIA network operator: NicClusterPolicy.spec.tolerations; Kubernetes: "
    "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    remedy="spec.tolerations of the NicClusterPolicy: the key of each taint, operator Exists",
)
def fabric_plugins_reach_their_nodes(graph: Graph) -> Iterator[Finding]:
    """The daemons of the network operator tolerate the taints with which GPU machines join."""
    if not dict(_asked(graph)):
        return
    for each in _policies(graph):
        if (name := metadata_of(each).get("name")) not in (NIC_POLICY, UNKNOWN):
            yield each.name, f"is called {name}; the network operator looks at {NIC_POLICY} alone"
        tolerations: list[Mapping[str, Any]] = spec_of(each).get("tolerations") or []
        for key in sorted({taint["key"] for one in machines(graph) for taint in one.taints}):
            if key.startswith("nvidia.com/") and not any(one.get("key") in (None, key) for one in tolerations):
                yield each.name, f"tolerates no taint {key}, with which machines join: none has an RDMA device"


@rule(
    source="Cilium: https://docs.cilium.io/en/stable/network/kubernetes/kubeproxy-free/: without kube-proxy the "
    "address of the Service kubernetes leads nowhere until Cilium runs, which needs the API server to start",
    remedy="k8sServiceHost and k8sServicePort: the API server's own address, of a balancer where there are several; "
    "kubeProxyReplacement: true; pod addresses outside of kubeadm's serviceSubnet",
)
def cilium_finds_the_api(graph: Graph) -> Iterator[Finding]:
    """Cilium stands in for a kube-proxy that is not there, is told where the API server is, and has own addresses."""
    for each in graph.of_type(*IN_CHARTS):
        values: Mapping[str, Any] = (each.inputs.get("values") or {}) if chart_of(each) == "cilium" else {}
        replaces = str(values.get("kubeProxyReplacement")).lower() in ("true", "strict")
        if values and not replaces and re.search(r"skipPhases:\s*\n\s*- addon/kube-proxy", _told(graph)):
            yield each.name, "replaces no kube-proxy, and kubeadm installs none: no Service has a way to its pods"
        pods_ = _listed(value_at(values, "ipam.operator.clusterPoolIPv4PodCIDRList"))
        services = re.search(r"serviceSubnet: ([\d./]+)", _told(graph))
        for one in pods_ if services else ():
            if services and ip_network(one, strict=False).overlaps(ip_network(services[1], strict=False)):
                yield each.name, f"gives pods {one}, which shares addresses with {services[1]} of Services"
        if replaces and not values.get("k8sServiceHost"):
            yield each.name, "replaces kube-proxy and has no k8sServiceHost: no agent reaches the API server"


@rule(
    source="chart cilium 1.19, values.yaml: operator.replicas is 2, operator.hostNetwork and a required anti-affinity: "
    "the second stays Pending, and a release that waits for it is rolled back",
    remedy="operator.replicas: 1 where there is one node",
)
def cilium_operators_have_nodes(graph: Graph) -> Iterator[Finding]:
    """Cilium's operators are no more than the machines: each takes ports of its node."""
    there = len(machines(graph))
    for each in graph.of_type(*IN_CHARTS) if there else ():
        given = ((each.inputs.get("values") or {}).get("operator") or {}).get("replicas", 2)
        if chart_of(each) == "cilium" and isinstance(given, int) and given > there:
            yield each.name, f"has {given} operators for {there} machines: one stays Pending"


def _told(graph: Graph) -> str:
    """What is handed to the machines: kubeadm's configuration among it."""
    return "\n".join(str(each.inputs.get("stdin") or "") for each in graph.of_type("Command"))


def _listed(value: Any) -> list[str]:
    return [str(each) for each in value or []] if not isinstance(value, str) else value.split()
