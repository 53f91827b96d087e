"""FSx for Lustre and S3 as the platform's file system and object store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from components.aws.keys import Keys
from components.aws.pod_identity import PodIdentity, PodIdentityArgs, read_prefix, statement_document, write_prefix
from components.aws.security_groups import LustreGroup, LustreGroupArgs
from components.storage.bucket import Bucket, BucketArgs
from components.storage.lustre import Lustre, LustreArgs
from components.storage.lustre_claims import ClaimSpec, LustreClaims, LustreClaimsArgs
from settings.model import AwsSettings

BACKUP_DAYS = 7


@dataclass(frozen=True, kw_only=True)
class LustreSource:
    """Claims on one FSx file system. `driver` is the CSI add-on, which must outlive them."""

    file_system: Lustre
    capacity_gib: int
    driver: pulumi.Resource
    opts: pulumi.ResourceOptions

    def claims(self, name: str, claims: Sequence[ClaimSpec]) -> Mapping[tuple[str, str], pulumi.Output[str]]:
        args = LustreClaimsArgs(
            file_system_id=self.file_system.file_system_id,
            dns_name=self.file_system.dns_name,
            mount_name=self.file_system.mount_name,
            capacity_gib=self.capacity_gib,
            claims=claims,
            driver=self.driver,
        )
        return LustreClaims(name, args, self.opts).names


@dataclass(frozen=True, kw_only=True)
class S3Store:
    """The stack's bucket, and roles for service accounts through EKS Pod Identity."""

    bucket_name: pulumi.Output[str]
    key_arn: pulumi.Output[str]
    cluster_name: pulumi.Output[str]
    partition: pulumi.Output[str]

    def reader(
        self, name: str, *, source: str, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        bucket, _, prefix = source.removeprefix("s3://").partition("/")
        document = self.partition.apply(
            lambda partition: statement_document(read_prefix(partition=partition, bucket=bucket, prefix=prefix))
        )
        return self._identity(name, namespace, account, document, opts)

    def writer(
        self, name: str, *, prefix: str, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        known = pulumi.Output.all(partition=self.partition, bucket=self.bucket_name, key_arn=self.key_arn)
        document = known.apply(lambda values: statement_document(write_prefix(prefix=prefix, **values)))
        return self._identity(name, namespace, account, document, opts)

    def _identity(
        self,
        name: str,
        namespace: pulumi.Input[str],
        account: str,
        document: pulumi.Output[str],
        opts: pulumi.ResourceOptions,
    ) -> pulumi.Output[str]:
        args = PodIdentityArgs(
            cluster_name=self.cluster_name, namespace=namespace, service_account=account, document=document
        )
        return PodIdentity(name, args, opts).service_account


@dataclass(frozen=True, kw_only=True)
class StoragePlace:
    """Where the file system stands: the GPU zone's subnet, and the groups of those who mount it."""

    vpc_id: pulumi.Output[str]
    subnet_id: pulumi.Output[str]
    nodes_group_id: pulumi.Output[str]
    efa_group_id: pulumi.Output[str] | None


def lustre(settings: AwsSettings, keys: Keys, place: StoragePlace, opts: pulumi.ResourceOptions) -> Lustre:
    """The file system and its security group. Protected stacks keep daily backups of a persistent one."""
    wanted, protect = settings.storage.lustre, settings.lifecycle.protect
    group = LustreGroup(
        "lustre-group",
        LustreGroupArgs(
            vpc_id=place.vpc_id,
            nodes_group_id=place.nodes_group_id,
            efa_group_id=place.efa_group_id if wanted.efa else None,
        ),
        opts,
    )
    return Lustre(
        "lustre",
        LustreArgs(
            deployment_type=wanted.deployment_type,
            capacity_gib=wanted.capacity_gib,
            throughput_mbps_per_tib=wanted.throughput_mbps_per_tib,
            efa=wanted.efa,
            subnet_id=place.subnet_id,
            security_group_ids=[group.group_id],
            key_arn=keys.arn,
            backup_days=BACKUP_DAYS if protect and wanted.deployment_type == "PERSISTENT_2" else 0,
            protect=protect,
        ),
        opts,
    )


def bucket(settings: AwsSettings, keys: Keys, account_id: pulumi.Output[str], opts: pulumi.ResourceOptions) -> Bucket:
    """The bucket. Only an unprotected stack may destroy it with what is in it."""
    return Bucket(
        "object-store",
        BucketArgs(
            account_id=account_id,
            key_arn=keys.arn,
            checkpoint_days=settings.storage.object_store.checkpoint_days,
            disposable=not settings.lifecycle.protect,
            protect=settings.lifecycle.protect,
        ),
        opts,
    )
