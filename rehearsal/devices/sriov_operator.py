"""The SR-IOV Network Operator while its pod runs, and its daemon on each node, which makes virtual functions.

Source: sriov-network-operator (v26.4.1's fork), controllers/sriovnetworknodepolicy_controller.go (a state for each node
and a file of the device plugin for it, from the policies that select it), controllers/generic_network_controller.go and
bindata/manifests/cni-config (the network of an object, its finalizer; it waits for its namespace), bindata/manifests/
daemon and plugins, api/v1/helper.go; pkg/daemon (syncStatus). In life the daemon sets firmware that allows too few
functions and reboots the node; here it says that it waits for that.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rehearsal.devices.card_plugins import NODES_CONFIG
from rehearsal.devices.daemons import RETRY_SECONDS, Daemon
from rehearsal.devices.reconciling import Reconciling
from rehearsal.kube.client import ApiError
from rehearsal.kubelet.attaching import NETWORK, RESOURCE
from rehearsal.kubelet.hosts import Card, Racked
from rehearsal.kubelet.program import Launch, Program

Object = dict[str, Any]
MANAGER = "sriov-network-operator"
API = "sriovnetwork.openshift.io/v1"
CNI = {"SriovIBNetwork": "ib-sriov", "SriovNetwork": "sriov"}
FINALIZER = "netattdef.finalizers.sriovnetwork.openshift.io"
DAEMON, PLUGIN = "sriov-network-config-daemon", "sriov-device-plugin"
NOT_FOUND = 404


class SriovNetworkOperator(Reconciling):
    """Compares policies and networks with what is there, and does the rest."""

    NAME = MANAGER

    def __init__(self, launch: Launch) -> None:
        self._images = {
            DAEMON: launch.env.get("SRIOV_NETWORK_CONFIG_DAEMON_IMAGE", ""),
            PLUGIN: launch.env.get("SRIOV_DEVICE_PLUGIN_IMAGE", ""),
        }
        self._prefix = launch.env.get("RESOURCE_PREFIX", "")
        super().__init__(launch)

    def _reconcile(self) -> None:
        for kind in CNI:
            for network in self._world.kube.list(API, kind, namespace=self._namespace):
                self._attachable(network)
        config = self._world.kube.get(API, "SriovOperatorConfig", "default", self._namespace)
        if config is None:
            return
        selector = config["spec"].get("configDaemonNodeSelector") or {"node-role.kubernetes.io/worker": ""}
        policies = self._world.kube.list(API, "SriovNetworkNodePolicy", namespace=self._namespace)
        policies = [each for each in policies if not each["metadata"].get("deletionTimestamp")]
        files: dict[str, str] = {}
        for node in self._world.stores["nodes"].all():
            if not _selected(selector, node):
                continue
            name, own = (
                node["metadata"]["name"],
                [each for each in policies if _selected(each["spec"]["nodeSelector"], node)],
            )
            host = self._world.hosts.get(name)
            cards = host.cards if isinstance(host, Racked) else ()
            state = {"spec": {"interfaces": list(interfaces(own, cards))}}
            self._apply("SriovNetworkNodeState", API, name, state)
            files[name] = json.dumps({"resourceList": list(plugin_resources(own, cards, self._prefix))})
        if policies:
            self._apply("ConfigMap", "v1", NODES_CONFIG, {"data": files})
        for name in (DAEMON, PLUGIN) if policies else (DAEMON,):
            if self._world.find("daemonsets", name, self._namespace) is None:
                self._world.kube.apply(
                    _daemon(name, self._namespace, self._images[name], selector), MANAGER, force=True
                )

    def _apply(self, kind: str, api_version: str, name: str, body: Mapping[str, Any]) -> None:
        meta = {"name": name, "namespace": self._namespace}
        made = {"apiVersion": api_version, "kind": kind, "metadata": meta, **body}
        self._world.kube.apply(made, MANAGER, force=True)

    def _attachable(self, network: Object) -> None:
        """The network of an object comes with it, and goes before it does."""
        meta, kube = network["metadata"], self._world.kube
        made, held = attachment(network, self._prefix), FINALIZER in (meta.get("finalizers") or ())
        path = (API, network["kind"], meta["name"], meta["namespace"])
        if meta.get("deletionTimestamp"):
            if held:
                kube.delete(made)
                rest = [each for each in meta["finalizers"] if each != FINALIZER]
                kube.patch(*path, {"metadata": {"finalizers": rest or None}})
            return
        if not held:
            kube.patch(*path, {"metadata": {"finalizers": [*(meta.get("finalizers") or ()), FINALIZER]}})
        try:
            kube.apply(made, MANAGER, force=True)
        except ApiError as error:
            # Nobody made its namespace yet.
            if error.code != NOT_FOUND:
                raise


def attachment(network: Mapping[str, Any], prefix: str) -> Object:
    """The network that the operator makes of a SriovNetwork or SriovIBNetwork. Pure."""
    meta, spec = network["metadata"], network["spec"]
    own = {"type": CNI[network["kind"]], "ipam": json.loads(spec.get("ipam") or "{}")}
    own |= {"link_state": spec["linkState"]} if spec.get("linkState") else {}
    config: Object = {"cniVersion": "1.0.0", "name": meta["name"]}
    more = json.loads(f"[{spec['metaPlugins']}]") if spec.get("metaPlugins") else []
    config |= {"plugins": [own, *more]} if more else own
    owner = f"{network['kind']}.sriovnetwork.openshift.io/{meta['namespace']}/{meta['name']}"
    return {
        "apiVersion": NETWORK[0],
        "kind": NETWORK[1],
        "metadata": {
            "name": meta["name"],
            "namespace": spec.get("networkNamespace") or meta["namespace"],
            "annotations": {
                RESOURCE: f"{prefix}/{spec['resourceName']}",
                "sriovnetwork.openshift.io/owner-ref": owner,
            },
        },
        "spec": {"config": json.dumps(config)},
    }


def _matching(policy: Mapping[str, Any], cards: Sequence[Card]) -> Iterator[Card]:
    """Ports that a policy selects: every selector that it gives takes them, and they speak what it says."""
    spec, wanted = policy["spec"], policy["spec"]["nicSelector"]
    names = [each.partition("#")[0] for each in wanted.get("pfNames") or ()]
    link = str(spec.get("linkType") or "").lower()
    for card in cards:
        fits = wanted.get("vendor") in (None, card.vendor) and wanted.get("deviceID") in (None, card.device)
        fits = fits and (not names or card.name in names)
        fits = fits and (not wanted.get("rootDevices") or card.pci in wanted["rootDevices"])
        if fits and link in ("", "ib" if card.infiniband else "eth"):
            yield card


def interfaces(policies: Sequence[Mapping[str, Any]], cards: Sequence[Card]) -> Iterator[Object]:
    """Ports of a node whose functions are asked for, and how many. Pure."""
    for policy in policies:
        for card in _matching(policy, cards):
            yield {"name": card.name, "pciAddress": card.pci, "numVfs": int(policy["spec"]["numVfs"])}


def plugin_resources(policies: Sequence[Mapping[str, Any]], cards: Sequence[Card], prefix: str) -> Iterator[Object]:
    """What the device plugin of a node offers: a resource for each policy that selects a port there. Pure."""
    for policy in policies:
        spec = policy["spec"]
        if ports := [card.name for card in _matching(policy, cards)]:
            some = [f"{name}#0-{int(spec['numVfs']) - 1}" for name in ports]
            selectors = {"vendors": ["15b3"], "pfNames": some, "isRdma": bool(spec.get("isRdma"))}
            yield {"resourcePrefix": prefix, "resourceName": spec["resourceName"], "selectors": selectors}


def config_daemon(launch: Launch) -> Program:
    """Makes the functions of its node's state, as many as the cards' firmware allows."""
    said: list[str] = []

    def begin() -> float | None:
        host = launch.world.hosts.get(launch.node)
        path = (API, "SriovNetworkNodeState", launch.node, launch.namespace)
        state = launch.world.kube.get(*path)
        if state is None or not isinstance(host, Racked):
            return RETRY_SECONDS
        wanted = {each["name"]: int(each["numVfs"]) for each in (state.get("spec") or {}).get("interfaces") or ()}
        short = sorted(card.name for card in host.cards if wanted.get(card.name, 0) > card.vfs)
        launch.world.hosts.split(launch.node, {name: count for name, count in wanted.items() if name not in short})
        why = f"firmware of {', '.join(short)} allows fewer virtual functions until a reboot" if short else ""
        status = {"syncStatus": "InProgress" if short else "Succeeded", "lastSyncError": why}
        if [why] != said:
            launch.world.kube.patch(*path, {"status": status}, "status")
            said[:] = [why]
        return RETRY_SECONDS

    return Daemon(launch, begin)


def _selected(selector: Mapping[str, str], node: Mapping[str, Any]) -> bool:
    labels = node["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in selector.items())


def _daemon(name: str, namespace: str, image: str, selector: Mapping[str, str]) -> Object:
    labels = {"app": name}
    pod = {
        "hostNetwork": True,
        "priorityClassName": "system-node-critical",
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": dict(selector),
        "containers": [{"name": name, "image": image, "securityContext": {"privileged": True}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
    }
