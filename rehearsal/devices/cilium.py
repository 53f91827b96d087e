"""Cilium's agent, which makes the network of its node's pods once it reaches the API server, and its operator, which
makes the definitions of policies when it starts.

Source: Cilium documentation, "Kubernetes Without kube-proxy": where no kube-proxy stands in for the Service of the API
server, agents must be told its address (k8sServiceHost), since it is they who make Services work; cilium v1.20,
pkg/k8s/apis/cilium.io/client/register.go (CreateCustomResourceDefinitions).
"""

from collections.abc import Mapping
from typing import Any

import yaml

from rehearsal.charts.played import definitions
from rehearsal.devices.reconciling import Reconciling
from rehearsal.kubelet.program import Launch, Program, failed
from rehearsal.kubelet.world import World

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
_POLICIES = (
    ("CiliumClusterwideNetworkPolicy", "ciliumclusterwidenetworkpolicies", "Cluster"),
    ("CiliumNetworkPolicy", "ciliumnetworkpolicies", "Namespaced"),
)
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


def agent(launch: Launch) -> Program:
    """Runs where it reaches the API server; else it ends, in its own words."""
    address = (launch.env.get(HOST, ""), launch.env.get(PORT, "443"))
    known = endpoints(launch.world)
    if known and address not in known:
        asked = f"{address[0] or 'the Service kubernetes'}:{address[1]}"
        page = f"https://{asked}/api/v1/namespaces/kube-system"
        return failed(launch, f"Unable to contact k8s api-server: Get {page}: i/o timeout")
    return Program()


class Operator(Reconciling):
    """The definitions are made once, when it starts."""

    NAME = "cilium-operator"

    def _reconcile(self) -> None:
        for kind, plural, scope in _POLICIES:
            names = {"kind": kind, "plural": plural}
            definition = {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{plural}.cilium.io"},
                "spec": {"group": "cilium.io", "names": names, "scope": scope, "versions": [{"name": "v2"}]},
            }
            self._world.kube.apply(definitions.whole(definition), self.NAME, force=True)
        self.stop()


def endpoints(world: World) -> set[tuple[str, str]]:
    """Where kubeadm's cluster has its API server: the address that it gives to nodes, and each machine of the control
    plane. Nothing of a cluster that kubeadm has not made.
    """
    config = world.find("configmaps", "kubeadm-config", "kube-system")
    told: Mapping[str, Any] = yaml.safe_load(((config or {}).get("data") or {}).get("ClusterConfiguration") or "") or {}
    host, _, port = str(told.get("controlPlaneEndpoint") or "").rpartition(":")
    if not host:
        return set()
    nodes = [each for each in world.stores["nodes"].all() if CONTROL_PLANE in (each["metadata"].get("labels") or {})]
    addresses = [each["address"] for node in nodes for each in (node.get("status") or {}).get("addresses") or []]
    return {(host, port), *((address, port) for address in addresses)}
