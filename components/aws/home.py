"""EFS home directories: encrypted, mounted in every zone over TLS only, one directory per namespace.

Whoever mounts comes by an access point, which shows its own directory as the root and makes every file its user's. The
file system's policy lets nobody in by another way, and nobody without TLS, so a pod that reaches the address alone
mounts nothing.
Source: EFS user guide, "Using IAM to control access to file systems" and "Working with access points".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from components._base import Component
from components.aws.pod_identity import statement_document

USER = 1000
"""Whose the files are, whoever a pod runs as; a directory that exists keeps its owner, so this never changes."""


def mounting(*, partition: str, region: str, account: str) -> list[dict[str, Any]]:
    """The file system's policy: through access points and over TLS, and then without an identity.

    With AccessedViaMountTarget a policy for everybody is not a public one (EFS user guide, "Blocking public access").
    """
    return [
        {
            "Sid": "ThroughAccessPoints",
            "Effect": "Allow",
            "Principal": {"AWS": "*"},
            "Action": ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"],
            "Condition": {
                "Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"},
                "ArnLike": {
                    "elasticfilesystem:AccessPointArn": f"arn:{partition}:elasticfilesystem:{region}:{account}:"
                    "access-point/*"
                },
            },
        },
        {
            "Sid": "NeverWithoutTls",
            "Effect": "Deny",
            "Principal": {"AWS": "*"},
            "Action": "*",
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        },
    ]


@dataclass(frozen=True, kw_only=True)
class HomeArgs:
    """`subnet_ids` by zone: one in each from which nodes mount. `namespaces` get a directory each. After `cold_days`
    without a read a file moves to the infrequent class, None where none does.
    """

    region: str
    partition: pulumi.Input[str]
    account_id: pulumi.Input[str]
    subnet_ids: Mapping[str, pulumi.Input[str]]
    group_id: pulumi.Input[str]
    key_arn: pulumi.Input[str]
    namespaces: Sequence[str]
    cold_days: int | None
    backed_up: bool
    protect: bool


class HomeFiles(Component):
    """The file system. `handles` by namespace are what its CSI driver mounts by, known when it can be mounted."""

    file_system_id: pulumi.Output[str]
    handles: dict[str, pulumi.Output[str]]

    def __init__(self, name: str, args: HomeArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(name, opts)
        system = self._create(args)
        self.file_system_id = system.id
        ready = [self._guard(system, args), *self._mount_targets(system, args)]
        if args.backed_up:
            self._back_up(system)
        self.handles = {each: self._directory(system, each, ready) for each in args.namespaces}
        self.register_outputs({"fileSystemId": self.file_system_id})

    def _create(self, args: HomeArgs) -> aws.efs.FileSystem:
        policies = [
            aws.efs.FileSystemLifecyclePolicyArgs(transition_to_ia=_after(args.cold_days)),
            aws.efs.FileSystemLifecyclePolicyArgs(transition_to_primary_storage_class="AFTER_1_ACCESS"),
        ]
        return aws.efs.FileSystem(
            self.named("file-system"),
            encrypted=True,
            kms_key_id=args.key_arn,
            performance_mode="generalPurpose",
            throughput_mode="elastic",
            lifecycle_policies=policies if args.cold_days else None,
            tags=self.tags("file-system"),
            opts=self.child(protect=args.protect),
        )

    def _guard(self, system: aws.efs.FileSystem, args: HomeArgs) -> pulumi.Output[str]:
        document = pulumi.Output.all(partition=args.partition, account=args.account_id).apply(
            lambda known: statement_document(mounting(region=args.region, **known))
        )
        policy = aws.efs.FileSystemPolicy(
            self.named("policy"),
            aws.efs.FileSystemPolicyArgs(file_system_id=system.id, policy=document),
            self.child(),
        )
        return policy.id

    def _mount_targets(self, system: aws.efs.FileSystem, args: HomeArgs) -> list[pulumi.Output[str]]:
        return [
            aws.efs.MountTarget(
                self.named(f"target-{zone}"),
                aws.efs.MountTargetArgs(file_system_id=system.id, subnet_id=subnet, security_groups=[args.group_id]),
                self.child(custom_timeouts=pulumi.CustomTimeouts(create="30m", delete="10m")),
            ).id
            for zone, subnet in args.subnet_ids.items()
        ]

    def _back_up(self, system: aws.efs.FileSystem) -> None:
        aws.efs.BackupPolicy(
            self.named("backup"),
            file_system_id=system.id,
            backup_policy=aws.efs.BackupPolicyBackupPolicyArgs(status="ENABLED"),
            opts=self.child(),
        )

    def _directory(
        self, system: aws.efs.FileSystem, namespace: str, ready: Sequence[pulumi.Output[str]]
    ) -> pulumi.Output[str]:
        role = f"directory-{namespace}"
        point = aws.efs.AccessPoint(
            self.named(role),
            file_system_id=system.id,
            posix_user=aws.efs.AccessPointPosixUserArgs(uid=USER, gid=USER),
            root_directory=aws.efs.AccessPointRootDirectoryArgs(
                path=f"/{namespace}",
                creation_info=aws.efs.AccessPointRootDirectoryCreationInfoArgs(
                    owner_uid=USER, owner_gid=USER, permissions="0770"
                ),
            ),
            tags=self.tags(role),
            opts=self.child(),
        )
        return pulumi.Output.all(system.id, point.id, *ready).apply(lambda ids: f"{ids[0]}::{ids[1]}")


def _after(days: int | None) -> str | None:
    return f"AFTER_{days}_DAY{'S' if days != 1 else ''}" if days else None
