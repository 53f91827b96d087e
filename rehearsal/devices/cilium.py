"""Cilium's agent: it makes the network of its node's pods, once it reaches the API server.

Source: Cilium documentation, "Kubernetes Without kube-proxy": where no kube-proxy stands in for the Service of the API
server, agents must be told its address (k8sServiceHost), since it is they who make Services work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from rehearsal.kubelet.program import Ends, Exit, Launch, Program
from rehearsal.kubelet.world import World

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


def agent(launch: Launch) -> Program:
    """Runs where it reaches the API server; else it ends, in its own words."""
    address = (launch.env.get(HOST, ""), launch.env.get(PORT, "443"))
    known = endpoints(launch.world)
    if known and address not in known:
        asked = f"{address[0] or 'the Service kubernetes'}:{address[1]}"
        text = f"Unable to contact k8s api-server: Get https://{asked}/api/v1/namespaces/kube-system: i/o timeout"
        launch.log(text)
        return Ends(launch.now, Exit(1, text))
    return Program()


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
