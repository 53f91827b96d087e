"""Classes of EBS volumes beside the default one, and snapshots of volumes."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from settings.sections import Path, Section, SectionError, repeated
from settings.types import Name

Reclaim = Literal["delete", "retain"]
IOPS = {"gp3": (3_000, 80_000), "io2": (100, 256_000)}
"""Least and most IOPS of a volume, by the types that take a number. Source: EC2 API reference, CreateVolume (Iops:
required for io2, left out for st1 and sc1)."""
THROUGHPUT_MIB = (125, 2_000)
"""Least and most MiB/s of a gp3 volume; no other type takes a number. Source: EC2 API reference, CreateVolume."""
IOPS_PER_MIB = 4
"""What a gp3 volume has to have of IOPS for each MiB/s. Source: EBS user guide, "General Purpose SSD volumes": at most
0.25 MiB/s for each provisioned IOPS."""
TAKEN = {
    "gp3": "is the name of the default class",
    "gp2": "is the name of a class that EKS makes in a new cluster",
}
"""Source of the second: EKS user guide, "Kubernetes versions", 1.30."""


class BlockClass(Section):
    """A StorageClass of encrypted EBS volumes."""

    name: Annotated[Name, Field(description="name of the StorageClass, to which claims refer")]
    type: Annotated[
        Literal["gp3", "io2", "st1", "sc1"],
        Field(description="EBS volume type; volumes of st1 and sc1 (hard disks) have 125 GiB at least"),
    ]
    iops: Annotated[
        int | None,
        Field(ge=1, description="IOPS of each volume: io2 needs a number, gp3 has 3000 without; not for st1 and sc1"),
    ] = None
    throughput_mbps: Annotated[int | None, Field(ge=1, description="MiB/s of each volume, gp3 only; None = 125")] = None
    reclaim: Annotated[
        Reclaim, Field(description="what becomes of a volume whose claim goes: retain keeps it, paid for, in EBS")
    ] = "delete"

    @model_validator(mode="after")
    def _as_ebs_sells_it(self) -> Self:
        problems = [*self._iops(), *self._throughput()]
        if self.name in TAKEN:
            problems.append((("name",), f"{self.name} {TAKEN[self.name]}; take another name"))
        if problems:
            raise SectionError(problems)
        return self

    def _iops(self) -> Iterator[tuple[Path, str]]:
        if self.type not in IOPS:
            if self.iops is not None:
                yield ("iops",), f"{self.type} takes no number of IOPS; remove the key, or take gp3 or io2"
            return
        least, most = IOPS[self.type]
        if self.iops is None:
            if self.type == "io2":
                yield ("iops",), f"io2 needs a number of IOPS; take {least} to {most}"
        elif not least <= self.iops <= most:
            yield ("iops",), f"a volume of {self.type} has {least} to {most} IOPS; take a number in that range"

    def _throughput(self) -> Iterator[tuple[Path, str]]:
        asked, (least, most) = self.throughput_mbps, THROUGHPUT_MIB
        if asked is None:
            return
        if self.type != "gp3":
            yield ("throughputMbps",), f"{self.type} takes no throughput; remove the key, or take gp3"
        elif not least <= asked <= most:
            yield ("throughputMbps",), f"a volume of gp3 has {least} to {most} MiB/s; take a number in that range"
        elif (iops := self.iops or IOPS["gp3"][0]) < asked * IOPS_PER_MIB:
            sentence = f"gp3 has 1 MiB/s for every {IOPS_PER_MIB} IOPS at most, and {iops} IOPS carry"
            remedy = f"take that, or iops: {asked * IOPS_PER_MIB}"
            yield ("throughputMbps",), f"{sentence} {iops // IOPS_PER_MIB} MiB/s; {remedy}"


class BlockStorage(Section):
    """EBS volumes for claims. The class gp3, encrypted and the default, is always there."""

    classes: Annotated[tuple[BlockClass, ...], Field(max_length=20, description="further classes of volumes")] = ()
    snapshots: Annotated[
        Reclaim | None,
        Field(
            description="VolumeSnapshots by the class ebs: whether the snapshot in EBS goes with its object or is"
            " retained; None = no snapshots"
        ),
    ] = None

    @model_validator(mode="after")
    def _names_once(self) -> Self:
        names = [each.name for each in self.classes]
        if problems := list(
            repeated(names, "{} is named twice; give each class a name of its own", "classes", key="name")
        ):
            raise SectionError(problems)
        return self
