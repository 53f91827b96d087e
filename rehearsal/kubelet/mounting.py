"""What the account says about mounting a PersistentVolume on a machine, by CSI driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from rehearsal.cloud.seen import lustre
from rehearsal.cloud.seen.network import End
from rehearsal.kubelet import faults
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.world import World

FSX = "fsx.csi.aws.com"


def checker(world: World, host: Host) -> Callable[[Mapping[str, Any]], str | None]:
    """A function that says why a PersistentVolume cannot be mounted on the machine; None if it can."""

    def can_mount(volume: Mapping[str, Any]) -> str | None:
        if local := volume["spec"].get("local"):
            return None if host.mounted(local["path"]) else f'path "{local["path"]}" does not exist'
        csi = volume["spec"]["csi"]
        if csi["driver"] != FSX:
            return None
        if faults.lasting(world.orders.now().of(host.node), "filesystem-mount"):
            return "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
        if reason := lustre.mode_problem(volume["spec"].get("accessModes") or ()):
            return reason
        try:
            systems = world.aws.cached("fsx", lambda: _systems(world))
            servers = world.aws.cached(("fsx", csi["volumeHandle"]), lambda: _servers(world, systems, csi))
            return lustre.mount_problem(csi, systems, host.primary, host.vpc, servers, world.aws.groups())
        except (BotoCoreError, ClientError) as error:
            return f"rpc error: code = Unavailable desc = {error}"

    return can_mount


def _systems(world: World) -> list[Any]:
    pages = world.aws.fsx.get_paginator("describe_file_systems").paginate()
    return [each for page in pages for each in page["FileSystems"]]


def _servers(world: World, systems: list[Any], csi: Mapping[str, Any]) -> End | None:
    """The network interfaces of the file system that the volume names; None if EC2 shows none."""
    dns = (csi.get("volumeAttributes") or {}).get("dnsname")
    found = next((each for each in systems if each.get("DNSName") == dns), None)
    ids = (found or {}).get("NetworkInterfaceIds") or []
    if not ids:
        return None
    interfaces = world.aws.ec2.describe_network_interfaces(NetworkInterfaceIds=ids)["NetworkInterfaces"]
    groups = {group["GroupId"] for interface in interfaces for group in interface["Groups"]}
    return End(tuple(sorted(groups)), tuple(interface["PrivateIpAddress"] for interface in interfaces))
