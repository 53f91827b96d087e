"""EFS: keys that exist, throughput that can change, backup and file-system policies, what keeps a mount target away.

Sources: EFS API reference, CreateFileSystem, UpdateFileSystem, CreateMountTarget, CreateAccessPoint, PutBackupPolicy,
PutFileSystemPolicy, DeleteFileSystemPolicy, PutLifecycleConfiguration.
"""

import json
from typing import Any

from moto.efs.exceptions import BadRequest, EFSError, FileSystemNotFound, SecurityGroupNotFound
from moto.efs.models import EFSBackend, FileSystem
from moto.efs.responses import EFSResponse

from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.kms import find_key, key_fault

AMENDMENTS = Amendments()
NO_CONTENT = {"status": 204, "Content-Type": "application/json"}
JSON = {"Content-Type": "application/json"}


class InvalidPolicyError(EFSError):  # type: ignore[misc]
    """The policy of a file system is none."""

    code = 400


@AMENDMENTS.around(EFSBackend, "create_file_system")
def create_file_system(original: Any, self: Any, **kwargs: Any) -> Any:
    """A KMS key must be there and enabled; whichever way it is named, the file system tells its ARN."""
    if name := kwargs.get("kms_key_id"):
        key = find_key(self.region_name, name)
        if key is None or key.key_state != "Enabled":
            raise BadRequest(f"The KMS key {name} cannot be used: {key_fault(self.region_name, name)}")
        kwargs["kms_key_id"] = key.arn
    _check_throughput(kwargs.get("throughput_mode"), kwargs.get("provisioned_throughput_in_mibps"))
    if kwargs.get("throughput_mode") == "elastic" and kwargs.get("performance_mode") == "maxIO":
        raise BadRequest("Elastic throughput mode is not supported for the Max I/O performance mode.")
    return original(self, **kwargs)


def _check_throughput(mode: str | None, provisioned: float | None) -> None:
    if (mode == "provisioned") != bool(provisioned):
        raise BadRequest("ProvisionedThroughputInMibps goes with the throughput mode 'provisioned', and with no other.")


@AMENDMENTS.around(EFSBackend, "create_mount_target")
def create_mount_target(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """The groups must be of the subnet's VPC; the interface is the service's own."""
    groups, subnet = kwargs.get("security_groups") or [], kwargs.get("subnet_id")
    known = {each.id: each for each in self.ec2_backend.describe_subnets()}
    for each in groups:
        found = self.ec2_backend.get_security_group_from_id(each)
        if found is None or (subnet in known and found.vpc_id != known[subnet].vpc_id):
            raise SecurityGroupNotFound(each)
    target = original(self, *args, **kwargs)
    interface = self.ec2_backend.enis[target.network_interface_id]
    interface.description = f"EFS mount target for {target.file_system_id} ({target.mount_target_id})"
    interface.requester_managed, interface.status = True, "in-use"
    return target


@AMENDMENTS.around(EFSBackend, "create_access_point")
def create_access_point(original: Any, self: Any, client_token: str, **kwargs: Any) -> Any:
    """Refuse an access point unless its file system exists and its path begins at the root."""
    if kwargs["file_system_id"] not in self.file_systems_by_id:
        raise FileSystemNotFound(kwargs["file_system_id"])
    path = (kwargs.get("root_directory") or {}).get("Path", "/")
    if not path.startswith("/"):
        raise BadRequest(f"Invalid path '{path}': it must begin with a forward slash.")
    return original(self, client_token, **kwargs)


@AMENDMENTS.operation(EFSResponse)
def update_file_system(self: Any) -> Any:
    """Another throughput mode; a mode that is not named stays."""
    system = _system(self)
    mode = self._get_param("ThroughputMode") or system.throughput_mode
    provisioned = self._get_param("ProvisionedThroughputInMibps")
    _check_throughput(mode, provisioned)
    system.throughput_mode, system.provisioned_throughput_in_mibps = mode, provisioned
    return json.dumps(system.info_json()), {"status": 202, **JSON}


@AMENDMENTS.operation(EFSResponse)
def put_backup_policy(self: Any) -> Any:
    """Whether AWS Backup takes the file system into its daily plan."""
    system, wanted = _system(self), self._get_param("BackupPolicy")
    system._backup = wanted["Status"] == "ENABLED"
    system._backup_told = wanted["Status"]
    return json.dumps({"BackupPolicy": wanted}), JSON


AMENDMENTS.attribute(
    FileSystem,
    "backup_policy",
    property(lambda self: {"Status": getattr(self, "_backup_told", "ENABLED" if self._backup else "DISABLED")}),
)


@AMENDMENTS.around(EFSBackend, "put_file_system_policy")
def put_file_system_policy(original: Any, self: Any, **kwargs: Any) -> Any:
    """JSON, of a file system that exists."""
    if kwargs["file_system_id"] not in self.file_systems_by_id:
        raise FileSystemNotFound(kwargs["file_system_id"])
    try:
        json.loads(kwargs["policy"])["Statement"]
    except (KeyError, TypeError, ValueError):
        raise InvalidPolicyError("InvalidPolicyException", "The policy is malformed.") from None
    return original(self, **kwargs)


@AMENDMENTS.operation(EFSResponse)
def delete_file_system_policy(self: Any) -> Any:
    """Everybody who reaches the file system may mount it again."""
    _system(self).file_system_policy = None
    return "{}", NO_CONTENT


def _system(response: Any) -> Any:
    identity, systems = response._get_param("FileSystemId"), response.efs_backend.file_systems_by_id
    if identity not in systems:
        raise FileSystemNotFound(identity)
    return systems[identity]
