"""What a stack file says about node pools on AWS: which instances, and how they are bought."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel

from settings.aws_names import Ami, ReservationId, ZoneId
from settings.capacity_reservation import CapacityReservation
from settings.karpenter import Karpenter
from settings.pools import MOST_NODES, Pool
from settings.sandbox import Sandbox, wrong_place
from settings.sections import Path, Section, SectionError, repeated
from settings.spot import Spot
from settings.types import Day

_PLUGIN = "is read by the GPU Operator's device plugin, and Bottlerocket runs a plugin of its own in its place"
_BOTTLEROCKET_LACKS = {
    "mig": _PLUGIN,
    "time_slices": _PLUGIN,
    "exclusive_cpus": "is written for nodeadm, which Bottlerocket has not",
    "sandbox": "puts gVisor's programs beside containerd, where Bottlerocket's file system is read-only",
    "ami": "is an image built from EKS' AL2023 one, and Bottlerocket reads other user data",
    "karpenter": "boots EKS' AL2023 images",
    "parallel_pulls": "is a feature gate of nodeadm, which Bottlerocket has not",
}


class Reservation(Section):
    """A purchased capacity block: it ends at 11:30 UTC on `end`, and EC2 terminates its nodes half an hour before."""

    id: ReservationId
    zone: ZoneId
    start: Day
    end: Day

    @model_validator(mode="after")
    def _days_in_order(self) -> Self:
        if self.end <= self.start:
            raise SectionError([(("end",), f"{self.end} is not after start {self.start}; type its last day")])
        return self


class BlockShare(Reservation):
    """One of a pool's several blocks, and the number of the pool's nodes in it."""

    count: Annotated[int, Field(ge=1, le=4096, description="number of the pool's nodes in this block")]


class AwsPool(Pool):
    """A node pool. GPU count, EFA interfaces, NVMe and price follow from the instance type (catalogue)."""

    instance_type: str
    count: Annotated[int, Field(ge=0, le=MOST_NODES)]
    capacity: Annotated[
        Literal["on-demand", "spot", "capacity-block"], Field(description="how the instances are bought")
    ] = "on-demand"
    reservation: Annotated[Reservation | None, Field(description="the block, where capacity is capacity-block")] = None
    reservations: Annotated[
        tuple[BlockShare, ...],
        Field(max_length=16, description="several blocks for one pool, instead of reservation"),
    ] = ()
    capacity_reservation: Annotated[
        CapacityReservation | None,
        Field(description="the On-Demand Capacity Reservation that the nodes start in; None = any on-demand capacity"),
    ] = None
    karpenter: Annotated[
        Karpenter | None,
        Field(
            description="Karpenter provisions the nodes as pods need them; None = a managed node group of fixed size"
        ),
    ] = None
    spot: Annotated[
        Spot | None,
        Field(description="what to do if EC2 has no spot instance; None = wait"),
    ] = None
    sandbox: Annotated[
        Sandbox | None,
        Field(description="install gVisor for CPU pods of the RuntimeClass gvisor; None = no gVisor"),
    ] = None
    ami_family: Annotated[
        Literal["al2023", "bottlerocket"], Field(description="which of EKS' images the nodes boot")
    ] = "al2023"
    ami: Annotated[
        Ami | None,
        Field(
            description="your own image, built from EKS' AL2023 one for such nodes: its id, or a version of an SSM "
            "parameter that holds it (/name:3); None = EKS' recorded release"
        ),
    ] = None
    root_volume_gib: Annotated[int, Field(ge=20, le=16384)] = 200
    parallel_pulls: Annotated[
        bool,
        Field(
            description="a node gets and unpacks layers of an image side by side (SOCI), for images of 10 GB and more"
        ),
    ] = False
    repair: Annotated[
        bool, Field(description="EKS reboots or replaces nodes that its monitoring agent finds unhealthy")
    ] = True

    @model_validator(mode="after")
    def _block_is_named(self) -> Self:
        problems: list[tuple[Path, str]] = []
        block = self.capacity == "capacity-block"
        if block and self.reservation is None and not self.reservations:
            problems.append(
                (("reservation",), "capacity: capacity-block needs the block that you bought; add id, zone, start, end")
            )
        for key, value in (("reservation", self.reservation), ("reservations", self.reservations)):
            if not block and value:
                sentence = f"applies to capacity: capacity-block only, and capacity is {self.capacity}; remove it"
                problems.append(((key,), sentence))
        if self.reservation and self.reservations:
            problems.append(
                (("reservations",), "is set as well as reservation; list several blocks here, or a single one there")
            )
        problems += self._shares()
        if held := self.capacity_reservation:
            problems += held.beside(capacity=self.capacity, role=self.role, nodes=self.count)
        if scaled := self.karpenter:
            problems += scaled.beside(
                capacity=self.capacity, nodes=self.count, own=self.instance_type, reserved=held is not None
            )
        if self.ami and self.karpenter:
            problems.append((("ami",), "is for node groups, and Karpenter takes EKS' images; remove one of the two"))
        if self.sandbox:
            problems += wrong_place(self.role)
        if self.ami_family == "bottlerocket":
            lacking = ((key, why) for key, why in _BOTTLEROCKET_LACKS.items() if getattr(self, key))
            problems += [((to_camel(key),), f"{why}; remove it, or amiFamily") for key, why in lacking]
        if self.spot:
            problems += self.spot.beside(
                capacity=self.capacity,
                role=self.role,
                nodes=self.count,
                own=self.instance_type,
                karpenter=self.karpenter is not None,
            )
        if problems:
            raise SectionError(problems)
        return self

    def _shares(self) -> Iterator[tuple[Path, str]]:
        """Several blocks are different ones, and hold all nodes of the pool between them."""
        ids = [each.id for each in self.reservations]
        yield from repeated(ids, "{} is named twice; name each block once", "reservations", key="id")
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
