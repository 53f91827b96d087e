"""EFS. Sources: terraform-provider-aws internal/service/efs: file_system.go, mount_target.go, access_point.go,
backup_policy.go, file_system_policy.go."""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.life import parameters
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Change, Row, Wait, words
from rehearsal.plugins.aws.tagging import calls

THROUGHPUT = words("throughputMode provisionedThroughputInMibps")


def _read(obj: Object) -> Any:
    """The description, and the lifecycle configuration, which has a call of its own."""
    found = obj.search("describe_file_systems -> FileSystems[0]", FileSystemId=obj.id)
    policies = obj.search("describe_lifecycle_configuration -> LifecyclePolicies", FileSystemId=obj.id)
    return {**found, "LifecyclePolicies": policies or None}


def _after(obj: Object, change: Change) -> None:
    if not change.touches("lifecyclePolicies") or (change.first and not obj.inputs.get("lifecyclePolicies")):
        return
    call, wanted = "put_lifecycle_configuration", {"lifecyclePolicies": obj.inputs.get("lifecyclePolicies") or []}
    obj.call(call, FileSystemId=obj.id, **parameters(obj.row, call, wanted))


def _look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "arn": found.get("FileSystemArn"),
        "dnsName": f"{obj.id}.efs.{obj.region}.amazonaws.com",
        "lifecyclePolicies": found.get("LifecyclePolicies"),
    }


def _target(obj: Object) -> Any:
    found = obj.search("describe_mount_targets -> MountTargets[0]", MountTargetId=obj.id)
    call = "describe_mount_target_security_groups -> SecurityGroups"
    return {**found, "SecurityGroups": obj.search(call, MountTargetId=obj.id)}


def _target_look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    name = f"{found['FileSystemId']}.efs.{obj.region}.amazonaws.com"
    zone = found.get("AvailabilityZoneName")
    system = obj.search("describe_file_systems -> FileSystems[0].FileSystemArn", FileSystemId=found["FileSystemId"])
    return {"dnsName": name, "mountTargetDnsName": f"{zone}.{name}", "fileSystemArn": system}


def _point_look(obj: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    system = obj.search("describe_file_systems -> FileSystems[0].FileSystemArn", FileSystemId=found["FileSystemId"])
    return {"arn": found.get("AccessPointArn"), "fileSystemArn": system}


def _backup(obj: Object) -> Any:
    """The answer names no file system."""
    system = obj.fill("{fileSystemId}")
    return {"FileSystemId": system, **obj.search("describe_backup_policy", FileSystemId=system)}


def _no_backups(obj: Object) -> None:
    obj.call("put_backup_policy", FileSystemId=obj.id, BackupPolicy={"Status": "DISABLED"})


OF_SYSTEM = {"FileSystemId": "{fileSystemId}"}
ROWS: dict[str, Row] = {
    "aws:efs/fileSystem:FileSystem": Row(
        create="create_file_system",
        read=_read,
        id="{FileSystemId}",
        listing="describe_file_systems -> FileSystems",
        names={"arn": "FileSystemArn"},
        defaults={"throughputMode": "bursting"},
        apart=("lifecyclePolicies",),
        force_new=words("availabilityZoneName creationToken encrypted kmsKeyId performanceMode"),
        computed=words("creationToken encrypted kmsKeyId performanceMode protection"),
        updates=(("update_file_system", THROUGHPUT),),
        after=_after,
        look=_look,
        wait=Wait("LifeCycleState", ("available",), ("error",)),
        lingers=True,
        tags=calls({"ResourceId": "{FileSystemId}"}),
    ),
    "aws:efs/mountTarget:MountTarget": Row(
        create="create_mount_target",
        read=_target,
        key={"MountTargetId": "{MountTargetId}", "FileSystemId": "{fileSystemId}"},
        id="{MountTargetId}",
        listing="describe_mount_targets -> MountTargets",
        unique=("subnetId",),
        force_new=words("fileSystemId ipAddress subnetId"),
        computed=words("ipAddress securityGroups"),
        sets=("securityGroups",),
        updates=(("modify_mount_target_security_groups", ("securityGroups",)),),
        look=_target_look,
        wait=Wait("LifeCycleState", ("available",), ("error",)),
        lingers=True,
        timeouts=(30 * MINUTE, 10 * MINUTE, 10 * MINUTE),
    ),
    "aws:efs/accessPoint:AccessPoint": Row(
        create="create_access_point",
        read="describe_access_points -> AccessPoints[0]",
        id="{AccessPointId}",
        key={"AccessPointId": "{AccessPointId}"},
        force_new=words("fileSystemId posixUser rootDirectory"),
        computed=("rootDirectory",),
        look=_point_look,
        wait=Wait("LifeCycleState", ("available",), ("error",)),
        lingers=True,
        tags=calls({"ResourceId": "{AccessPointId}"}),
    ),
    "aws:efs/backupPolicy:BackupPolicy": Row(
        create="put_backup_policy",
        read=_backup,
        delete=_no_backups,
        key=OF_SYSTEM,
        id="{fileSystemId}",
        force_new=("fileSystemId",),
        updates=(("put_backup_policy", ("backupPolicy",)),),
        wait=Wait("BackupPolicy.Status", ("ENABLED", "DISABLED"), ()),
    ),
    "aws:efs/fileSystemPolicy:FileSystemPolicy": Row(
        create="put_file_system_policy",
        read="describe_file_system_policy",
        key=OF_SYSTEM,
        id="{fileSystemId}",
        documents=("policy",),
        unseen=("bypassPolicyLockoutSafetyCheck",),
        force_new=("fileSystemId",),
        updates=(("put_file_system_policy", ("policy",)),),
    ),
}
