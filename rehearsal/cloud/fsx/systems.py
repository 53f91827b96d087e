"""A file system of FSx: what it is when it is made, how it is described, and what becomes of it by and by."""

from dataclasses import dataclass, field
from typing import Any

from moto.moto_api._internal import mock_random

from rehearsal.cloud.account import ACCOUNT, hex_id, now
from rehearsal.cloud.fsx.network import make_interfaces
from rehearsal.cloud.kms import find_key, key_error, key_of_arn


@dataclass(slots=True)
class FileSystem:
    """One file system as described, its interfaces, and when its capacity last grew (monotonic seconds)."""

    body: dict[str, Any]
    interfaces: list[str]
    token: str | None
    tags: dict[str, str] = field(default_factory=dict)
    grown: float | None = None

    @property
    def shown(self) -> dict[str, Any]:
        """What DescribeFileSystems returns."""
        return {
            **self.body,
            **self._locked(),
            "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()],
        }

    def _locked(self) -> dict[str, Any]:
        """MISCONFIGURED, failed but recoverable, while FSx cannot use the key of the file system.

        Source: FSx for Lustre user guide, "File system status"; FSx for Windows user guide, "Storage or throughput
        capacity updates fail" (enable the key, or cancel its deletion). The words of the details are ours.
        """
        name = self.body.get("KmsKeyId") or ""
        error = key_error(key_of_arn(name)) if ":key/" in name else None
        if error is None or self.body["Lifecycle"] not in ("AVAILABLE", "UPDATING"):
            return {}
        message = f"Amazon FSx cannot use the KMS key of the file system ({error[0]}: {error[1]})"
        return {"Lifecycle": "MISCONFIGURED", "FailureDetails": {"Message": message}}


def made(region: str, given: dict[str, Any], lustre: dict[str, Any], subnet: Any) -> FileSystem:
    """A file system as it is while it comes up, for a request with its defaults; its interfaces are there."""
    system_id = hex_id("fs")
    interfaces = make_interfaces(region, system_id, given, subnet)
    key = find_key(region, given["KmsKeyId"]) if given.get("KmsKeyId") else None
    persistent = lustre["DeploymentType"].startswith("PERSISTENT")
    mount = "fsx" if lustre["DeploymentType"] == "SCRATCH_1" else mock_random.get_random_string(8, lower_case=True)
    own = {"LogConfiguration": {"Level": "DISABLED"}, **lustre, "MountName": mount}
    if persistent:
        own = {"AutomaticBackupRetentionDays": 0, "CopyTagsToBackups": False, **own}
    body = {
        "OwnerId": ACCOUNT,
        "CreationTime": now(),
        "FileSystemId": system_id,
        "FileSystemType": "LUSTRE",
        "Lifecycle": "CREATING",
        "StorageCapacity": given["StorageCapacity"],
        "StorageType": given["StorageType"],
        "VpcId": subnet.vpc_id,
        "SubnetIds": [subnet.id],
        "NetworkInterfaceIds": interfaces,
        "DNSName": f"{system_id}.fsx.{region}.amazonaws.com",
        "KmsKeyId": key.arn if key else _own_key(region) if persistent else None,
        "ResourceARN": f"arn:aws:fsx:{region}:{ACCOUNT}:file-system/{system_id}",
        "LustreConfiguration": own,
        "FileSystemTypeVersion": given["FileSystemTypeVersion"],
        "AdministrativeActions": [],
    }
    tags = {tag["Key"]: tag["Value"] for tag in given.get("Tags", [])}
    return FileSystem(body, interfaces, given.get("ClientRequestToken"), tags)


def _own_key(region: str) -> str:
    """The account's AWS managed key for FSx."""
    return f"arn:aws:kms:{region}:{ACCOUNT}:alias/aws/fsx"


def settle(system: FileSystem) -> None:
    """End a creation or an update: what was asked for becomes what is."""
    if system.body["Lifecycle"] == "DELETING":
        return
    for action in system.body["AdministrativeActions"]:
        if action["Status"] == "IN_PROGRESS":
            target = action["TargetFileSystemValues"]
            lustre = {**system.body["LustreConfiguration"], **target.get("LustreConfiguration", {})}
            system.body["StorageCapacity"] = target.get("StorageCapacity", system.body["StorageCapacity"])
            system.body["LustreConfiguration"] = lustre
            action["Status"] = "COMPLETED"
    system.body["Lifecycle"] = "AVAILABLE"
