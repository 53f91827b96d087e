"""What a stack file says and nothing is computed from, as the plan passes it on."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Literal

from catalogue.caching import UPSTREAMS
from catalogue.supply import Login, Supply
from planner.pool_types import PoolPlan
from settings.aws import AuditLog, Aws
from settings.aws_storage import SourceBucket
from settings.model import AwsSettings, MetalSettings, Settings
from settings.queues import Queue

_BACKUP_DAYS = 7


@dataclass(frozen=True, kw_only=True)
class Ownership:
    """Whose the stack is, who pays, until when, and how many USD an hour of it may cost, None where nobody said so.

    `protect` guards what holds data or is slow to get back.
    """

    owner: str
    cost_centre: str
    expiry: date | None
    protect: bool
    max_hourly_usd: float | None


@dataclass(frozen=True, kw_only=True)
class ApiEndpoint:
    """From where the Kubernetes API is reached besides the nodes: from `public_cidrs`, and through the private endpoint
    from `private_cidrs`, which are `private_from`: the VPC's own, or those of a network that is connected to it.
    """

    public_cidrs: tuple[str, ...]
    private_cidrs: tuple[str, ...]
    private_from: str | None

    @property
    def private(self) -> bool:
        """Whether there is no public endpoint."""
        return not self.public_cidrs


@dataclass(frozen=True, kw_only=True)
class AwsDeployment:
    """Where on AWS the stack is deployed, through which credentials, and who may administer it: `deployer_arn` None is
    whoever calls. `permissions_boundary` bounds every role. With `session_manager` a person can open a shell on a node.
    Without `audit` the control plane's log goes with the stack. Nothing is computed from these.
    """

    region: str
    gpu_zone: str
    vpc_cidr: str
    account_id: str | None
    profile: str | None
    role_arn: str | None
    deployer_arn: str | None
    admin_arns: tuple[str, ...]
    permissions_boundary: str | None
    session_manager: bool
    audit: AuditLog | None


@dataclass(frozen=True, kw_only=True)
class AssociationPlan:
    """A directory of the file system and the address in S3 it is linked with; events as FSx calls them."""

    path: str
    source: str
    imports: tuple[str, ...]
    exports: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FsxPlan:
    """FSx for Lustre as it is ordered, with `backup_days` of daily backups. SCRATCH_2 has no throughput to choose."""

    deployment_type: Literal["SCRATCH_2", "PERSISTENT_2"]
    capacity_gib: int
    throughput_mbps_per_tib: int | None
    efa: bool
    backup_days: int
    associations: tuple[AssociationPlan, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ColdPlan:
    """After so many days a checkpoint in the stack's bucket moves to a storage class."""

    days: int
    storage_class: str


def plan_supply(settings: AwsSettings | MetalSettings) -> Supply:
    """Where images come from; behind a cache those of registries that it can fetch from."""
    wanted = settings.supply
    cached = getattr(wanted, "cache", None) is not None
    login = getattr(wanted, "registry_login", None)
    return Supply(
        registry=wanted.registry,
        charts=wanted.charts,
        only=frozenset(UPSTREAMS) if cached else None,
        login=Login(**login.model_dump()) if login else None,
    )


def plan_sources(settings: AwsSettings) -> dict[str, SourceBucket]:
    """The source buckets by name."""
    return {each.bucket: each for each in settings.storage.sources}


def api_endpoint(platform: Aws) -> ApiEndpoint:
    """From where the stack file lets the Kubernetes API be reached."""
    public, access = platform.public_access_cidrs, platform.access
    if access is None:
        return ApiEndpoint(public_cidrs=public, private_cidrs=(), private_from=None)
    if access.via == "inside":
        pods = platform.network.pod_cidr
        inside = (platform.vpc_cidr, pods) if pods else (platform.vpc_cidr,)
        return ApiEndpoint(public_cidrs=public, private_cidrs=inside, private_from="the VPC")
    name = f"{access.network} by {access.via}"
    return ApiEndpoint(public_cidrs=public, private_cidrs=access.cidrs, private_from=name)


def plan_queues(settings: Settings, pools: Iterable[PoolPlan]) -> tuple[Queue, ...]:
    """The queues in the order of the stack file. All together cannot have what inference needs (A08)."""
    training = sum(pool.count * pool.devices_per_node for pool in pools if pool.role == "training")
    return tuple(
        queue.model_copy(update={"gpus": queue.gpus or training or None}) for queue in settings.scheduling.queues
    )


def ownership(settings: AwsSettings | MetalSettings) -> Ownership:
    """Whose the stack is, and what it may cost."""
    limit = settings.budget.max_hourly_usd if settings.budget else None
    return Ownership(**{**settings.lifecycle.model_dump(), "expiry": _last_day(settings)}, max_hourly_usd=limit)


def _last_day(settings: AwsSettings | MetalSettings) -> date | None:
    """The last day, in a tag of all that the stack is made of: that of its end where the stack file names no other."""
    keeper = getattr(settings, "keeper", None)
    return settings.lifecycle.expiry or (keeper.ends_at.date() if keeper and keeper.ends_at else None)


def aws_deployment(settings: AwsSettings) -> AwsDeployment:
    """Where the stack goes, and through which credentials."""
    where = {"region", "gpu_zone", "vpc_cidr", "account_id", "profile", "role_arn"}
    return AwsDeployment(
        **settings.platform.model_dump(include=where),
        **settings.security.model_dump(exclude={"audit_log"}),
        audit=settings.security.audit_log,
    )


def file_system(settings: AwsSettings) -> FsxPlan:
    """The file system as it is ordered. Protected stacks keep daily backups of a persistent one, unless it is linked:
    FSx backs up no file system with a data repository (API reference, CreateBackup).
    """
    lustre = settings.storage.lustre
    backed_up = settings.lifecycle.protect and lustre.deployment_type == "PERSISTENT_2" and not lustre.associations
    return FsxPlan(
        **lustre.model_dump(exclude={"associations"}),
        backup_days=_BACKUP_DAYS if backed_up else 0,
        associations=tuple(
            AssociationPlan(
                path=each.path,
                source=each.source,
                imports=tuple(event.upper() for event in each.imports),
                exports=tuple(event.upper() for event in each.exports),
            )
            for each in lustre.associations
        ),
    )


def cold(settings: AwsSettings) -> ColdPlan | None:
    """When checkpoints move to a colder class; None where they stay."""
    store = settings.storage.object_store
    if store.cold_after_days is None:
        return None
    return ColdPlan(days=store.cold_after_days, storage_class=store.cold_class)
