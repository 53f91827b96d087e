"""FSx for Lustre. Sources: terraform-provider-aws internal/service/fsx/lustre_file_system.go,
data_repository_association.go."""

from collections.abc import Mapping
from typing import Any

from rehearsal.plugins.aws.life import describe, parameters
from rehearsal.plugins.aws.object import Object
from rehearsal.plugins.aws.row import MINUTE, Change, Row, Wait, words
from rehearsal.plugins.aws.tagging import calls
from rehearsal.plugins.servicer import PluginError

UPDATABLE = words(
    "storageCapacity perUnitStorageThroughput throughputCapacity dataCompressionType metadataConfiguration "
    "rootSquashConfiguration logConfiguration automaticBackupRetentionDays dailyAutomaticBackupStartTime "
    "weeklyMaintenanceStartTime autoImportPolicy dataReadCacheConfiguration"
)
RUNNING = ("PENDING", "IN_PROGRESS")


def _after(obj: Object, change: Change) -> None:
    if change.first or not change.touches(*UPDATABLE):
        return
    changed = {name: value for name, value in obj.inputs.items() if name in UPDATABLE and change.touches(name)}
    obj.call("update_file_system", FileSystemId=obj.id, **parameters(obj.row, "update_file_system", changed))
    _optimised(obj)


def _optimised(obj: Object) -> None:
    """Waits for the administrative action that an update is; growing storage goes on in the background after it."""
    while True:
        found = describe(obj) or {}
        actions = [
            each
            for each in found.get("AdministrativeActions") or ()
            if each.get("AdministrativeActionType") == "FILE_SYSTEM_UPDATE"
        ]
        failed = next((each for each in actions if each.get("Status") == "FAILED"), None)
        if failed:
            raise PluginError(f"update of {obj.id} is FAILED; {(failed.get('FailureDetails') or {}).get('Message')}")
        if not any(each.get("Status") in RUNNING for each in actions):
            return
        if not obj.deadline.pause():
            raise PluginError(f"update of {obj.id} is still going on after {obj.deadline}")


def _delete(obj: Object) -> None:
    skip = obj.inputs.get("skipFinalBackup", True)
    body: dict[str, Any] = {"SkipFinalBackup": skip}
    if tags := obj.inputs.get("finalBackupTags"):
        body["FinalBackupTags"] = [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
    obj.call("delete_file_system", FileSystemId=obj.id, LustreConfiguration=body)


def _unlink(obj: Object) -> None:
    """Files stay in the directory unless they are to go, too."""
    removes = bool(obj.inputs.get("deleteDataInFilesystem"))
    obj.call("delete_data_repository_association", AssociationId=obj.id, DeleteDataInFileSystem=removes)


def _replaced(old: Mapping[str, Any], new: Mapping[str, Any]) -> set[str]:
    """Storage only grows, and on the first scratch generation not even that."""
    before, after = old.get("storageCapacity"), new.get("storageCapacity")
    fixed = new.get("deploymentType", "SCRATCH_1") == "SCRATCH_1"
    shrinks = isinstance(before, int) and isinstance(after, int) and after < before
    return {"storageCapacity"} if shrinks or (fixed and before != after) else set()


def _look(_: Object, found: Mapping[str, Any]) -> Mapping[str, Any]:
    lustre = found.get("LustreConfiguration") or {}
    repository = lustre.get("DataRepositoryConfiguration") or {}
    names = {"importPath": "ImportPath", "exportPath": "ExportPath", "autoImportPolicy": "AutoImportPolicy"}
    return {
        "arn": found.get("ResourceARN"),
        "subnetIds": (found.get("SubnetIds") or [None])[0],
        **{name: repository.get(member) for name, member in names.items()},
    }


ROWS: dict[str, Row] = {
    "aws:fsx/lustreFileSystem:LustreFileSystem": Row(
        create="create_file_system -> FileSystem",
        read="describe_file_systems -> FileSystems[0]",
        delete=_delete,
        id="{FileSystemId}",
        inside="LustreConfiguration",
        defaults={"deploymentType": "SCRATCH_1", "skipFinalBackup": True, "storageType": "SSD"},
        constants={"FileSystemType": "LUSTRE"},
        local=words("skipFinalBackup finalBackupTags"),
        unseen=("securityGroupIds",),
        force_new=words(
            "deploymentType subnetIds securityGroupIds storageType kmsKeyId efaEnabled copyTagsToBackups "
            "driveCacheType exportPath importPath importedFileChunkSize fileSystemTypeVersion backupId"
        ),
        also_new=_replaced,
        computed=words(
            "automaticBackupRetentionDays autoImportPolicy dailyAutomaticBackupStartTime efaEnabled exportPath "
            "fileSystemTypeVersion importedFileChunkSize kmsKeyId logConfiguration metadataConfiguration "
            "weeklyMaintenanceStartTime throughputCapacity dataReadCacheConfiguration"
        ),
        sets=("securityGroupIds",),
        later=UPDATABLE,
        after=_after,
        look=_look,
        wait=Wait("Lifecycle", ("AVAILABLE", "UPDATING"), ("FAILED", "MISCONFIGURED"), "FailureDetails.Message"),
        lingers=True,
        tags=calls({"ResourceARN": "{ResourceARN}"}),
        timeouts=(30 * MINUTE, 30 * MINUTE, 30 * MINUTE),
    ),
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": Row(
        create="create_data_repository_association -> Association",
        read="describe_data_repository_associations -> Associations[0]",
        delete=_unlink,
        id="{AssociationId}",
        defaults={"batchImportMetaDataOnCreate": False, "deleteDataInFilesystem": False},
        local=("deleteDataInFilesystem",),
        later=("batchImportMetaDataOnCreate",),
        force_new=words("dataRepositoryPath fileSystemId fileSystemPath"),
        computed=words("importedFileChunkSize s3"),
        updates=(("update_data_repository_association", words("importedFileChunkSize s3")),),
        look=lambda _, found: {"arn": found.get("ResourceARN"), "associationId": found.get("AssociationId")},
        wait=Wait("Lifecycle", ("AVAILABLE",), ("FAILED", "MISCONFIGURED"), "FailureDetails.Message"),
        lingers=True,
        tags=calls({"ResourceARN": "{ResourceARN}"}),
        timeouts=(10 * MINUTE, 10 * MINUTE, 10 * MINUTE),
    ),
}
