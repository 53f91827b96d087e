"""NVIDIA's network operator while its pod runs, and nvidia-k8s-ipam's controller, which it makes of a policy.

Source: Mellanox/network-operator v26.4.1, controllers/nicclusterpolicy_controller.go (one policy, by its name; the
label that says that nobody waits for drivers any more), controllers/hostdevicenetwork_controller.go and
manifests/state-hostdevice-network (the network of one, in a namespace that is there); nvidia-k8s-ipam,
pkg/ipam-controller/allocator (a block for each node that the pool selects, as long as there is one).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any

from rehearsal.devices import nic_states, operands
from rehearsal.devices.nic_states import CARDS, DRIVER, WAIT
from rehearsal.devices.reconciling import Reconciling
from rehearsal.kube.client import ApiError
from rehearsal.kubelet.attaching import NETWORK, POOL, RESOURCE
from rehearsal.kubelet.program import Launch

Object = dict[str, Any]
MANAGER = "network-operator"
KIND = ("mellanox.com/v1alpha1", "NicClusterPolicy")
HOST_DEVICE = ("mellanox.com/v1alpha1", "HostDeviceNetwork")
POLICY = "nic-cluster-policy"
PREFIX = "nvidia.com/"
NOT_FOUND = 404


class NetworkOperator(Reconciling):
    """Compares policy, networks and nodes with what is there, and does the rest."""

    NAME = MANAGER

    def __init__(self, launch: Launch) -> None:
        self._said = ""
        super().__init__(launch)

    def _reconcile(self) -> None:
        for network in self._world.kube.list(*HOST_DEVICE):
            if not network["metadata"].get("deletionTimestamp"):
                self._attachable(network)
        policy = self._world.kube.get(*KIND, POLICY)
        if policy is None or policy["metadata"].get("deletionTimestamp"):
            self._said = ""
            return
        waits = bool(policy["spec"].get("ofedDriver"))
        for node in self._world.stores["nodes"].all():
            self._label(node, waits=waits)
        made = list(nic_states.objects(policy, self._namespace))
        for each in made:
            if each["kind"] not in ("DaemonSet", "Deployment") or self._found(each) is None or self._said == "":
                self._world.kube.apply(each, MANAGER, force=True)
        state = "ready" if all(nic_states.ready(each, self._found(each)) for each in made) else "notReady"
        if state != self._said:
            self._world.kube.patch(*KIND, POLICY, None, {"status": {"state": state}}, "status")
            self._said = state

    def _found(self, made: Mapping[str, Any]) -> Object | None:
        store = {"DaemonSet": "daemonsets", "Deployment": "deployments"}.get(made["kind"])
        return self._world.find(store, made["metadata"]["name"], self._namespace) if store else None

    def _attachable(self, network: Object) -> None:
        """The network of an object, in the namespace that it says."""
        state = "ready"
        try:
            self._world.kube.apply(host_device(network), MANAGER, force=True)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            state = "notReady"
        if (network.get("status") or {}).get("state") != state:
            name = network["metadata"]["name"]
            self._world.kube.patch(*HOST_DEVICE, name, None, {"status": {"state": state}}, "status")

    def _label(self, node: Object, *, waits: bool) -> None:
        """Where machines bring their drivers nobody waits; else until the driver's pod runs there."""
        name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
        if labels.get(CARDS) != "true":
            return
        there = not waits or any(True for _ in self._world.running(name, f"{DRIVER}-container"))
        wanted = "false" if there else "true"
        if labels.get(WAIT) != wanted:
            self._world.kube.patch("v1", "Node", name, None, {"metadata": {"labels": {WAIT: wanted}}})


def host_device(network: Mapping[str, Any]) -> Object:
    """The network that the operator makes of a HostDeviceNetwork. Pure."""
    name, spec = network["metadata"]["name"], network["spec"]
    resource = str(spec.get("resourceName") or "")
    config = {"cniVersion": "0.3.1", "name": name, "type": "host-device", "ipam": json.loads(spec.get("ipam") or "{}")}
    return {
        "apiVersion": NETWORK[0],
        "kind": NETWORK[1],
        "metadata": {
            "name": name,
            "namespace": spec.get("networkNamespace") or "default",
            "annotations": {RESOURCE: resource if resource.startswith(PREFIX) else PREFIX + resource},
            "ownerReferences": [operands.owner(network)],
        },
        "spec": {"config": json.dumps(config)},
    }


class PoolController(Reconciling):
    """nvidia-k8s-ipam's controller: gives each node that a pool selects a block of its addresses."""

    NAME = "nv-ipam-controller"

    def _reconcile(self) -> None:
        nodes = self._world.stores["nodes"].all()
        for pool in self._world.kube.list(*POOL, namespace=self._namespace):
            before = (pool.get("status") or {}).get("allocations") or []
            given = list(blocks(pool["spec"], nodes, before))
            if given != before:
                name = pool["metadata"]["name"]
                status = {"status": {"allocations": given}}
                self._world.kube.patch(*POOL, name, self._namespace, status, "status")


def blocks(
    spec: Mapping[str, Any], nodes: Iterable[Mapping[str, Any]], before: Iterable[Mapping[str, Any]]
) -> Iterator[Object]:
    """The blocks of a pool: a node keeps the one it has, others get free ones in order, or none. Pure."""
    network, size = IPv4Network(spec["subnet"]), int(spec["perNodeBlockSize"])
    wanting = {node["metadata"]["name"] for node in nodes if _selected(spec.get("nodeSelector"), node)}
    kept = {each["nodeName"]: dict(each) for each in before if each["nodeName"] in wanting}
    taken = {each["startIP"] for each in kept.values()}
    # The network's own address and the broadcast are nobody's.
    starts = range(int(network.network_address) + 1, int(network.broadcast_address) - size + 1, size)
    free = (start for start in starts if str(network[start - int(network.network_address)]) not in taken)
    for name in sorted(wanting):
        if name in kept:
            yield kept[name]
        elif (start := next(free, None)) is not None:
            offset = start - int(network.network_address)
            yield {"nodeName": name, "startIP": str(network[offset]), "endIP": str(network[offset + size - 1])}


def _selected(selector: Mapping[str, Any] | None, node: Mapping[str, Any]) -> bool:
    """Whether one of the terms holds for the node; without a selector all nodes are meant."""
    labels = node["metadata"].get("labels") or {}

    def holds(each: Mapping[str, Any]) -> bool:
        return (labels.get(each["key"]) in (each.get("values") or ())) is (each["operator"] == "In")

    terms = (selector or {}).get("nodeSelectorTerms")
    return terms is None or any(all(holds(each) for each in term.get("matchExpressions") or ()) for term in terms)
