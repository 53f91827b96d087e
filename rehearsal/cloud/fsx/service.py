"""File systems: create, describe, update, delete, tags. Source: FSx API reference, the operations of these names."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from moto.core.base_backend import BackendDict, BaseBackend
from moto.core.responses import ActionResult, EmptyResult
from moto.fsx import urls
from moto.moto_api._internal import mock_random

from rehearsal.cloud.account import ACCOUNT, ec2, hex_id, now, regions
from rehearsal.cloud.agenda import AGENDA
from rehearsal.cloud.ec2.use import remove_interface
from rehearsal.cloud.fsx import associations
from rehearsal.cloud.fsx.associations import Association
from rehearsal.cloud.fsx.network import make_interfaces, require_network
from rehearsal.cloud.fsx.rules import bad, check_new, check_update
from rehearsal.cloud.kms import find_key, key_error, key_of_arn
from rehearsal.cloud.service import Refusal, Service

SETTLING_SECONDS = 0.5
"""Stands for the five to ten minutes a file system takes to come up, to change and to go away."""
GROWTH_PAUSE_SECONDS = 6 * 3600
"""Six hours between increases of capacity (user guide, "Managing storage capacity")."""
DEFAULTS = {"DeploymentType": "SCRATCH_1", "DataCompressionType": "NONE", "WeeklyMaintenanceStartTime": "7:03:00"}


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


class FsxBackend(BaseBackend):  # type: ignore[misc]
    """The file systems of one region, by id."""

    def __init__(self, region_name: str, account_id: str) -> None:
        super().__init__(region_name, account_id)
        self.file_systems: dict[str, FileSystem] = {}
        self.associations: dict[str, Association] = {}


FSX_BACKENDS = BackendDict(FsxBackend, "fsx")


def file_systems() -> list[FileSystem]:
    """Every file system of the account."""
    return [each for _, backend in regions(FSX_BACKENDS) for each in backend.file_systems.values()]


def linked() -> list[Association]:
    """Every data repository association of the account."""
    return [each for _, backend in regions(FSX_BACKENDS) for each in backend.associations.values()]


class FsxResponder(Service):
    """FSx as far as Lustre file systems go."""

    NAME = "fsx"
    INVALID = "BadRequest"

    @property
    def state(self) -> dict[str, FileSystem]:
        """The file systems of the request's region."""
        found: dict[str, FileSystem] = FSX_BACKENDS[ACCOUNT][self.region].file_systems
        return found

    def create_file_system(self) -> ActionResult:
        """CREATING for a while; interfaces are in the subnet from the start."""
        given = self.input
        for known in self.state.values():
            if known.token and known.token == given.get("ClientRequestToken"):
                return ActionResult({"FileSystem": known.shown})
        if given["FileSystemType"] != "LUSTRE":
            raise bad(f"The rehearsal's FSx has Lustre file systems only, not {given['FileSystemType']}.")
        lustre = {**DEFAULTS, **given.get("LustreConfiguration", {})}
        second = lustre["DeploymentType"] == "PERSISTENT_2"
        given = {"StorageType": "SSD", "FileSystemTypeVersion": "2.12" if second else "2.10", **given}
        if given.get("StorageCapacity") is None:
            raise bad("StorageCapacity is required.")
        check_new(given, lustre)
        subnet = require_network(self.region, given)
        system = self._new(given, lustre, subnet)
        self.state[system.body["FileSystemId"]] = system
        AGENDA.after(SETTLING_SECONDS, lambda: _settle(system))
        return ActionResult({"FileSystem": system.shown})

    def _new(self, given: dict[str, Any], lustre: dict[str, Any], subnet: Any) -> FileSystem:
        system_id = hex_id("fs")
        interfaces = make_interfaces(self.region, system_id, given, subnet)
        key = find_key(self.region, given["KmsKeyId"]) if given.get("KmsKeyId") else None
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
            "DNSName": f"{system_id}.fsx.{self.region}.amazonaws.com",
            "KmsKeyId": key.arn if key else self._own_key() if persistent else None,
            "ResourceARN": f"arn:aws:fsx:{self.region}:{ACCOUNT}:file-system/{system_id}",
            "LustreConfiguration": own,
            "FileSystemTypeVersion": given["FileSystemTypeVersion"],
            "AdministrativeActions": [],
        }
        tags = {tag["Key"]: tag["Value"] for tag in given.get("Tags", [])}
        return FileSystem(body, interfaces, given.get("ClientRequestToken"), tags)

    def _own_key(self) -> str:
        """The account's AWS managed key for FSx."""
        return f"arn:aws:kms:{self.region}:{ACCOUNT}:alias/aws/fsx"

    def describe_file_systems(self) -> ActionResult:
        """FileSystemNotFound for an id that is not there, or not there any more."""
        given = self.input
        wanted = given.get("FileSystemIds") or list(self.state)
        return ActionResult({"FileSystems": [self._system(system_id).shown for system_id in wanted]})

    def update_file_system(self) -> ActionResult:
        """UPDATING while an administrative action changes it; one change at a time."""
        given = self.input
        system = self._system(given["FileSystemId"])
        body = system.body
        if system.shown["Lifecycle"] != "AVAILABLE":
            state = system.shown["Lifecycle"]
            raise bad(f"Cannot update {body['FileSystemId']}: its lifecycle is {state}, not AVAILABLE.")
        check_update(body, given)
        grows = given.get("StorageCapacity") is not None
        if grows and system.grown is not None and time.monotonic() - system.grown < GROWTH_PAUSE_SECONDS:
            raise bad("Storage capacity can be increased again six hours after the last increase.")
        if grows:
            system.grown = time.monotonic()
        target = {key: given[key] for key in ("StorageCapacity", "LustreConfiguration") if given.get(key) is not None}
        action = {
            "AdministrativeActionType": "FILE_SYSTEM_UPDATE",
            "RequestTime": now(),
            "Status": "IN_PROGRESS",
            "TargetFileSystemValues": target,
        }
        body |= {"Lifecycle": "UPDATING", "AdministrativeActions": [action, *body["AdministrativeActions"]]}
        AGENDA.after(SETTLING_SECONDS, lambda: _settle(system))
        return ActionResult({"FileSystem": system.shown})

    def delete_file_system(self) -> ActionResult:
        """DELETING for a while; then the interfaces leave the subnet and the id is not found."""
        given = self.input
        system = self._system(given["FileSystemId"])
        if system.body["Lifecycle"] != "DELETING":
            system.body["Lifecycle"] = "DELETING"
            region, state = self.region, self.state
            AGENDA.after(SETTLING_SECONDS, lambda: _remove(region, state, system))
        return ActionResult({"FileSystemId": given["FileSystemId"], "Lifecycle": "DELETING", "LustreResponse": {}})

    def tag_resource(self) -> EmptyResult:
        """Adds and replaces."""
        given = self.input
        self._tagged(given).tags.update({tag["Key"]: tag["Value"] for tag in given["Tags"]})
        return EmptyResult()

    def untag_resource(self) -> EmptyResult:
        """Keys that are not there are no error."""
        given = self.input
        tags = self._tagged(given).tags
        for key in given["TagKeys"]:
            tags.pop(key, None)
        return EmptyResult()

    def list_tags_for_resource(self) -> ActionResult:
        """All of them at once."""
        tags = self._tagged(self.input).tags
        return ActionResult({"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]})

    def create_data_repository_association(self) -> ActionResult:
        """CREATING for a while."""
        given = self.input
        known = self.associations
        for each in known.values():
            if each.token and each.token == given.get("ClientRequestToken"):
                return ActionResult({"Association": each.shown})
        system = self._system(given["FileSystemId"])
        beside = [each for each in known.values() if each.body["FileSystemId"] == given["FileSystemId"]]
        made = associations.new(self.region, given, system.shown, beside)
        known[made.body["AssociationId"]] = made
        AGENDA.after(SETTLING_SECONDS, lambda: _available(made))
        return ActionResult({"Association": made.shown})

    def describe_data_repository_associations(self) -> ActionResult:
        """By ids, or those of the file systems that the filters name."""
        given = self.input
        if wanted := given.get("AssociationIds"):
            return ActionResult({"Associations": [self._association(each).shown for each in wanted]})
        found = list(self.associations.values())
        for each in given.get("Filters") or ():
            if each["Name"] == "file-system-id":
                found = [one for one in found if one.body["FileSystemId"] in each["Values"]]
        return ActionResult({"Associations": [each.shown for each in found]})

    def update_data_repository_association(self) -> ActionResult:
        """UPDATING for a while. Policies that are given stand in place of the old ones."""
        given = self.input
        found = self._association(given["AssociationId"])
        if found.body["Lifecycle"] != "AVAILABLE":
            raise bad(f"{given['AssociationId']} is {found.body['Lifecycle']}, not AVAILABLE.")
        if given.get("S3") is not None:
            found.body["S3"] = associations.policies(given["S3"])
        if given.get("ImportedFileChunkSize"):
            found.body["ImportedFileChunkSize"] = given["ImportedFileChunkSize"]
        found.body["Lifecycle"] = "UPDATING"
        AGENDA.after(SETTLING_SECONDS, lambda: _available(found))
        return ActionResult({"Association": found.shown})

    def delete_data_repository_association(self) -> ActionResult:
        """DELETING for a while; then the id is not found. Files stay unless they are to go, too."""
        given = self.input
        found, known = self._association(given["AssociationId"]), self.associations
        found.body["Lifecycle"] = "DELETING"

        def remove() -> None:
            known.pop(given["AssociationId"], None)

        AGENDA.after(SETTLING_SECONDS, remove)
        removes = given.get("DeleteDataInFileSystem", False)
        gone = {"AssociationId": given["AssociationId"], "Lifecycle": "DELETING", "DeleteDataInFileSystem": removes}
        return ActionResult(gone)

    @property
    def associations(self) -> dict[str, Association]:
        """The associations of the request's region."""
        found: dict[str, Association] = FSX_BACKENDS[ACCOUNT][self.region].associations
        return found

    def _association(self, identity: str) -> Association:
        if identity not in self.associations:
            message = f"Data repository association '{identity}' does not exist."
            raise Refusal("DataRepositoryAssociationNotFound", message)
        return self.associations[identity]

    def _tagged(self, given: dict[str, Any]) -> FileSystem | Association:
        owned: list[FileSystem | Association] = [*self.state.values(), *self.associations.values()]
        for system in owned:
            if system.body["ResourceARN"] == given["ResourceARN"]:
                return system
        message = f"Resource '{given['ResourceARN']}' does not exist."
        raise Refusal("ResourceNotFound", message, ResourceARN=given["ResourceARN"])

    def _system(self, system_id: str) -> FileSystem:
        if system_id not in self.state:
            raise Refusal("FileSystemNotFound", f"File system '{system_id}' does not exist.")
        return self.state[system_id]


def _settle(system: FileSystem) -> None:
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


def _available(association: Association) -> None:
    if association.body["Lifecycle"] in ("CREATING", "UPDATING"):
        association.body["Lifecycle"] = "AVAILABLE"


def _remove(region: str, state: dict[str, FileSystem], system: FileSystem) -> None:
    for interface in system.interfaces:
        remove_interface(ec2(region), interface)
    state.pop(system.body["FileSystemId"], None)
    known = FSX_BACKENDS[ACCOUNT][region].associations
    for each in [each for each in known.values() if each.body["FileSystemId"] == system.body["FileSystemId"]]:
        known.pop(each.body["AssociationId"], None)


def route() -> None:
    """Send FSx here instead of to moto."""
    urls.url_paths["{0}/$"] = FsxResponder.dispatch
