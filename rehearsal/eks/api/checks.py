"""What EKS checks before it starts anything: roles, subnets, groups, keys."""

from collections.abc import Iterable
from ipaddress import IPv4Network
from typing import Any

from rehearsal.cloud.account import ec2
from rehearsal.cloud.iam import role_by_arn, trusts
from rehearsal.cloud.kms import key_error, key_fault, key_of_arn
from rehearsal.cloud.seen.network import PRIVATE
from rehearsal.cloud.service import Refusal

UNSUPPORTED_ZONES = frozenset({"use1-az3", "usw1-az2", "cac1-az3"})
"""Zones without EKS control planes: user guide, "Amazon EKS networking requirements for VPC and subnets"."""


def invalid(message: str, **members: Any) -> Refusal:
    """InvalidParameterException, EKS' answer to values it will not work with."""
    return Refusal("InvalidParameterException", message, **members)


def require_public(cidrs: Iterable[str]) -> None:
    """Refuse private ranges in publicAccessCidrs: they cannot include reserved addresses (user guide, "Cluster API
    server endpoint")."""
    wrong = [each for each in cidrs if any(IPv4Network(each).subnet_of(private) for private in PRIVATE)]
    if wrong:
        raise invalid(f"The following CIDRs are not allowed in publicAccessCidrs: {wrong}")


def existing_role(arn: str) -> Any:
    """The role of that ARN, or a refusal."""
    role = role_by_arn(arn)
    if role is None:
        raise invalid(f"The role with name {arn.rpartition('/')[2]} cannot be found.")
    return role


def require_role(arn: str, service: str, *actions: str) -> None:
    """Refuse a role that does not exist or that the service may not assume."""
    role = existing_role(arn)
    wanted = actions or ("sts:AssumeRole",)
    if not trusts(role, service, *wanted):
        raise invalid(
            f"Role with arn: {arn}, could not be assumed by {service}: its trust policy must allow {list(wanted)}"
        )


def require_subnets(region: str, subnet_ids: list[str]) -> list[Any]:
    """The subnets of these ids, which exist and share a VPC."""
    known = {subnet.id: subnet for subnet in ec2(region).describe_subnets()}
    for subnet_id in subnet_ids:
        if subnet_id not in known:
            raise invalid(f"The subnet ID '{subnet_id}' does not exist (Service: Ec2, Status Code: 400)")
    subnets = [known[subnet_id] for subnet_id in subnet_ids]
    if len({subnet.vpc_id for subnet in subnets}) > 1:
        raise invalid("Subnets specified must be in the same VPC")
    return subnets


def require_control_plane_subnets(region: str, cluster: str, subnet_ids: list[str]) -> str:
    """The VPC of subnets that can carry a control plane: two zones at least, none of the unsupported ones."""
    subnets = require_subnets(region, subnet_ids)
    if len({subnet.availability_zone for subnet in subnets}) < 2:
        raise invalid("Subnets specified must be in at least two different AZs")
    for subnet in subnets:
        if subnet.availability_zone_id in UNSUPPORTED_ZONES:
            message = (
                f"Cannot create cluster '{cluster}' because EKS does not support creating control plane instances in "
                f"{subnet.availability_zone}, the targeted availability zone."
            )
            raise Refusal("UnsupportedAvailabilityZoneException", message, clusterName=cluster)
    return str(subnets[0].vpc_id)


def require_groups(region: str, group_ids: list[str], vpc_id: str) -> None:
    """Refuse security groups that do not exist or belong to another VPC."""
    for group_id in group_ids:
        group = ec2(region).get_security_group_from_id(group_id)
        if group is None:
            raise invalid(f"The security group '{group_id}' does not exist")
        if group.vpc_id != vpc_id:
            raise invalid(f"Security group(s) [{group_id}] are not in the same VPC as the subnets.")


def require_key(region: str, key: str) -> None:
    """Refuse an envelope key that does not exist or cannot encrypt."""
    fault = key_fault(region, key)
    if fault:
        raise invalid(f"The key {key} cannot be used to encrypt secrets: {fault}")


def key_issues(cluster: dict[str, Any]) -> list[dict[str, Any]]:
    """What DescribeCluster says under `health` of a cluster whose envelope key cannot be used any more.

    Source: EKS API reference, ClusterIssue (KmsKeyDisabled, KmsKeyMarkedForDeletion, KmsKeyNotFound). That its API
    server then reads no Secret is not played.
    """
    codes = {
        "DisabledException": "KmsKeyDisabled",
        "KMSInvalidStateException": "KmsKeyMarkedForDeletion",
        "NotFoundException": "KmsKeyNotFound",
    }
    arns = [encryption["provider"]["keyArn"] for encryption in cluster.get("encryptionConfig") or ()]
    found = [(arn, error) for arn in arns if (error := key_error(key_of_arn(arn)))]
    return [{"code": codes[error[0]], "message": error[1], "resourceIds": [arn]} for arn, error in found]
