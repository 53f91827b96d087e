"""Facts about the machines behind the nodes: what the instance has, not what Kubernetes believes."""

import base64
import email
import email.policy
import hashlib
import re
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from rehearsal.cloud.seen.hardware import Machine
from rehearsal.cloud.seen.network import End

Described = Mapping[str, Any]


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
        self._profiles: dict[str, str] = {}
        self._functions: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def add(self, host: Host) -> None:
        with self._lock:
            self._by_node[host.node] = host

    def drop(self, node: str) -> None:
        with self._lock:
            self._by_node.pop(node, None)
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


def host(
    instance: Described, machine: Machine, nodegroup: Described, subnet: Described, node_config: Mapping[str, Any]
) -> Host:
    """The facts of an instance from DescribeInstances, its type, its node group and its subnet."""
    interfaces = instance.get("NetworkInterfaces", [])
    first = next(
        (i for i in interfaces if (i.get("Attachment") or {}).get("DeviceIndex") == 0 and not _card(i)),
        interfaces[0] if interfaces else {},
    )
    groups = first.get("Groups") or instance.get("SecurityGroups", [])
    return Host(
        node=instance["PrivateDnsName"],
        instance_id=instance["InstanceId"],
        machine=machine,
        nodegroup=nodegroup["nodegroupName"],
        ami_type=nodegroup.get("amiType") or "AL2023_x86_64_STANDARD",
        image_id=instance["ImageId"],
        template=source_template(instance),
        subnet=instance["SubnetId"],
        vpc=instance["VpcId"],
        zone=subnet["AvailabilityZone"],
        zone_id=subnet.get("AvailabilityZoneId", ""),
        role=nodegroup.get("nodeRole", ""),
        primary=End(tuple(group["GroupId"] for group in groups), (instance["PrivateIpAddress"],)),
        public=bool(instance.get("PublicIpAddress")),
        efa_interfaces=count_efa(interfaces),
        hop_limit=int((instance.get("MetadataOptions") or {}).get("HttpPutResponseHopLimit") or 2),
        pod_interfaces=machine.interfaces - _without_addresses(interfaces),
        node_config=node_config,
        image_name=nodegroup.get("imageName", ""),
        ami_release=nodegroup.get("releaseVersion") or "",
    )


def source_template(instance: Described) -> tuple[str, str] | None:
    """Id and version of the launch template an instance was made from, from the tags EC2 Auto Scaling puts on it."""
    tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}
    identity, version = tags.get("aws:ec2launchtemplate:id"), tags.get("aws:ec2launchtemplate:version")
    return (identity, version) if identity and version else None


def count_efa(interfaces: list[Described] | list[Any]) -> int:
    """How many EFA devices the operating system sees: interfaces of type efa and efa-only."""
    return sum(1 for interface in interfaces if interface.get("InterfaceType") in ("efa", "efa-only"))


def _without_addresses(interfaces: list[Described] | list[Any]) -> int:
    """Interfaces of the first card that have no addresses: the VPC CNI leaves their places alone."""
    return sum(each.get("InterfaceType") == "efa-only" and not _card(each) for each in interfaces)


def _card(interface: Described) -> int:
    return int((interface.get("Attachment") or {}).get("NetworkCardIndex") or 0)


def image_id(ami_type: str, release: str) -> str:
    """The id of the EKS optimised AMI of a type and release: one id per pair, as EKS resolves it."""
    return "ami-" + hashlib.sha256(f"{ami_type} {release}".encode()).hexdigest()[:17]


class UserDataError(ValueError):
    """User data that a node's image cannot use."""


def bottlerocket_config(user_data: str | None) -> dict[str, Any]:
    """What Bottlerocket's settings in base64 user data ask for, as a NodeConfig of nodeadm would say it.

    Its local disks become one array below the directories that it is told to bind. Source: bottlerocket-core-kit,
    sources/api/apiclient (ephemeral-storage init, bind) and sources/corndog (sysctl). Raises UserDataError.
    """
    try:
        settings = tomllib.loads(base64.b64decode(user_data or "", validate=True).decode())
    except ValueError as error:
        raise UserDataError("the user data is not TOML, which is all that Bottlerocket reads") from error
    if user_data and set(settings) != {"settings"}:
        raise UserDataError("the user data has no [settings], which is all that Bottlerocket reads")
    told = settings.get("settings") or {}
    commands = [each for boot in (told.get("bootstrap-commands") or {}).values() for each in boot["commands"]]
    array = ["apiclient", "ephemeral-storage"]
    bound = {path for each in commands if each[:3] == [*array, "bind"] for path in each}
    spec: dict[str, Any] = {"sysctl": (told.get("kernel") or {}).get("sysctl") or {}}
    if [*array, "init"] in commands and "/var/lib/kubelet" in bound:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    return spec


def node_config(user_data: str | None) -> dict[str, Any]:
    """The merged nodeadm NodeConfig `spec` in base64 user data (MIME multi-part); {} without any.

    Source: EKS user guide, "Customize managed nodes with launch templates": MIME, parts `application/node.eks.aws`
    with `apiVersion: node.eks.aws/v1alpha1`. Raises UserDataError.
    """
    if not user_data:
        return {}
    try:
        text = base64.b64decode(user_data, validate=True).decode()
    except ValueError as error:
        raise UserDataError("user data is not base64 text") from error
    message = email.message_from_string(text, policy=email.policy.default)
    if not message.is_multipart():
        raise UserDataError("user data is not a MIME multi-part archive")
    spec: dict[str, Any] = {}
    for part in message.iter_parts():
        if part.get_content_type() == "application/node.eks.aws":
            spec = _merged(spec, _spec_of(part))
    return spec


def _spec_of(part: Any) -> dict[str, Any]:
    payload = part.get_payload(decode=True)
    try:
        document = yaml.safe_load(payload)
    except yaml.YAMLError as error:
        raise UserDataError("the NodeConfig in the user data is not YAML") from error
    if not isinstance(document, dict) or document.get("kind") != "NodeConfig":
        raise UserDataError("a part application/node.eks.aws holds no NodeConfig")
    if document.get("apiVersion") != "node.eks.aws/v1alpha1":
        raise UserDataError(f"nodeadm does not know apiVersion {document.get('apiVersion')}")
    return dict(document.get("spec") or {})


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """nodeadm merges several NodeConfigs key by key, the later one wins."""
    result = dict(old)
    for key, value in new.items():
        both = isinstance(result.get(key), dict) and isinstance(value, dict)
        result[key] = _merged(result[key], value) if both else value
    return result
