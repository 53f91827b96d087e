"""FSx for Lustre, owned by the stack and not by a claim: its data outlives any claim, and `destroy` finds it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pulumi
import pulumi_aws as aws

from components._base import Component

LUSTRE_VERSION = "2.15"


@dataclass(frozen=True, kw_only=True)
class AssociationSpec:
    """A directory and the address in S3 it is linked with; which events (NEW, CHANGED, DELETED) pass by themselves."""

    path: str
    source: str
    imports: Sequence[str]
    exports: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class LustreArgs:
    """`throughput_mbps_per_tib` (MB/s per TiB) and `key_arn` are for PERSISTENT_2; scratch has a fixed rate and key.

    `efa` also needs metadata configuration and a group that passes all traffic (FSx for Lustre user guide).
    """

    deployment_type: Literal["SCRATCH_2", "PERSISTENT_2"]
    capacity_gib: int
    subnet_id: pulumi.Input[str]
    security_group_ids: list[pulumi.Input[str]]
    throughput_mbps_per_tib: int | None = None
    efa: bool = False
    key_arn: pulumi.Input[str] | None = None
    backup_days: int = 0
    associations: Sequence[AssociationSpec] = ()
    protect: bool = False


def throughput_stays(change: pulumi.ResourceHookArgs) -> None:
    """Raises RuntimeError if an update would change the throughput of a file system with EFA, which FSx never does.

    Source: pulumi-aws, fsx.LustreFileSystem, efaEnabled ("prevents changes to perUnitStorageThroughput").
    """
    before, after = (
        given.get("perUnitStorageThroughput") for given in (change.old_inputs or {}, change.new_inputs or {})
    )
    if before != after:
        raise RuntimeError(
            f"gpucluster:storage.lustre.throughputMbpsPerTib: FSx does not change the throughput of a file system with "
            f"EFA, so nothing was touched; set it to {before:.0f}, or copy the data to a file system of another stack"
        )


class Lustre(Component):
    """A Lustre file system in one zone: that of the nodes that mount it."""

    file_system_id: pulumi.Output[str]
    dns_name: pulumi.Output[str]
    mount_name: pulumi.Output[str]

    def __init__(self, name: str, args: LustreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        persistent = args.deployment_type == "PERSISTENT_2"
        metadata = aws.fsx.LustreFileSystemMetadataConfigurationArgs(mode="AUTOMATIC") if args.efa else None
        shown = pulumi.ResourceHookOptions(on_dry_run=True)
        hook = pulumi.ResourceHook("throughput-stays", throughput_stays, shown) if args.efa else None
        file_system = aws.fsx.LustreFileSystem(
            self.named("file-system"),
            deployment_type=args.deployment_type,
            storage_capacity=args.capacity_gib,
            storage_type="SSD",
            subnet_ids=args.subnet_id,
            security_group_ids=args.security_group_ids,
            file_system_type_version=LUSTRE_VERSION,
            data_compression_type="LZ4",
            per_unit_storage_throughput=args.throughput_mbps_per_tib if persistent else None,
            kms_key_id=args.key_arn if persistent else None,
            metadata_configuration=metadata,
            efa_enabled=True if args.efa else None,
            automatic_backup_retention_days=args.backup_days if persistent else None,
            copy_tags_to_backups=True if persistent and args.backup_days else None,
            # A scratch file system has no backups; a persistent one leaves a last one only where backups are kept.
            skip_final_backup=not args.backup_days,
            tags=self.tags("file-system"),
            opts=self.child(
                protect=args.protect,
                custom_timeouts=pulumi.CustomTimeouts(create="45m", update="3h", delete="30m"),
                hooks=pulumi.ResourceHookBinding(before_update=[hook]) if hook else None,
            ),
        )
        linked = [self._link(file_system, each) for each in args.associations]
        # Who mounts the file system finds what is linked there, and lets go of it before the links go.
        self.file_system_id = (
            pulumi.Output.all(file_system.id, *(each.id for each in linked)).apply(lambda ids: str(ids[0]))
            if linked
            else file_system.id
        )
        self.dns_name = file_system.dns_name
        self.mount_name = file_system.mount_name
        self.register_outputs({"fileSystemId": self.file_system_id, "mountName": self.mount_name})

    def _link(self, file_system: aws.fsx.LustreFileSystem, spec: AssociationSpec) -> aws.fsx.DataRepositoryAssociation:
        """Names come at once; files that are in the directory stay there when the link goes."""
        events = aws.fsx.DataRepositoryAssociationS3Args(
            auto_import_policy=aws.fsx.DataRepositoryAssociationS3AutoImportPolicyArgs(events=list(spec.imports))
            if spec.imports
            else None,
            auto_export_policy=aws.fsx.DataRepositoryAssociationS3AutoExportPolicyArgs(events=list(spec.exports))
            if spec.exports
            else None,
        )
        role = f"linked{spec.path}"
        return aws.fsx.DataRepositoryAssociation(
            self.named(role),
            file_system_id=file_system.id,
            file_system_path=spec.path,
            data_repository_path=spec.source,
            batch_import_meta_data_on_create=True,
            delete_data_in_filesystem=False,
            s3=events if spec.imports or spec.exports else None,
            tags=self.tags(role),
            opts=self.child(custom_timeouts=pulumi.CustomTimeouts(create="45m", update="45m", delete="45m")),
        )
