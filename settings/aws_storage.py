"""What a stack file says about storage on AWS: the file system, the object store, buckets that are read, volumes."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.associations import MOST, Association, apart
from settings.aws_names import AccountId, KeyArn
from settings.block_storage import BlockStorage
from settings.home import Home
from settings.s3 import BucketName
from settings.sections import Path, Section, SectionError, repeated

MOST_GIB = 10_000_000
"""What capacityGib may be."""


class FsxLustre(Section):
    """FSx for Lustre. SCRATCH_2 has a fixed 200 MB/s per TiB; PERSISTENT_2 takes a throughput tier."""

    deployment_type: Literal["SCRATCH_2", "PERSISTENT_2"]
    capacity_gib: Annotated[int, Field(ge=1200, le=MOST_GIB)]
    throughput_mbps_per_tib: Literal[125, 250, 500, 1000] | None = None
    efa: bool = False
    associations: Annotated[
        tuple[Association, ...],
        Field(
            max_length=MOST,
            description="directories linked to prefixes of buckets; a linked file system has no backups",
        ),
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
            sentence = "need PERSISTENT_2; change deploymentType, or copy the data (training.datasets)"
            problems.append((("associations",), sentence))
        problems += apart(self.associations)
        if problems:
            raise SectionError(problems)
        return self


ColdClass = Literal["STANDARD_IA", "GLACIER_IR"]


class PurposeBucket(Section):
    """A bucket of its own for one purpose: what is written for it goes there, and not into the stack's bucket."""

    purpose: Annotated[
        Literal["tracking", "backups", "records"],
        Field(
            description="tracking: artifacts of the tracker and of pipelines; backups of databases; records: results of"
            " follow-ups and the history of gates"
        ),
    ]
    expire_days: Annotated[
        int | None, Field(ge=1, le=3650, description="objects older than this expire; None = they stay")
    ] = None


class ObjectStore(Section):
    """The stack's own bucket: checkpoints and artefacts, versioned, SSE-KMS."""

    checkpoint_days: Annotated[int, Field(ge=1, le=3650, description="checkpoints older than this expire")] = 30
    cold_after_days: Annotated[
        int | None, Field(ge=0, le=3650, description="checkpoints older than this move to coldClass; None = never")
    ] = None
    cold_class: Annotated[
        ColdClass, Field(description="a storage class with immediate reads: others need a restore first")
    ] = "STANDARD_IA"
    buckets: Annotated[
        tuple[PurposeBucket, ...],
        Field(max_length=3, description="purposes with a bucket of their own; all others are in the stack's"),
    ] = ()

    @model_validator(mode="after")
    def _each_purpose_once(self) -> Self:
        purposes = [each.purpose for each in self.buckets]
        if problems := list(repeated(purposes, "has a bucket already; keep one of the two", "buckets", key="purpose")):
            raise SectionError(problems)
        return self

    @model_validator(mode="after")
    def _cold_in_time(self) -> Self:
        """S3 user guide, "Transitioning objects": STANDARD_IA from the 30th day; both classes have a least duration."""
        if self.cold_after_days is None:
            if "cold_class" in self.model_fields_set:
                raise SectionError([(("coldClass",), "has no effect without coldAfterDays; add it, or remove the key")])
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
    """A bucket that weights or datasets are copied from. Bucket names are global: its owner decides what is served."""

    bucket: BucketName
    owner: Annotated[
        AccountId | None, Field(description="account that owns the bucket; None = the stack's account")
    ] = None
    key_arn: Annotated[
        KeyArn | None, Field(description="the KMS key of a bucket with SSE-KMS, which its readers may decrypt with")
    ] = None


class AwsStorage(Section):
    lustre: FsxLustre
    object_store: ObjectStore = Field(default_factory=ObjectStore)
    sources: Annotated[tuple[SourceBucket, ...], Field(description="buckets of weights and datasets, each once")] = ()
    home: Annotated[Home | None, Field(description="None = no home directories")] = None
    block: Annotated[BlockStorage, Field(description="classes of EBS volumes beside gp3, and snapshots")] = Field(
        default_factory=BlockStorage
    )
