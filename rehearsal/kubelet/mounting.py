"""What the account says about mounting a PersistentVolume on a machine, by CSI driver."""

from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from rehearsal.cloud.seen import efs, lustre
from rehearsal.cloud.seen.network import End
from rehearsal.kubelet import faults
from rehearsal.kubelet.hosts import Host
from rehearsal.kubelet.world import World

EFS, FSX = "efs.csi.aws.com", "fsx.csi.aws.com"


def checker(world: World, host: Host) -> Callable[[Mapping[str, Any]], str | None]:
    """A function that says why a PersistentVolume cannot be mounted on the machine; None if it can."""

    def can_mount(volume: Mapping[str, Any]) -> str | None:
        if local := volume["spec"].get("local"):
            return None if host.mounted(local["path"]) else f'path "{local["path"]}" does not exist'
        csi = volume["spec"]["csi"]
        if csi["driver"] not in (EFS, FSX):
            return None
        if faults.lasting(world.orders.now().of(host.node), "filesystem-mount"):
            return "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
        if csi["driver"] == EFS:
            return _home(world, host, volume)
        if reason := lustre.mode_problem(volume["spec"].get("accessModes") or ()):
            return reason
        try:
            systems = world.aws.cached("fsx", lambda: _systems(world))
            servers = world.aws.cached(("fsx", csi["volumeHandle"]), lambda: _servers(world, systems, csi))
            return lustre.mount_problem(csi, systems, host.primary, host.vpc, servers, world.aws.groups())
        except (BotoCoreError, ClientError) as error:
            return f"rpc error: code = Unavailable desc = {error}"

    return can_mount


def _home(world: World, host: Host, volume: Mapping[str, Any]) -> str | None:
    csi = volume["spec"]["csi"]
    system, point = efs.parts(csi["volumeHandle"])
    try:
        seen = world.aws.cached(("efs", csi["volumeHandle"]), lambda: _seen(world, system, point))
        return efs.mount_problem(volume["spec"], seen, host.primary, host.vpc, host.zone, world.aws.groups())
    except (BotoCoreError, ClientError) as error:
        return f"rpc error: code = Unavailable desc = {error}"


def _seen(world: World, system: str, point: str | None) -> efs.Seen:
    """What the account tells of a file system: itself, its mount targets with their interfaces, point and policy."""
    client, ec2 = world.aws.efs, world.aws.ec2
    systems = [each for each in client.describe_file_systems()["FileSystems"] if each["FileSystemId"] == system]
    targets = client.describe_mount_targets(FileSystemId=system)["MountTargets"] if systems else []
    ids = [each["NetworkInterfaceId"] for each in targets]
    interfaces = ec2.describe_network_interfaces(NetworkInterfaceIds=ids)["NetworkInterfaces"] if ids else []
    points = client.describe_access_points()["AccessPoints"]
    try:
        policy = client.describe_file_system_policy(FileSystemId=system)["Policy"] if systems else None
    except client.exceptions.PolicyNotFound:
        policy = None
    return efs.Seen(
        system=systems[0] if systems else None,
        targets=targets,
        ends={
            each["NetworkInterfaceId"]: End(
                tuple(group["GroupId"] for group in each["Groups"]), (each["PrivateIpAddress"],)
            )
            for each in interfaces
        },
        point=next((each for each in points if each["AccessPointId"] == point), None),
        policy=policy,
    )


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
