"""Data repository associations: links of a directory with a prefix of a bucket.

Sources: FSx API reference, CreateDataRepositoryAssociation (eight of a file system, paths apart, versions 2.12 and
later, no SCRATCH_1), UpdateDataRepositoryAssociation, DescribeDataRepositoryAssociations, DataRepositoryAssociation;
FSx for Lustre user guide, "Linking your file system to an Amazon S3 bucket". The words of refusals are ours.
"""

from dataclasses import dataclass, field
from typing import Any

from rehearsal.cloud.account import ACCOUNT, hex_id, now
from rehearsal.cloud.buckets import owner_of
from rehearsal.cloud.fsx.rules import bad
from rehearsal.cloud.service import Refusal

MOST = 8
EVENTS = ("NEW", "CHANGED", "DELETED")
CHUNK_MIB = 1024


@dataclass(slots=True)
class Association:
    """One association as described."""

    body: dict[str, Any]
    token: str | None
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> dict[str, Any]:
        """What DescribeDataRepositoryAssociations returns."""
        return {**self.body, "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()]}


def new(region: str, given: dict[str, Any], system: dict[str, Any], others: list[Association]) -> Association:
    """An association in creation. Raises Refusal for one that cannot be had."""
    _check_system(system)
    path, source = given.get("FileSystemPath") or "/", given["DataRepositoryPath"]
    if not path.startswith("/"):
        raise bad(f"File system path {path} must begin with a forward slash.")
    if not source.startswith("s3://"):
        raise bad(f"Data repository path {source} is not an Amazon S3 path.")
    if owner_of(source.removeprefix("s3://").partition("/")[0]) is None:
        raise bad(f"The bucket of {source} does not exist, or Amazon FSx may not read it.")
    if len(others) >= MOST:
        raise Refusal("ServiceLimitExceeded", f"{system['FileSystemId']} has {MOST} data repository associations.")
    for other in others:
        for name, own, theirs in (
            ("File system", path, other.body["FileSystemPath"]),
            ("Data repository", source, other.body["DataRepositoryPath"]),
        ):
            if _inside(own, theirs) or _inside(theirs, own):
                raise bad(f"{name} path {own} overlaps {theirs} of {other.body['AssociationId']}.")
    identity = hex_id("dra")
    body = {
        "AssociationId": identity,
        "ResourceARN": f"arn:aws:fsx:{region}:{ACCOUNT}:association/{system['FileSystemId']}/{identity}",
        "FileSystemId": system["FileSystemId"],
        "Lifecycle": "CREATING",
        "FileSystemPath": path,
        "DataRepositoryPath": source,
        "BatchImportMetaDataOnCreate": given.get("BatchImportMetaDataOnCreate", False),
        "ImportedFileChunkSize": given.get("ImportedFileChunkSize", CHUNK_MIB),
        "S3": policies(given.get("S3")),
        "CreationTime": now(),
    }
    tags = {tag["Key"]: tag["Value"] for tag in given.get("Tags", [])}
    return Association(body, given.get("ClientRequestToken"), tags)


def policies(given: dict[str, Any] | None) -> dict[str, Any]:
    """The policies with events; one without any is none."""
    found = {}
    for name in ("AutoImportPolicy", "AutoExportPolicy"):
        events = ((given or {}).get(name) or {}).get("Events") or []
        if unknown := [each for each in events if each not in EVENTS]:
            raise bad(f"{name} has unknown events {unknown}.")
        if events:
            found[name] = {"Events": events}
    return found


def _check_system(system: dict[str, Any]) -> None:
    if system["Lifecycle"] not in ("AVAILABLE", "UPDATING"):
        raise bad(f"File system {system['FileSystemId']} is {system['Lifecycle']}, not AVAILABLE.")
    deployment, version = system["LustreConfiguration"]["DeploymentType"], system["FileSystemTypeVersion"]
    if deployment == "SCRATCH_1" or version == "2.10":
        message = f"Data repository associations are not supported for {deployment} with Lustre {version}."
        raise Refusal("UnsupportedOperation", message)


def _inside(one: str, other: str) -> bool:
    return f"{one.rstrip('/')}/".startswith(f"{other.rstrip('/')}/")
