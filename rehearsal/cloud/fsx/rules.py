"""What FSx for Lustre refuses: sizes, throughput tiers, EFA, metadata.

Sources: FSx API reference, CreateFileSystem (StorageCapacity), CreateFileSystemLustreConfiguration, UpdateFileSystem;
FSx for Lustre user guide, "Working with EFA-enabled file systems" and "Managing storage capacity". Sizes are GiB,
throughput is MB/s per TiB.
"""

from typing import Any

from rehearsal.cloud.service import Refusal

THROUGHPUT = {
    ("PERSISTENT_1", "SSD"): (50, 100, 200),
    ("PERSISTENT_1", "HDD"): (12, 40),
    ("PERSISTENT_2", "SSD"): (125, 250, 500, 1000),
}
EFA_STEP_GIB = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}
HDD_STEP_GIB = {12: 6000, 40: 1800}
METADATA_IOPS = (1500, 3000, 6000, *range(12000, 192001, 12000))
VERSIONS = ("2.10", "2.12", "2.15")
GROWTH = 1.1
"""A larger capacity must be at least ten percent larger."""


def bad(message: str) -> Refusal:
    """BadRequest, FSx' answer to values it will not work with."""
    return Refusal("BadRequest", message)


def check_new(given: dict[str, Any], lustre: dict[str, Any]) -> None:
    """Refuse a file system that cannot be had."""
    deployment, storage = lustre["DeploymentType"], given["StorageType"]
    persistent = deployment.startswith("PERSISTENT")
    if storage not in ("SSD", "HDD") or (storage == "HDD" and deployment != "PERSISTENT_1"):
        raise bad(f"Storage type {storage} is not supported for deployment type {deployment}.")
    _check_throughput(deployment, storage, lustre.get("PerUnitStorageThroughput"), persistent)
    check_capacity(given["StorageCapacity"], storage, lustre)
    _check_version(given["FileSystemTypeVersion"], deployment)
    _check_efa(lustre)
    _check_metadata(lustre)
    if not persistent and lustre.get("AutomaticBackupRetentionDays"):
        raise bad(f"Automatic backups are not supported for deployment type {deployment}.")
    imports = [key for key in ("ImportPath", "ExportPath", "AutoImportPolicy") if lustre.get(key)]
    if deployment == "PERSISTENT_2" and imports:
        raise bad(f"{', '.join(imports)} cannot be given for PERSISTENT_2; use a data repository association.")


def _check_throughput(deployment: str, storage: str, throughput: int | None, persistent: bool) -> None:
    if not persistent and throughput is not None:
        raise bad(f"PerUnitStorageThroughput is not supported for deployment type {deployment}.")
    tiers = THROUGHPUT.get((deployment, storage), ())
    if persistent and throughput not in tiers:
        message = f"PerUnitStorageThroughput {throughput} is invalid for {deployment} {storage}; valid values: {tiers}."
        raise Refusal("InvalidPerUnitStorageThroughput", message)


def check_capacity(capacity: int, storage: str, lustre: dict[str, Any]) -> None:
    """Smallest size and steps by deployment type, storage type and EFA."""
    throughput = lustre.get("PerUnitStorageThroughput")
    if lustre.get("EfaEnabled"):
        step = EFA_STEP_GIB[int(throughput or 0)]
        valid, rule = capacity % step == 0, f"{step} GiB or multiples of it with EFA at {throughput} MB/s per TiB"
    elif storage == "HDD":
        step = HDD_STEP_GIB[int(throughput or 0)]
        valid, rule = capacity % step == 0, f"{step} GiB or multiples of it"
    elif lustre["DeploymentType"] == "SCRATCH_1":
        valid, rule = capacity in (1200, 2400) or capacity % 3600 == 0, "1200, 2400 or multiples of 3600 GiB"
    else:
        valid, rule = capacity == 1200 or capacity % 2400 == 0, "1200 GiB or multiples of 2400 GiB"
    if not valid or capacity <= 0:
        raise bad(f"Storage capacity {capacity} is invalid for {lustre['DeploymentType']}: it must be {rule}.")


def _check_version(version: str, deployment: str) -> None:
    if version not in VERSIONS:
        raise bad(f"FileSystemTypeVersion {version} is invalid; valid values: {VERSIONS}.")
    if deployment == "PERSISTENT_2" and version == "2.10":
        raise bad("PERSISTENT_2 needs FileSystemTypeVersion 2.12 or 2.15.")


def _check_efa(lustre: dict[str, Any]) -> None:
    if not lustre.get("EfaEnabled"):
        return
    if lustre["DeploymentType"] != "PERSISTENT_2" or not lustre.get("MetadataConfiguration"):
        raise bad("EfaEnabled is supported on PERSISTENT_2 file systems with a metadata configuration only.")


def _check_metadata(lustre: dict[str, Any]) -> None:
    metadata = lustre.get("MetadataConfiguration")
    if not metadata:
        return
    if lustre["DeploymentType"] != "PERSISTENT_2":
        raise bad("MetadataConfiguration is supported for PERSISTENT_2 only.")
    if metadata["Mode"] == "USER_PROVISIONED" and metadata.get("Iops") not in METADATA_IOPS:
        raise bad(f"Metadata IOPS {metadata.get('Iops')} is invalid; valid values: {METADATA_IOPS}.")
    if metadata["Mode"] == "AUTOMATIC" and metadata.get("Iops"):
        raise bad("Metadata IOPS cannot be given in mode AUTOMATIC.")


def check_update(body: dict[str, Any], given: dict[str, Any]) -> None:
    """Refuse a change that FSx cannot make; the caller has checked that none is in progress."""
    lustre = body["LustreConfiguration"]
    wanted = given.get("LustreConfiguration", {})
    capacity = given.get("StorageCapacity")
    if capacity is not None:
        _check_growth(body, capacity)
    throughput = wanted.get("PerUnitStorageThroughput")
    if throughput is not None and throughput != lustre.get("PerUnitStorageThroughput"):
        if lustre["DeploymentType"] != "PERSISTENT_2":
            raise bad(f"PerUnitStorageThroughput cannot be changed for {lustre['DeploymentType']}.")
        if lustre.get("EfaEnabled"):
            raise bad("PerUnitStorageThroughput cannot be changed on an EFA-enabled file system.")
        _check_throughput(lustre["DeploymentType"], body["StorageType"], throughput, persistent=True)
        if capacity is not None:
            raise bad("Storage capacity and throughput cannot be changed in one request.")
    metadata = wanted.get("MetadataConfiguration")
    if metadata:
        _check_metadata({**lustre, "MetadataConfiguration": metadata})
        if metadata.get("Iops", 0) < (lustre.get("MetadataConfiguration") or {}).get("Iops", 0):
            raise bad("Metadata IOPS can be increased only.")


def _check_growth(body: dict[str, Any], capacity: int) -> None:
    current, lustre = body["StorageCapacity"], body["LustreConfiguration"]
    if lustre["DeploymentType"] == "SCRATCH_1":
        raise bad("Storage capacity of SCRATCH_1 file systems cannot be changed.")
    if capacity <= current:
        raise bad(f"Storage capacity can be increased only: {capacity} GiB is not more than {current} GiB.")
    if capacity < current * GROWTH:
        raise bad(f"Storage capacity must grow by 10 percent at least: {capacity} GiB is too close to {current} GiB.")
    check_capacity(capacity, body["StorageType"], lustre)
