"""Whether a node can mount a directory of EFS. One function per rule.

Sources: aws-efs-csi-driver, pkg/driver/node.go (handle, access modes, TLS by default and with an access point) and
util.go; efs-utils, src/mount_efs/__init__.py (the file system's name leads to the mount target of the node's zone);
EFS user guide, "Using IAM to control access to file systems" and "Using VPC security groups".
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rehearsal.cloud.seen.network import End, Groups

NFS_PORT = 2049
MODES = ("ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
Described = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A file system as the account tells it: mount targets, the ends of their interfaces by id, the access point that
    a volume names, the policy as JSON. None where there is none.
    """

    system: Described | None
    targets: Sequence[Described] = ()
    ends: Mapping[str, End] = field(default_factory=dict)
    point: Described | None = None
    policy: str | None = None


def parts(handle: str) -> tuple[str, str | None]:
    """File system and access point of a volume's handle, FILE_SYSTEM[:PATH[:ACCESS_POINT]]."""
    system, _, rest = handle.partition(":")
    return system, rest.partition(":")[2] or None


def mount_problem(spec: Described, seen: Seen, node: End, node_vpc: str, node_zone: str, groups: Groups) -> str | None:
    """Why mounting a volume of this `spec` fails on a node, as the CSI driver reports it; None if it works."""
    modes = spec.get("accessModes") or ()
    if not modes or modes[0] not in MODES:
        return "rpc error: code = InvalidArgument desc = Volume capability not supported: invalid access mode"
    handle = spec["csi"]["volumeHandle"]
    target = next((each for each in seen.targets if each.get("AvailabilityZoneName") == node_zone), None)
    why = (
        _there(seen, handle)
        or _resolves(seen, target, handle, node_vpc, node_zone)
        or _reachable(node, seen.ends.get((target or {}).get("NetworkInterfaceId", "")), groups)
        or _allowed(spec, seen, handle)
    )
    if why is None:
        return None
    return f'rpc error: code = Internal desc = Could not mount "{parts(handle)[0]}:/": mount failed: exit status: {why}'


def _there(seen: Seen, handle: str) -> str | None:
    system, point = parts(handle)
    if seen.system is None:
        return f'1, Failed to resolve "{system}": the file system does not exist'
    if seen.system.get("LifeCycleState") != "available":
        return f"1, {system} is {seen.system.get('LifeCycleState')}"
    if point and (seen.point is None or seen.point.get("FileSystemId") != system):
        return f"32, mount.nfs4: access denied by server: {point} is no access point of {system}"
    return None


def _resolves(seen: Seen, target: Described | None, handle: str, vpc: str, zone: str) -> str | None:
    if target is not None and target.get("LifeCycleState") == "available" and target.get("VpcId") in (None, vpc):
        return None
    zones = ", ".join(sorted(str(each.get("AvailabilityZoneName")) for each in seen.targets)) or "none"
    return (
        f'1, Failed to resolve "{parts(handle)[0]}.efs": no mount target in {zone} of {vpc} (zones with one: {zones})'
    )


def _reachable(node: End, target: End | None, groups: Groups) -> str | None:
    if target is None or groups.passes(node, target, "tcp", NFS_PORT):
        return None
    return (
        f"32, mount.nfs4: Connection timed out (TCP {NFS_PORT} is closed between {', '.join(node.groups)} and "
        f"{', '.join(target.groups)})"
    )


def _allowed(spec: Described, seen: Seen, handle: str) -> str | None:
    """A policy lets in whom it allows. Without one everybody may mount who reaches the file system."""
    if seen.policy is None:
        return None
    point = parts(handle)[1]
    attributes = (spec["csi"].get("volumeAttributes") or {}).items()
    plain = any(key.lower() == "encryptintransit" and value == "false" for key, value in attributes)
    secure = bool(point) or not plain
    statements = json.loads(seen.policy)["Statement"]
    if not secure and any(_denies_plain(each) for each in statements):
        return "32, mount.nfs4: access denied by server: the file system's policy wants TLS"
    if not any(_lets_in(each, point is not None) for each in statements):
        return "32, mount.nfs4: access denied by server: the file system's policy allows no ClientMount"
    return None


def _denies_plain(statement: Described) -> bool:
    asked = ((statement.get("Condition") or {}).get("Bool") or {}).get("aws:SecureTransport")
    return statement["Effect"] == "Deny" and asked == "false"


def _lets_in(statement: Described, through_a_point: bool) -> bool:
    actions = statement.get("Action")
    named = [actions] if isinstance(actions, str) else list(actions or ())
    wants_point = "elasticfilesystem:AccessPointArn" in json.dumps(statement.get("Condition") or {})
    mounts = any(each in ("*", "elasticfilesystem:*", "elasticfilesystem:ClientMount") for each in named)
    return statement["Effect"] == "Allow" and mounts and (through_a_point or not wants_point)
