"""An EC2 instance as the host of a node: what EC2 says of it, and what its user data asks for."""

import base64
import email
import email.policy
import hashlib
import tomllib
from collections.abc import Mapping
from typing import Any

import yaml

from rehearsal.cloud.seen.hardware import Machine
from rehearsal.cloud.seen.network import End
from rehearsal.kubelet.hosts import Host

Described = Mapping[str, Any]


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
