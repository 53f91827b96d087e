"""Instances that are held for the account on demand, whether they run or not (ODCR)."""

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator

from settings.aws_names import ReservationId, ZoneId
from settings.sections import Path, Section, SectionError
from settings.types import Day


class CapacityReservation(Section):
    """An On-Demand Capacity Reservation, existing or created by the stack. All `count` instances are paid for from
    the start.
    """

    id: Annotated[
        ReservationId | None, Field(description="id of an existing reservation; None = the stack creates one")
    ] = None
    create: Annotated[bool, Field(description="the stack creates the reservation, and cancels it after its nodes")] = (
        False
    )
    zone: Annotated[ZoneId, Field(description="its zone, which must be gpuZone")]
    count: Annotated[int, Field(ge=1, le=4096, description="reserved instances, running or not")]
    end: Annotated[
        Day | None,
        Field(
            description="last day of a reservation that the stack creates: EC2 ends it at midnight UTC; None ="
            " with the stack"
        ),
    ] = None

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        problems: list[tuple[Path, str]] = []
        if self.id is None and not self.create:
            problems.append((("id",), "is missing; name an existing reservation, or type create: true"))
        if self.id is not None and self.create:
            problems.append((("create",), f"{self.id} exists already; remove id, or create"))
        if self.end is not None and not self.create:
            problems.append((("end",), "applies to a reservation that the stack creates; remove it"))
        if problems:
            raise SectionError(problems)
        return self

    def beside(self, *, capacity: str, role: str, nodes: int) -> Iterator[tuple[Path, str]]:
        """What is wrong with it at a pool of so many nodes."""
        key = "capacityReservation"
        if capacity != "on-demand":
            yield (key,), f"needs capacity: on-demand, and capacity is {capacity}; remove it"
        if role == "system":
            remedy = "name it at a pool in gpuZone"
            yield (key,), f"is in one zone, and system nodes are in all zones; {remedy}"
        if nodes > self.count:
            remedy = "use fewer nodes, or have the reservation enlarged"
            yield (key, "count"), f"{nodes} nodes are to start in a reservation of {self.count}; {remedy}"
