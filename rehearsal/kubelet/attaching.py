"""Multus in a kubelet: further networks of a pod, by its annotation, when its sandbox is made.

Sources: multus-cni v4.3, pkg/k8sclient/k8sclient.go (annotation, delegates, words of what fails), pkg/multus (its
status annotation); ib-sriov-cni, sriov-cni and the host-device plugin (a device is needed), rdma-cni (namespaces of
their own); nvidia-k8s-ipam, pkg/ipam-node (blocks of the node, words). Cilium documentation, `cni.exclusive`: it puts
the configuration of others aside, and nobody asks Multus.
"""

from __future__ import annotations

import ipaddress
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rehearsal.kubelet.hosts import Host, Racked
from rehearsal.kubelet.volumes import Problem

if TYPE_CHECKING:
    from rehearsal.kubelet.world import World

Object = Mapping[str, Any]
WANTED, STATUS = "k8s.v1.cni.cncf.io/networks", "k8s.v1.cni.cncf.io/network-status"
RESOURCE = "k8s.v1.cni.cncf.io/resourceName"
NETWORK = ("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition")
POOL = ("nv-ipam.nvidia.com/v1alpha1", "IPPool")
MULTUS, ADDRESSES = "kube-multus", "nv-ipam-node"
"""Containers of the DaemonSets that do the work on a node."""
_OF_DEVICES = ("ib-sriov", "sriov", "host-device")


@dataclass(frozen=True)
class Attachment:
    """A further interface of a pod: its network, NAMESPACE/NAME, and the address that it has of a pool."""

    network: str
    interface: str
    pool: str
    address: str


class Attachments:
    """Who is attached to what, in one cluster. Thread-safe."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[str, tuple[Attachment, ...]]] = {}
        self._lock = threading.Lock()

    def of(self, uid: str) -> tuple[Attachment, ...]:
        """The further interfaces of a pod."""
        with self._lock:
            return self._of.get(uid, ("", ()))[1]

    def put(self, uid: str, node: str, made: tuple[Attachment, ...]) -> None:
        with self._lock:
            self._of[uid] = (node, made)

    def used(self, node: str, pool: str) -> set[str]:
        """Addresses of a pool that pods of a node have."""
        with self._lock:
            return {
                each.address for where, made in self._of.values() if where == node for each in made if each.pool == pool
            }

    def give_back(self, uid: str) -> None:
        with self._lock:
            self._of.pop(uid, None)


class _FailedError(Exception):
    """Why the sandbox is not made."""


def attach(world: World, pod: Object, host: Host) -> Problem | None:
    """Attach a pod to the networks that it names, if somebody does that on its node; why it cannot be."""
    meta = pod["metadata"]
    text = (meta.get("annotations") or {}).get(WANTED)
    if not text or not _asked(world, host.node):
        return None
    try:
        made = tuple(_made(world, pod, host, str(text)))
    except _FailedError as error:
        where = f"[{meta['namespace']}/{meta['name']}/{meta['uid']}]"
        words = f'plugin type="multus" name="multus-cni-network" failed (add): Multus: {where}: {error}'
        return Problem("FailedCreatePodSandBox", f"Failed to create pod sandbox: {words}")
    world.attached.put(meta["uid"], host.node, made)
    told = [{"name": each.network, "interface": each.interface, "ips": [each.address], "dns": {}} for each in made]
    patch = {"metadata": {"annotations": {STATUS: json.dumps(told)}}}
    world.kube.patch("v1", "Pod", meta["name"], meta["namespace"], patch)
    return None


def _asked(world: World, node: str) -> bool:
    cilium = world.find("configmaps", "cilium-config", "kube-system")
    # Unless it is told otherwise it is the only one.
    alone = cilium is not None and (cilium.get("data") or {}).get("cni-exclusive") != "false"
    return not alone and any(True for _ in world.running(node, MULTUS))


def wanted(text: str, namespace: str) -> Iterator[tuple[str, str, str]]:
    """Namespace, name and interface of each network of an annotation: JSON, or [NAMESPACE/]NAME[@INTERFACE] by commas.
    Pure.
    """
    if text.lstrip().startswith("["):
        listed = [(each.get("namespace"), each["name"], each.get("interface")) for each in json.loads(text)]
    else:
        listed = []
        for word in text.split(","):
            whole, _, interface = word.strip().partition("@")
            above, _, name = whole.rpartition("/")
            listed.append((above, name, interface))
    for number, (above, name, interface) in enumerate(listed, start=1):
        yield str(above or namespace), str(name), str(interface or f"net{number}")


def _made(world: World, pod: Object, host: Host, text: str) -> Iterator[Attachment]:
    left = _devices(pod)
    fresh: dict[str, set[str]] = {}
    for namespace, name, interface in wanted(text, pod["metadata"]["namespace"]):
        network = world.kube.get(*NETWORK, name, namespace)
        if network is None:
            said = (
                f"cannot find a network-attachment-definition ({name}) in namespace ({namespace}): "
                f'network-attachment-definitions.k8s.cni.cncf.io "{name}" not found'
            )
            world.events.emit(pod, "Warning", "NoNetworkFound", said, "multus", host.node)
            raise _FailedError(
                f"error loading k8s delegates k8s args: GetNetworkDelegates: failed getting the delegate: "
                f"getKubernetesDelegate: {said}"
            )
        config = json.loads(network["spec"]["config"])
        plugins = config.get("plugins") or [config]
        resource = (network["metadata"].get("annotations") or {}).get(RESOURCE)
        has = left.get(resource, 0) > 0
        left[resource] = left.get(resource, 0) - 1
        failed = f"error adding container to network {name!r}: "
        if plugins[0]["type"] in _OF_DEVICES and not has:
            raise _FailedError(f"{failed}{plugins[0]['type']}: no device of {resource}: VF pci addr is required")
        apart = isinstance(host, Racked) and host.apart
        if any(each["type"] == "rdma" for each in plugins) and not apart:
            raise _FailedError(f"{failed}RDMA subsystem namespace awareness mode is set to shared, expecting exclusive")
        pool = str((plugins[0].get("ipam") or {}).get("poolName") or "")
        used = fresh.setdefault(pool, set())
        address = _address(world, host.node, pool, used, failed) if pool else ""
        used.add(address)
        yield Attachment(f"{namespace}/{name}", interface, pool, address)


def _devices(pod: Object) -> dict[Any, int]:
    """Devices that the pod's containers were given, by resource."""
    found: dict[Any, int] = {}
    for container in pod["spec"]["containers"]:
        for name, count in ((container.get("resources") or {}).get("limits") or {}).items():
            if "/" in name:
                found[name] = found.get(name, 0) + int(count)
    return found


def _address(world: World, node: str, pool: str, fresh: set[str], failed: str) -> str:
    """A free address of the node's block."""
    daemon = next(world.running(node, ADDRESSES), None)
    if daemon is None:
        raise _FailedError(f"{failed}failed to connect to IPAM daemon")
    found = world.kube.get(*POOL, pool, daemon["metadata"]["namespace"]) or {}
    blocks = (found.get("status") or {}).get("allocations") or []
    block = next((each for each in blocks if each["nodeName"] == node), None)
    if block is None:
        raise _FailedError(f'{failed}grpc call failed: configuration for pool "{pool}", poolType "ippool" not found')
    first, last = (int(ipaddress.ip_address(block[key])) for key in ("startIP", "endIP"))
    taken = world.attached.used(node, pool) | fresh
    free = (str(ipaddress.ip_address(each)) for each in range(first, last + 1))
    address = next((each for each in free if each not in taken), None)
    if address is None:
        raise _FailedError(f'{failed}grpc call failed: no free addresses in the pool "{pool}", poolType "ippool"')
    return address
