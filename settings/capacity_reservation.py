"""Instances that are held for the account on demand, whether they run or not (ODCR)."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from settings.sections import Path, Section
from settings.types import ReservationId, ZoneId


class CapacityReservation(Section):
    """An On-Demand Capacity Reservation that stands. All of its `count` instances are paid for from its first hour."""

    id: Annotated[ReservationId, Field(description="of the reservation; the program makes none")]
    zone: Annotated[ZoneId, Field(description="where it holds instances: gpuZone")]
    count: Annotated[int, Field(ge=1, le=4096, description="instances that it holds, those that nobody runs included")]

    def beside(self, *, capacity: str, role: str, nodes: int) -> Iterator[tuple[Path, str]]:
        """What is wrong with it at a pool of so many nodes."""
        key = "capacityReservation"
        if capacity != "on-demand":
            yield (key,), f"belongs to capacity on-demand, and the capacity is {capacity}; remove it"
        if role == "system":
            remedy = "name it at a pool that stands in gpuZone"
            yield (key,), f"holds instances in one zone, and system nodes stand in all of them; {remedy}"
        if nodes > self.count:
            remedy = "take fewer nodes, or have the reservation enlarged"
            yield (key, "count"), f"{nodes} nodes are to start in a reservation of {self.count}; {remedy}"
