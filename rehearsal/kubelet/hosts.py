"""Facts about the machines behind the nodes: what the instance has, not what Kubernetes believes."""

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rehearsal.cloud.seen.hardware import Machine
from rehearsal.cloud.seen.network import End


@dataclass(frozen=True)
class Host:
    """One EC2 instance of a node group; `node` is the name its kubelet registers.

    `pod_interfaces` are the places of the first network card whose interfaces can carry addresses of pods.
    """

    node: str
    instance_id: str
    machine: Machine
    nodegroup: str
    ami_type: str
    image_id: str
    template: tuple[str, str] | None
    subnet: str
    vpc: str
    zone: str
    zone_id: str
    role: str
    primary: End
    public: bool
    efa_interfaces: int
    hop_limit: int
    pod_interfaces: int
    node_config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    image_name: str = ""
    """What an image of somebody's own is called; those of EKS say all by their type."""
    ami_release: str = ""

    @property
    def address(self) -> str:
        """The private address of the primary interface."""
        return self.primary.addresses[0]

    @property
    def driver(self) -> bool:
        """Whether NVIDIA's driver is on the AMI (source: EKS user guide, NVIDIA variants of the optimised AMIs).

        An image of somebody's own has what it was built from, which its name says as EKS' names do.
        """
        return "NVIDIA" in self.ami_type or self.ami_type.endswith("_GPU") or "-nvidia-" in self.image_name

    @property
    def toolkit(self) -> bool:
        """Whether NVIDIA's container toolkit is on the AMI: it comes with the driver."""
        return self.driver

    @property
    def system(self) -> tuple[str, str]:
        """ID and VERSION_ID of the operating system (os-release(5))."""
        return ("bottlerocket", self.ami_release.partition("-")[0]) if self.bottlerocket else ("amzn", "2023")

    @property
    def bottlerocket(self) -> bool:
        """Whether it boots Bottlerocket, whose images with NVIDIA's driver run its device plugin as well.

        Source: EKS user guide, "EKS Bottlerocket NVIDIA AMIs".
        """
        return self.ami_type.startswith("BOTTLEROCKET_")

    @property
    def vendors(self) -> tuple[str, ...]:
        """PCI ids of the makers of its devices, but NVIDIA's of GPUs."""
        return ("1d0f",)

    @property
    def handlers(self) -> frozenset[str]:
        """Runtimes that the node's own configuration adds to containerd's."""
        config = str((self.node_config.get("containerd") or {}).get("config") or "")
        return frozenset(re.findall(r"containerd\.runtimes\.(\w+)\]", config))

    @property
    def pods(self) -> str | None:
        """The range that pods have their addresses of; None: the subnet's."""
        return None

    def mounted(self, path: str) -> bool:  # noqa: ARG002 - an image of AWS' has what a volume names
        """Whether the machine has something at a path that a volume names."""
        return True


@dataclass(frozen=True)
class Card:
    """A port of an owned machine's network card: ids of its maker and model, whether it is InfiniBand, its PCI address
    and interface as its preparation left them, and how many virtual functions its firmware allows.
    """

    vendor: str
    device: str
    infiniband: bool
    pci: str = ""
    name: str = ""
    vfs: int = 0


@dataclass(frozen=True)
class Racked(Host):
    """An on-premises machine that has joined: what its preparation left on it, and what is in it. `empty` are the names
    of drives that carried nothing when it joined. `apart`: RDMA devices are of one namespace each.
    """

    driven: bool = False
    release: tuple[str, str] = ("ubuntu", "24.04")
    cards: tuple[Card, ...] = ()
    block: str = ""
    mounts: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    apart: bool = False

    @property
    def driver(self) -> bool:
        """Whether the operating system came with NVIDIA's driver."""
        return self.driven

    @property
    def system(self) -> tuple[str, str]:
        return self.release

    @property
    def handlers(self) -> frozenset[str]:
        """What its owner has prepared is not known: whatever a class names is taken to be there."""
        return frozenset({"runsc"})

    @property
    def vendors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(card.vendor for card in self.cards))

    @property
    def pods(self) -> str | None:
        return self.block

    def mounted(self, path: str) -> bool:
        return path in self.mounts


class Hosts:
    """The machines that have joined, by node name, the MIG profile that the GPUs of some are cut by, and the virtual
    functions of some's ports.
    """

    def __init__(self) -> None:
        self._by_node: dict[str, Host] = {}
        self._by_address: dict[str, dict[str, Host]] = {}
        self._profiles: dict[str, str] = {}
        self._functions: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def add(self, host: Host) -> None:
        with self._lock:
            self._forget(host.node)
            self._by_node[host.node] = host
            self._by_address.setdefault(host.address, {})[host.node] = host

    def at(self, address: str) -> list[Host]:
        """The hosts with an address: one, or none."""
        with self._lock:
            return list(self._by_address.get(address, {}).values())

    def _forget(self, node: str) -> None:
        host = self._by_node.pop(node, None)
        if host is not None:
            del self._by_address[host.address][node]

    def drop(self, node: str) -> None:
        with self._lock:
            self._forget(node)
            self._profiles.pop(node, None)
            self._functions.pop(node, None)

    def functions(self, node: str) -> dict[str, int]:
        """Virtual functions that were made of the ports of the node's machine, by the ports' names."""
        with self._lock:
            return dict(self._functions.get(node, {}))

    def split(self, node: str, functions: Mapping[str, int]) -> None:
        """Make virtual functions of ports of the node's machine, and have no others."""
        with self._lock:
            self._functions[node] = dict(functions)

    def profile(self, node: str) -> str | None:
        """The MIG profile that every GPU of the node's machine is cut by, None where they are whole."""
        with self._lock:
            return self._profiles.get(node)

    def cut(self, node: str, profile: str | None) -> None:
        """Cut every GPU of the node's machine, or make them whole again."""
        with self._lock:
            self._profiles.pop(node, None)
            if profile is not None:
                self._profiles[node] = profile

    def get(self, node: str) -> Host | None:
        with self._lock:
            return self._by_node.get(node)

    def all(self) -> list[Host]:
        with self._lock:
            return list(self._by_node.values())
