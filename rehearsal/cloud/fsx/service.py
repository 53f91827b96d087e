"""File systems: create, describe, update, delete, tags. Source: FSx API reference, the operations of these names."""

import time

from moto.core.base_backend import BackendDict, BaseBackend
from moto.core.responses import ActionResult
from moto.fsx import urls

from rehearsal.cloud.account import ACCOUNT, ec2, now, regions
from rehearsal.cloud.agenda import AGENDA
from rehearsal.cloud.ec2.use import remove_interface
from rehearsal.cloud.fsx import associations
from rehearsal.cloud.fsx.associations import Association
from rehearsal.cloud.fsx.network import require_network
from rehearsal.cloud.fsx.rules import bad, check_new, check_update
from rehearsal.cloud.fsx.systems import FileSystem, made, settle
from rehearsal.cloud.service import Refusal
from rehearsal.cloud.tagging import Tagging

SETTLING_SECONDS = 0.5
"""Stands for the five to ten minutes a file system takes to come up, to change and to go away."""
GROWTH_PAUSE_SECONDS = 6 * 3600
"""Six hours between increases of capacity (user guide, "Managing storage capacity")."""
DEFAULTS = {"DeploymentType": "SCRATCH_1", "DataCompressionType": "NONE", "WeeklyMaintenanceStartTime": "7:03:00"}


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


class FsxResponder(Tagging):
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
        system = made(self.region, given, lustre, subnet)
        self.state[system.body["FileSystemId"]] = system
        AGENDA.after(SETTLING_SECONDS, lambda: settle(system))
        return ActionResult({"FileSystem": system.shown})

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
        AGENDA.after(SETTLING_SECONDS, lambda: settle(system))
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

    def create_data_repository_association(self) -> ActionResult:
        """CREATING for a while."""
        given = self.input
        known = self.associations
        for each in known.values():
            if each.token and each.token == given.get("ClientRequestToken"):
                return ActionResult({"Association": each.shown})
        system = self._system(given["FileSystemId"])
        beside = [each for each in known.values() if each.body["FileSystemId"] == given["FileSystemId"]]
        link = associations.new(self.region, given, system.shown, beside)
        known[link.body["AssociationId"]] = link
        AGENDA.after(SETTLING_SECONDS, lambda: _available(link))
        return ActionResult({"Association": link.shown})

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

    def _tags_of(self, arn: str) -> dict[str, str]:
        owned: list[FileSystem | Association] = [*self.state.values(), *self.associations.values()]
        for each in owned:
            if each.body["ResourceARN"] == arn:
                return each.tags
        raise Refusal("ResourceNotFound", f"Resource '{arn}' does not exist.", ResourceARN=arn)

    def _system(self, system_id: str) -> FileSystem:
        if system_id not in self.state:
            raise Refusal("FileSystemNotFound", f"File system '{system_id}' does not exist.")
        return self.state[system_id]


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
