"""Whether a node can mount an FSx for Lustre file system. One function per rule.

Source: FSx for Lustre user guide, "File system access control with Amazon VPC" (ports 988 and 1018-1023 between client
and file system) and "Troubleshooting"; the driver mounts `<dnsname>@tcp:/<mountname>` without asking AWS.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rehearsal.cloud.seen.network import End, Groups

LUSTRE_PORT = 988
MODES = ("ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
"""What the driver mounts: MULTI_NODE_MULTI_WRITER and SINGLE_NODE_WRITER (aws-fsx-csi-driver, pkg/driver/controller.go,
volumeCaps), as the kubelet translates access modes (kubernetes, pkg/volume/csi/csi_client.go, asCSIAccessModeV1)."""
Described = Mapping[str, Any]


def mount_problem(
    csi: Described, systems: Sequence[Described], node: End, node_vpc: str, servers: End | None, groups: Groups
) -> str | None:
    """Why mounting fails, as the CSI driver reports it; None if it works.

    `csi` is the volume's `spec.csi`, `systems` all file systems (DescribeFileSystems), `servers` the network interfaces
    of the one it names (None: unknown, not judged).
    """
    attributes = csi.get("volumeAttributes") or {}
    target = f"{attributes.get('dnsname')}@tcp:/{attributes.get('mountname')}"
    found = next((each for each in systems if each.get("DNSName") == attributes.get("dnsname")), None)
    why = (
        _resolves(found, attributes)
        or _available(found or {})
        or _same_network(found or {}, node_vpc)
        or _named(found or {}, attributes)
        or _reachable(node, servers, groups)
    )
    if why is None:
        return None
    return f'rpc error: code = Internal desc = Could not mount "{target}": mount failed: exit status: {why}'


def mode_problem(modes: Sequence[str]) -> str | None:
    """Why a volume of these access modes cannot be mounted; None if it can. The kubelet hands over the first of them
    (pkg/volume/csi/csi_mounter.go, SetUpAt), and the driver looks at it before anything else (pkg/driver/node.go).
    """
    if modes and modes[0] in MODES:
        return None
    return "rpc error: code = InvalidArgument desc = Volume capability not supported"


def _resolves(found: Described | None, attributes: Described) -> str | None:
    if found is not None:
        return None
    return f"1, mount.lustre: Can't parse NID '{attributes.get('dnsname')}@tcp' (no such file system's DNS name)"


def _available(found: Described) -> str | None:
    state = found.get("Lifecycle")
    if state == "AVAILABLE":
        return None
    return f"5, mount.lustre: Input/output error. Is the MGS running? ({found.get('FileSystemId')} is {state})"


def _same_network(found: Described, node_vpc: str) -> str | None:
    if found.get("VpcId") in (None, node_vpc):
        return None
    return f"110, mount.lustre: Connection timed out ({found.get('FileSystemId')} lies in {found['VpcId']})"


def _named(found: Described, attributes: Described) -> str | None:
    name = (found.get("LustreConfiguration") or {}).get("MountName")
    if name == attributes.get("mountname"):
        return None
    return f"2, mount.lustre: No such file or directory. Is the MGS specification correct? Is '{name}' meant?"


def _reachable(node: End, servers: End | None, groups: Groups) -> str | None:
    if servers is None:
        return None
    there = groups.passes(node, servers, "tcp", LUSTRE_PORT)
    back = groups.passes(servers, node, "tcp", LUSTRE_PORT)
    if there and back:
        return None
    way = "into" if not there else "back from"
    return (
        f"110, mount.lustre: Connection timed out (TCP {LUSTRE_PORT} {way} the file system is closed between "
        f"{', '.join(node.groups)} and {', '.join(servers.groups)})"
    )
