"""FSx for Lustre, EBS, NVMe and S3 as the platform's storage."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pulumi

from components.aws.bucket import Bucket, BucketArgs
from components.aws.keys import Keys
from components.aws.lustre import AssociationSpec, Lustre, LustreArgs
from components.aws.pod_identity import PodIdentity, PodIdentityArgs, read_prefix, statement_document, write_prefix
from components.aws.security_groups import LustreGroup, LustreGroupArgs
from components.platform.copying import StoreAddress
from components.storage.aws_cli import AwsCli
from components.storage.claims import ClaimSpec
from components.storage.lustre_claims import LustreClaims, LustreClaimsArgs
from planner.said import SourceBucket
from planner.stack import FsxPlan
from planner.types import AwsPlan
from stacks.purposes import purpose_of

SMALLEST_GIB = 1200
"""Of an FSx file system, which grows by a change of its capacity."""


@dataclass(frozen=True, kw_only=True)
class LustreSource:
    """Claims on one FSx file system. `driver` is the CSI add-on, which must outlive them."""

    file_system: Lustre
    plan: FsxPlan
    driver: pulumi.Resource
    opts: pulumi.ResourceOptions

    def claims(self, name: str, claims: Sequence[ClaimSpec]) -> Mapping[tuple[str, str], pulumi.Output[str]]:
        args = LustreClaimsArgs(
            csi_driver="fsx.csi.aws.com",
            handle=self.file_system.file_system_id,
            attributes={"dnsname": self.file_system.dns_name, "mountname": self.file_system.mount_name},
            capacity_gib=self.plan.capacity_gib,
            request_gib=SMALLEST_GIB,
            claims=claims,
            driver=self.driver,
        )
        return LustreClaims(name, args, self.opts).names


class InstanceStore:
    """The nodes' NVMe: the kubelet's own directory is on it, striped, as their user data says."""

    def volume(self, gb: int) -> Mapping[str, Any]:  # noqa: ARG002 - a pod that takes a node may fill its disks
        return {"emptyDir": {}}


@dataclass(frozen=True, kw_only=True)
class S3Store:
    """The stack's bucket, others by their purposes, and roles for service accounts through EKS Pod Identity.

    `sources` says of other buckets whose they are and with which key they are encrypted. Copiers run `client`.
    """

    account_id: pulumi.Output[str]
    sources: Mapping[str, SourceBucket]
    bucket: pulumi.Output[str]
    by_purpose: Mapping[str, pulumi.Output[str]]
    key_arn: pulumi.Output[str]
    cluster_name: pulumi.Output[str]
    partition: pulumi.Output[str]
    region: str
    client: str
    scheme: str = "s3"

    @property
    def copier(self) -> AwsCli:
        return AwsCli(image=self.client)

    @property
    def address(self) -> StoreAddress:
        """Amazon S3's endpoint of the region (AWS general reference, Amazon S3 endpoints and quotas)."""
        suffix = self.partition.apply(lambda each: "amazonaws.com.cn" if each == "aws-cn" else "amazonaws.com")
        return StoreAddress(
            endpoint=pulumi.Output.format("https://s3.{0}.{1}", self.region, suffix), region=self.region
        )

    def bucket_of(self, purpose: str) -> pulumi.Output[str]:
        return self.by_purpose.get(purpose, self.bucket)

    def prepare(self, namespaces: Mapping[str, pulumi.Output[str]], opts: pulumi.ResourceOptions) -> None:
        """Nothing: pods get their identities by their accounts."""

    def reader(
        self, name: str, *, source: str, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        bucket, _, prefix = source.removeprefix(f"{self.scheme}://").partition("/")
        declared = self.sources.get(bucket)
        key_arn = declared.key_arn if declared else None
        known = pulumi.Output.all(
            partition=self.partition, owner=declared.owner if declared and declared.owner else self.account_id
        )
        document = known.apply(
            lambda values: statement_document(read_prefix(bucket=bucket, prefix=prefix, key_arn=key_arn, **values))
        )
        return self._identity(name, namespace, account, document, opts)

    def writer(
        self, name: str, *, prefix: str, namespace: pulumi.Input[str], account: str, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        known = pulumi.Output.all(
            partition=self.partition,
            bucket=self.bucket_of(purpose_of(prefix)),
            owner=self.account_id,
            key_arn=self.key_arn,
        )
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


def lustre(plan: AwsPlan, keys: Keys, place: StoragePlace, opts: pulumi.ResourceOptions) -> Lustre:
    """The file system and its security group."""
    wanted = plan.file_system
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
            backup_days=wanted.backup_days,
            associations=[AssociationSpec(**asdict(each)) for each in wanted.associations],
            protect=plan.ownership.protect,
        ),
        opts,
    )


def bucket(plan: AwsPlan, keys: Keys, account_id: pulumi.Output[str], opts: pulumi.ResourceOptions) -> Bucket:
    """The bucket. Only an unprotected stack may destroy it with what is in it."""
    return Bucket(
        "object-store",
        BucketArgs(
            account_id=account_id,
            key_arn=keys.arn,
            checkpoint_days=plan.checkpoint_days,
            cold=(plan.cold_checkpoints.days, plan.cold_checkpoints.storage_class) if plan.cold_checkpoints else None,
            disposable=not plan.ownership.protect,
            protect=plan.ownership.protect,
        ),
        opts,
    )


def purpose_buckets(
    plan: AwsPlan, keys: Keys, account_id: pulumi.Output[str], opts: pulumi.ResourceOptions
) -> dict[str, pulumi.Output[str]]:
    """The buckets beside it, by their purposes; they are destroyed and protected as it is."""
    return {
        each.purpose: Bucket(
            f"object-store-{each.purpose}",
            BucketArgs(
                account_id=account_id,
                key_arn=keys.arn,
                purpose=each.purpose,
                expire_days=each.expire_days,
                disposable=not plan.ownership.protect,
                protect=plan.ownership.protect,
            ),
            opts,
        ).bucket_name
        for each in plan.purpose_buckets
    }
