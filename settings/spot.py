"""Alternatives for a spot pool's node group when EC2 has no capacity."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from settings.sections import Path, Section


class Spot(Section):
    """Options of a pool with `capacity: spot`: alternative types, and on-demand fallback."""

    instance_types: Annotated[
        tuple[str, ...],
        Field(max_length=30, description="alternative instance types with the same GPUs"),
    ] = ()
    on_demand_minutes: Annotated[
        int | None,
        Field(
            ge=5,
            le=1440,
            description="minutes that nodes may be missing before the keeper requests them on demand. None = wait"
            " indefinitely",
        ),
    ] = None
    again_hours: Annotated[
        int | None,
        Field(
            ge=1,
            le=720,
            description="hours after which on-demand nodes are released and spot is tried again. None = they stay",
        ),
    ] = None

    def beside(self, *, capacity: str, role: str, nodes: int, own: str, karpenter: bool) -> Iterator[tuple[Path, str]]:
        """What is wrong with it at a pool of the type `own`."""
        if capacity != "spot":
            yield ("spot",), f"needs capacity: spot, and capacity is {capacity}; remove it"
        if karpenter:
            yield ("spot",), "Karpenter chooses types and capacities itself; use its instanceTypes and capacities"
        if role == "system":
            sentence = "system pods have to run before anything can manage spot nodes"
            yield ("spot",), f"{sentence}; remove it, or set capacity to on-demand"
        if nodes == 0:
            yield ("spot",), "count is 0, so there are no nodes; set count, or remove it"
        if not self.instance_types and self.on_demand_minutes is None:
            yield ("spot",), "is empty; add instanceTypes or onDemandMinutes, or remove it"
        if self.again_hours is not None and self.on_demand_minutes is None:
            yield ("spot", "againHours"), "needs onDemandMinutes, without which there are no on-demand nodes; add it"
        for index, each in enumerate(self.instance_types):
            if each == own or each in self.instance_types[:index]:
                yield ("spot", "instanceTypes", index), f"{each} is named already; name each type once"
