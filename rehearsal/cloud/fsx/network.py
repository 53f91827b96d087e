"""The subnet, groups and key of a new file system, and its interfaces.

Sources: FSx API reference, CreateFileSystem; FSx for Lustre user guide, "File system access control with Amazon VPC":
the file servers talk to one another on TCP 988, so the groups must let them in and out before the file system is made;
with EFA all traffic between members of the groups must pass.
"""

import ipaddress
import math
from typing import Any

from rehearsal.cloud.account import ec2
from rehearsal.cloud.fsx.rules import bad
from rehearsal.cloud.kms import key_fault
from rehearsal.cloud.service import Refusal

LNET_PORT = 988
SERVER_GIB = 2400


def require_network(region: str, given: dict[str, Any]) -> Any:
    """The subnet of a request whose subnet, groups and key will do."""
    if len(given["SubnetIds"]) != 1:
        raise bad("Exactly one subnet ID must be given for a Lustre file system.")
    backend = ec2(region)
    known = {subnet.id: subnet for subnet in backend.describe_subnets()}
    subnet = known.get(given["SubnetIds"][0])
    if subnet is None:
        message = f"The subnet ID '{given['SubnetIds'][0]}' does not exist"
        raise Refusal("InvalidNetworkSettings", message, InvalidSubnetId=given["SubnetIds"][0])
    groups = given.get("SecurityGroupIds", [])
    for group_id in groups:
        group = backend.get_security_group_from_id(group_id)
        if group is None or group.vpc_id != subnet.vpc_id:
            message = f"The security group '{group_id}' does not exist in VPC '{subnet.vpc_id}'"
            raise Refusal("InvalidNetworkSettings", message, InvalidSecurityGroupId=group_id)
    lustre = given.get("LustreConfiguration", {})
    fault = lnet_fault(backend, groups, subnet, bool(lustre.get("EfaEnabled"))) if groups else ""
    if fault:
        raise Refusal("InvalidNetworkSettings", fault, InvalidSecurityGroupId=groups[0])
    _require_key(region, given.get("KmsKeyId"), lustre.get("DeploymentType", "SCRATCH_1"))
    return subnet


def _require_key(region: str, key: str | None, deployment: str) -> None:
    fault = key_fault(region, key) if key else ""
    if fault:
        raise bad(f"The KMS key {key} cannot be used: {fault}.")
    if key and not deployment.startswith("PERSISTENT"):
        raise bad("KmsKeyId is supported for persistent deployment types only.")


def make_interfaces(region: str, system_id: str, given: dict[str, Any], subnet: Any) -> list[str]:
    """One interface per file server: metadata, and one object server per 2.4 TiB."""
    backend = ec2(region)
    made: list[str] = []
    for _ in range(1 + math.ceil(given["StorageCapacity"] / SERVER_GIB)):
        interface = backend.create_network_interface(
            subnet,
            None,
            group_ids=given.get("SecurityGroupIds", []),
            description=f"Created by Amazon FSx for {system_id}",
        )
        interface.requester_managed = True
        interface.status = "in-use"
        made.append(interface.id)
    return made


def lnet_fault(backend: Any, group_ids: list[str], subnet: Any, efa: bool) -> str:
    """Why these groups are not enough, in FSx' words; empty when they are."""
    groups = [backend.get_security_group_from_id(group_id) for group_id in group_ids]
    for direction in ("ingress_rules", "egress_rules"):
        rules = [rule for group in groups for rule in getattr(group, direction)]
        if efa and not any(_names_member(rule, group_ids) and rule.ip_protocol == "-1" for rule in rules):
            return (
                "The file system cannot be created because the provided security groups do not permit all "
                f"{direction.removesuffix('_rules')} traffic between their members, which EFA needs."
            )
        if not any(_carries_lnet(rule) and _reaches(rule, group_ids, subnet) for rule in rules):
            return (
                "The file system cannot be created because the default security group in the subnet provided or the "
                f"provided security groups do not permit Lustre LNET network traffic on port {LNET_PORT} "
                f"({direction.removesuffix('_rules')})."
            )
    return ""


def _carries_lnet(rule: Any) -> bool:
    if rule.ip_protocol == "-1":
        return True
    return rule.ip_protocol == "tcp" and int(rule.from_port) <= LNET_PORT <= int(rule.to_port)


def _reaches(rule: Any, group_ids: list[str], subnet: Any) -> bool:
    cidr = (rule.ip_range or {}).get("CidrIp")
    return _names_member(rule, group_ids) or bool(cidr and subnet.cidr.subnet_of(ipaddress.ip_network(cidr)))


def _names_member(rule: Any, group_ids: list[str]) -> bool:
    return (rule.source_group or {}).get("GroupId") in group_ids
