"""What the node group of a pool on spot takes where EC2 has no spot instance."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from settings.sections import Path, Section


class Spot(Section):
    """How a pool of `capacity: spot` gets its nodes: of further types, and on demand where there are none."""

    instance_types: Annotated[
        tuple[str, ...],
        Field(max_length=30, description="further types with the same GPUs, which EC2 may take as well"),
    ] = ()
    on_demand_minutes: Annotated[
        int | None,
        Field(
            ge=5,
            le=1440,
            description="for so long nodes may be missing; then the keeper asks for them on demand. None = they wait",
        ),
    ] = None
    again_hours: Annotated[
        int | None,
        Field(
            ge=1,
            le=720,
            description="hours after which on-demand nodes go and spot is asked again. None = they stay",
        ),
    ] = None

    def beside(self, *, capacity: str, role: str, nodes: int, own: str, karpenter: bool) -> Iterator[tuple[Path, str]]:
        """What is wrong with it at a pool of the type `own`."""
        if capacity != "spot":
            yield ("spot",), f"belongs to capacity spot, and the capacity is {capacity}; remove it"
        if karpenter:
            yield ("spot",), "karpenter chooses types and capacities itself; use its instanceTypes and capacities"
        if role == "system":
            sentence = "the cluster's own services need their nodes before anything can look after them"
            yield ("spot",), f"{sentence}; remove it, or set capacity to on-demand"
        if nodes == 0:
            yield ("spot",), "count is 0, so there is no node to have; set count, or remove it"
        if not self.instance_types and self.on_demand_minutes is None:
            yield ("spot",), "says nothing; add instanceTypes or onDemandMinutes, or remove it"
        if self.again_hours is not None and self.on_demand_minutes is None:
            yield ("spot", "againHours"), "there are no on-demand nodes without onDemandMinutes; add it"
        for index, each in enumerate(self.instance_types):
            if each == own or each in self.instance_types[:index]:
                yield ("spot", "instanceTypes", index), f"{each} is named already; name each type once"
