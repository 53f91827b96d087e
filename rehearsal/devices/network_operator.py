"""NVIDIA's network operator while its pod runs, and the device plugin that it makes of a NicClusterPolicy.

Source: Mellanox/network-operator v26.4.1, controllers/nicclusterpolicy_controller.go (one policy, by its name; the
label that says that nobody waits for drivers any more) and manifests/state-rdma-shared-device-plugin (names, selector,
tolerations), state-ofed-driver; k8s-rdma-shared-dev-plugin, README (`rdma/NAME`, so often as `rdmaHcaMax` says, on a
node with a card that every selector takes).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rehearsal.devices import operands
from rehearsal.devices.daemons import FEATURES, RETRY_SECONDS, Daemon, advertise, withdraw
from rehearsal.devices.reconciling import Reconciling
from rehearsal.kubelet.hosts import Card, Racked
from rehearsal.kubelet.program import Launch, Program

Object = dict[str, Any]
MANAGER = "network-operator"
KIND = ("mellanox.com/v1alpha1", "NicClusterPolicy")
POLICY = "nic-cluster-policy"
CARDS = f"{FEATURES}pci-15b3.present"
WAIT = "network.nvidia.com/operator.mofed.wait"
CONFIG, FILE = "rdma-devices", "config.json"
PLUGIN, DRIVER = "rdma-shared-dp", "mofed"
GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


class NetworkOperator(Reconciling):
    """Compares the policy and the nodes with what is there, and does the rest."""

    NAME = MANAGER

    def __init__(self, launch: Launch) -> None:
        self._said = ""
        super().__init__(launch)

    def _reconcile(self) -> None:
        policy = self._world.kube.get(*KIND, POLICY)
        if policy is None or policy["metadata"].get("deletionTimestamp"):
            self._said = ""
            return
        waits = bool(policy["spec"].get("ofedDriver"))
        for node in self._world.stores["nodes"].all():
            self._label(node, waits=waits)
        made = list(objects(policy, self._namespace))
        for each in made:
            found = self._world.find("daemonsets", each["metadata"]["name"], self._namespace)
            if found is None or each["kind"] != "DaemonSet" or self._said == "":
                self._world.kube.apply(each, MANAGER, force=True)
        ready = all(
            _ready(self._world.find("daemonsets", each["metadata"]["name"], self._namespace))
            for each in made
            if each["kind"] == "DaemonSet"
        )
        state = "ready" if ready else "notReady"
        if state != self._said:
            self._world.kube.patch(*KIND, POLICY, None, {"status": {"state": state}}, "status")
            self._said = state

    def _label(self, node: Object, *, waits: bool) -> None:
        """Where machines bring their drivers nobody waits; else until the driver's pod runs there."""
        name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
        if labels.get(CARDS) != "true":
            return
        there = not waits or any(True for _ in self._world.running(name, f"{DRIVER}-container"))
        wanted = "false" if there else "true"
        if labels.get(WAIT) != wanted:
            self._world.kube.patch("v1", "Node", name, None, {"metadata": {"labels": {WAIT: wanted}}})


def objects(policy: Mapping[str, Any], namespace: str) -> Iterator[Object]:
    """What the operator makes of a policy. They go with it. Pure."""
    spec, owner = policy["spec"], operands.owner(policy)
    tolerations = [*(spec.get("tolerations") or []), GPU]
    if driver := spec.get("ofedDriver"):
        yield _daemon(f"{DRIVER}-ds", namespace, owner, f"{DRIVER}-container", driver, tolerations, {CARDS: "true"})
    if plugin := spec.get("rdmaSharedDevicePlugin"):
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CONFIG, "namespace": namespace, "ownerReferences": [owner]},
            "data": {FILE: plugin.get("config") or ""},
        }
        selector = {CARDS: "true", WAIT: "false"}
        made = _daemon(f"{PLUGIN}-ds", namespace, owner, PLUGIN, plugin, tolerations, selector)
        pod = made["spec"]["template"]["spec"]
        pod["volumes"] = [{"name": "config", "configMap": {"name": CONFIG}}]
        pod["containers"][0]["volumeMounts"] = [{"name": "config", "mountPath": "/k8s-rdma-shared-dev-plugin"}]
        yield made


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


def _ready(daemon: Mapping[str, Any] | None) -> bool:
    status = (daemon or {}).get("status") or {}
    wanted = int(status.get("desiredNumberScheduled") or 0)
    return daemon is not None and wanted > 0 and int(status.get("numberReady") or 0) >= wanted


def rdma_shared_device_plugin(launch: Launch) -> Program:
    """Offers the cards of its node that its configuration selects, so often as that says."""
    now: dict[str, tuple[int, int]] = {}

    def begin() -> float | None:
        host = launch.world.hosts.get(launch.node)
        config = launch.world.find("configmaps", CONFIG, launch.namespace)
        offered = resources(_told(config), host.cards if isinstance(host, Racked) else ())
        if offered != now:
            advertise(launch, {**dict.fromkeys(now, (0, 0)), **offered})
            now.clear()
            now.update(offered)
        return RETRY_SECONDS

    return Daemon(launch, begin, lambda: withdraw(launch, list(now)))


def _told(config: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    try:
        found = json.loads(((config or {}).get("data") or {}).get(FILE) or "{}")
    except ValueError:
        return []
    return list(found.get("configList") or []) if isinstance(found, dict) else []


def resources(config: Sequence[Mapping[str, Any]], cards: tuple[Card, ...]) -> dict[str, tuple[int, int]]:
    """The resources of a configuration on a machine with these cards, with what there is and what is healthy. Pure."""
    found = {}
    for each in config:
        if any(_takes(each.get("selectors") or {}, card) for card in cards):
            count = int(each.get("rdmaHcaMax") or 0)
            found[f"{each.get('resourcePrefix') or 'rdma'}/{each['resourceName']}"] = (count, count)
    return found


def _takes(selectors: Mapping[str, Any], card: Card) -> bool:
    """Whether each selector that is given takes the card; one without any takes none."""
    link = "infiniband" if card.infiniband else "ether"
    asked = (("vendors", card.vendor), ("deviceIDs", card.device), ("linkTypes", link))
    given = [(selectors[key], value) for key, value in asked if selectors.get(key)]
    return bool(given) and all(value in wanted for wanted, value in given)
