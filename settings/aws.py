"""What a stack file says about AWS: where, which instances, which file system."""

from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.associations import MOST, Association, apart
from settings.aws_network import VpcNetwork
from settings.capacity_reservation import CapacityReservation
from settings.home import Home
from settings.karpenter import Karpenter
from settings.monitoring import LogDays
from settings.pod_range import beside
from settings.pools import Pool
from settings.sections import Path, Section, SectionError
from settings.types import (
    SERVICE_CIDR,
    AccountId,
    Arn,
    AwsProfile,
    BucketName,
    Cidr,
    Day,
    Email,
    KeyArn,
    KubernetesMinor,
    Name,
    PolicyArn,
    PublicCidr,
    Region,
    ReservationId,
    VpcCidr,
    ZoneId,
)
from settings.zones import zone_prefix


class Access(Section):
    """The way to the private endpoint: from a network that the site connects to the VPC, or from inside the VPC."""

    via: Annotated[
        Literal["peering", "transit-gateway", "vpn", "inside"],
        Field(description="what connects the network to the VPC; inside = a runner in a subnet of the VPC"),
    ]
    network: Annotated[Name | None, Field(description="what people call the connected network")] = None
    cidrs: Annotated[tuple[Cidr, ...], Field(max_length=40, description="addresses of the connected network")] = ()

    @model_validator(mode="after")
    def _network_is_described(self) -> Self:
        problems: list[tuple[Path, str]] = []
        for key, value, example in (("network", self.network, "head-office"), ("cidrs", self.cidrs, "[10.8.0.0/16]")):
            if self.via == "inside" and value:
                problems.append(((key,), "belongs to a connected network, and via is inside; remove it"))
            elif self.via != "inside" and not value:
                problems.append(((key,), f"via {self.via} needs it, such as {example}"))
        if problems:
            raise SectionError(problems)
        return self


class Aws(Section):
    """Where on AWS the cluster lives. Every GPU node, reservation and file system shares `gpu_zone`."""

    kind: Literal["aws"]
    region: Region
    zones: Annotated[tuple[ZoneId, ...], Field(min_length=2, max_length=6, description="zones of the control plane")]
    gpu_zone: ZoneId
    account_id: Annotated[AccountId | None, Field(description="refuse any other account")] = None
    profile: Annotated[AwsProfile | None, Field(description="profile of the AWS configuration to deploy with")] = None
    role_arn: Annotated[Arn | None, Field(description="role to assume for the deployment")] = None
    vpc_cidr: Annotated[VpcCidr, Field(description="a private /16 to /20; it cannot change later")] = "10.64.0.0/16"
    kubernetes_version: KubernetesMinor
    public_access_cidrs: Annotated[
        tuple[PublicCidr, ...],
        Field(description="networks that may reach the Kubernetes API from outside; none = private"),
    ] = ()
    access: Annotated[Access | None, Field(description="the way to the private endpoint of the Kubernetes API")] = None
    network: Annotated[VpcNetwork, Field(description="what the VPC has beyond its subnets")] = Field(
        default_factory=VpcNetwork
    )

    @model_validator(mode="after")
    def _zones_belong_together(self) -> Self:
        problems: list[tuple[Path, str]] = []
        prefix = zone_prefix(self.region)
        for index, zone in enumerate(self.zones):
            if zone in self.zones[:index]:
                problems.append((("zones", index), f"{zone} is named twice; name each zone once"))
            elif not zone.startswith(f"{prefix}-"):
                problems.append((("zones", index), f"{zone} is not in {self.region}; its zones are {prefix}-az1, ..."))
        if self.gpu_zone not in self.zones:
            problems.append((("gpuZone",), f"{self.gpu_zone} is not one of zones; name it there too"))
        problems += self._in_the_existing_vpc()
        if pods := self.network.pod_cidr:
            problems += [(("network", "podCidr"), sentence) for sentence in beside(pods, self.vpc_cidr)]
        if problems:
            raise SectionError(problems)
        return self

    def _in_the_existing_vpc(self) -> Iterator[tuple[Path, str]]:
        if (existing := self.network.existing) is None:
            return
        if "vpc_cidr" not in self.model_fields_set:
            yield ("vpcCidr",), f"{existing.vpc_id} has a range of its own; write it here"
            return
        for path, sentence in existing.in_place(self.zones, self.gpu_zone, self.vpc_cidr):
            yield ("network", "existing", *path), sentence

    @model_validator(mode="after")
    def _connected_network_is_elsewhere(self) -> Self:
        """Answers to an address of the VPC or of the Services never leave the VPC (VPC peering guide)."""
        problems: list[tuple[Path, str]] = []
        for index, cidr in enumerate(self.access.cidrs if self.access else ()):
            pods = [(self.network.pod_cidr, "network.podCidr")] if self.network.pod_cidr else []
            for taken, owner in ((self.vpc_cidr, "vpcCidr"), (SERVICE_CIDR, "the cluster's Services"), *pods):
                if IPv4Network(cidr).overlaps(IPv4Network(taken)) and IPv4Network(cidr).prefixlen:
                    sentence = f"{cidr} overlaps {taken} of {owner}, and answers to it never leave the VPC"
                    remedy = "name addresses of the connected network only, or choose another vpcCidr"
                    problems.append((("access", "cidrs", index), f"{sentence}; {remedy}"))
        if problems:
            raise SectionError(problems)
        return self


class Reservation(Section):
    """A capacity block that was bought: AWS ends it at 11:30 UTC of `end`, and takes the nodes half an hour before."""

    id: ReservationId
    zone: ZoneId
    start: Day
    end: Day

    @model_validator(mode="after")
    def _days_in_order(self) -> Self:
        if self.end <= self.start:
            raise SectionError([(("end",), f"{self.end} is not after start {self.start}; type the day it ends")])
        return self


class BlockShare(Reservation):
    """One of several blocks of a pool, and how many of the pool's nodes it holds."""

    count: Annotated[int, Field(ge=1, le=4096, description="nodes of the pool that start in this block")]


class AwsPool(Pool):
    """A node pool. GPU count, EFA interfaces, NVMe and price follow from the instance type (catalogue)."""

    instance_type: str
    count: Annotated[int, Field(ge=0, le=4096)]
    capacity: Annotated[
        Literal["on-demand", "spot", "capacity-block"], Field(description="how the instances are bought")
    ] = "on-demand"
    reservation: Annotated[Reservation | None, Field(description="the block, where capacity is capacity-block")] = None
    reservations: Annotated[
        tuple[BlockShare, ...],
        Field(max_length=16, description="several blocks under one pool, instead of reservation"),
    ] = ()
    capacity_reservation: Annotated[
        CapacityReservation | None,
        Field(description="the On-Demand Capacity Reservation that the nodes start in; None = in whatever EC2 has"),
    ] = None
    karpenter: Annotated[
        Karpenter | None,
        Field(
            description="Karpenter makes the nodes, as pods need them; None = EKS keeps count of them in a node group"
        ),
    ] = None
    root_volume_gib: Annotated[int, Field(ge=20, le=16384)] = 200
    repair: Annotated[bool, Field(description="EKS reboots or replaces nodes that its monitoring agent finds sick")] = (
        True
    )

    @model_validator(mode="after")
    def _block_is_named(self) -> Self:
        problems: list[tuple[Path, str]] = []
        block = self.capacity == "capacity-block"
        if block and self.reservation is None and not self.reservations:
            problems.append(
                (("reservation",), "capacity-block needs the block that was bought; add id, zone, start, end")
            )
        for key, value in (("reservation", self.reservation), ("reservations", self.reservations)):
            if not block and value:
                sentence = f"belongs to capacity capacity-block, and the capacity is {self.capacity}; remove it"
                problems.append(((key,), sentence))
        if self.reservation and self.reservations:
            problems.append(
                (("reservations",), "stands beside reservation; name each block here, or the only one there")
            )
        problems += self._shares()
        if held := self.capacity_reservation:
            problems += held.beside(capacity=self.capacity, role=self.role, nodes=self.count)
        if scaled := self.karpenter:
            problems += scaled.beside(
                capacity=self.capacity, nodes=self.count, own=self.instance_type, reserved=held is not None
            )
        if problems:
            raise SectionError(problems)
        return self

    def _shares(self) -> Iterator[tuple[Path, str]]:
        """Several blocks are different ones, and hold all nodes of the pool between them."""
        ids = [each.id for each in self.reservations]
        for index, own in enumerate(ids):
            if own in ids[:index]:
                yield ("reservations", index, "id"), f"{own} is named twice; name each block once"
        together = sum(each.count for each in self.reservations)
        if self.reservations and together != self.count:
            yield ("reservations",), f"the blocks hold {together} nodes and count is {self.count}; make them equal"

    @property
    def most(self) -> int:
        """The most nodes that it may have."""
        return self.karpenter.max_count if self.karpenter else self.count

    @property
    def booked(self) -> tuple[tuple[Reservation, int], ...]:
        """Every block of the pool, with the nodes that start in it."""
        if self.reservation is not None:
            return ((self.reservation, self.count),)
        return tuple((each, each.count) for each in self.reservations)


class FsxLustre(Section):
    """FSx for Lustre. SCRATCH_2 has a fixed 200 MB/s per TiB; PERSISTENT_2 takes a throughput tier."""

    deployment_type: Literal["SCRATCH_2", "PERSISTENT_2"]
    capacity_gib: Annotated[int, Field(ge=1200, le=10_000_000)]
    throughput_mbps_per_tib: Literal[125, 250, 500, 1000] | None = None
    efa: bool = False
    associations: Annotated[
        tuple[Association, ...],
        Field(max_length=MOST, description="directories linked with prefixes of buckets; they end its backups"),
    ] = ()

    @model_validator(mode="after")
    def _tier_follows_type(self) -> Self:
        problems: list[tuple[Path, str]] = []
        persistent = self.deployment_type == "PERSISTENT_2"
        if persistent and self.throughput_mbps_per_tib is None:
            problems.append((("throughputMbpsPerTib",), "PERSISTENT_2 needs a tier; type 125, 250, 500 or 1000"))
        if not persistent and self.throughput_mbps_per_tib is not None:
            problems.append((("throughputMbpsPerTib",), "SCRATCH_2 has no tiers (200 MB/s per TiB); remove the key"))
        if self.efa and not persistent:
            problems.append((("efa",), "only PERSISTENT_2 can be created with EFA; remove the key or change the type"))
        if self.associations and not persistent:
            sentence = "are made for PERSISTENT_2 alone; change deploymentType, or copy the data (training.datasets)"
            problems.append((("associations",), sentence))
        problems += apart(self.associations)
        if problems:
            raise SectionError(problems)
        return self


ColdClass = Literal["STANDARD_IA", "GLACIER_IR"]


class ObjectStore(Section):
    """The stack's own bucket: checkpoints and artefacts, versioned, SSE-KMS."""

    checkpoint_days: Annotated[int, Field(ge=1, le=3650, description="checkpoints older than this expire")] = 30
    cold_after_days: Annotated[
        int | None, Field(ge=0, le=3650, description="checkpoints older than this lie in coldClass; None = none do")
    ] = None
    cold_class: Annotated[
        ColdClass, Field(description="a storage class that is read without waiting: others need a restore first")
    ] = "STANDARD_IA"

    @model_validator(mode="after")
    def _cold_in_time(self) -> Self:
        """S3 user guide, "Transitioning objects": STANDARD_IA from the 30th day; both classes have a least duration."""
        if self.cold_after_days is None:
            if "cold_class" in self.model_fields_set:
                raise SectionError([(("coldClass",), "says nothing without coldAfterDays; add it, or remove the key")])
            return self
        first, least = (30, 30) if self.cold_class == "STANDARD_IA" else (0, 90)
        if self.cold_after_days < first:
            sentence = f"S3 moves objects to {self.cold_class} after {first} days at the earliest; take {first} or more"
            raise SectionError([(("coldAfterDays",), sentence)])
        if self.cold_after_days + least > self.checkpoint_days:
            sentence = f"{self.cold_class} is paid for {least} days at least, and checkpoints expire after"
            remedy = f"take a checkpointDays of {self.cold_after_days + least} or more, or leave the key out"
            raise SectionError([(("coldAfterDays",), f"{sentence} {self.checkpoint_days}; {remedy}")])
        return self


class SourceBucket(Section):
    """A bucket that weights or datasets are copied from. Names are the world's: who owns one decides what is served."""

    bucket: BucketName
    owner: Annotated[
        AccountId | None, Field(description="account that owns the bucket; None = the one that is deployed to")
    ] = None
    key_arn: Annotated[
        KeyArn | None, Field(description="the KMS key of a bucket with SSE-KMS, which its readers must decrypt with")
    ] = None


class AwsStorage(Section):
    lustre: FsxLustre
    object_store: ObjectStore = Field(default_factory=ObjectStore)
    sources: Annotated[tuple[SourceBucket, ...], Field(description="buckets of weights and datasets, each once")] = ()
    home: Annotated[Home | None, Field(description="None = people have no directories that outlive their pods")] = None


class AuditLog(Section):
    """The control plane's log, who did what among it, that stays when the stack goes."""

    key_arn: Annotated[
        KeyArn,
        Field(description="KMS key that seals it: not this stack's, which goes, and one that CloudWatch Logs may use"),
    ]
    retention_days: Annotated[LogDays, Field(description="days that it is kept, the stack's end or not")] = 365


class AwsSecurity(Section):
    deployer_arn: Annotated[
        Arn | None, Field(description="who runs `pulumi up`; None = whoever calls, so pin it where several people do")
    ] = None
    admin_arns: Annotated[tuple[Arn, ...], Field(description="further administrators of the cluster")] = ()
    permissions_boundary: Annotated[
        PolicyArn | None, Field(description="policy that bounds every role of the stack; None = none is demanded")
    ] = None
    session_manager: Annotated[
        bool, Field(description="people may open a shell on a node with AWS Systems Manager, as IAM lets them")
    ] = False
    audit_log: Annotated[
        AuditLog | None, Field(description="None = control-plane logs go with the stack, and after 30 days")
    ] = None


class SpendingAlerts(Section):
    """Who is told of what the stack really costs, by AWS Budgets and by Cost Anomaly Detection."""

    monthly_usd: Annotated[
        float, Field(gt=0, le=100_000_000, description="what a month may cost before people are told")
    ]
    percents: Annotated[
        tuple[Annotated[int, Field(ge=1, le=1000)], ...],
        Field(min_length=1, max_length=4, description="shares of monthlyUsd at which people are told, in per cent"),
    ] = (50, 80, 100)
    emails: Annotated[
        tuple[Email, ...],
        Field(min_length=1, max_length=10, description="who is told; each confirms by a link that AWS sends"),
    ]
    anomaly_usd: Annotated[
        float, Field(gt=0, le=1_000_000, description="unusual cost, above what was expected, at which people are told")
    ] = 100

    @model_validator(mode="after")
    def _each_percent_once(self) -> Self:
        if len(set(self.percents)) < len(self.percents):
            raise SectionError([(("percents",), "says a share twice; AWS Budgets refuses two notices of one share")])
        return self


class HourlyBudget(Section):
    max_hourly_usd: Annotated[
        float, Field(gt=0, le=1_000_000, description="the planner refuses a stack that costs more per hour")
    ]
    max_gpus: Annotated[
        int | None, Field(ge=0, le=1_000_000, description="the planner refuses a stack with more GPUs; None = no limit")
    ] = None
    alerts: Annotated[
        SpendingAlerts | None, Field(description="None = nobody is told by AWS of what the stack costs")
    ] = None
