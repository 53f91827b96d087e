"""Nodes that Karpenter starts when pods wait for them, and ends when nothing runs on them."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from settings.sections import Path, Section, repeated

Kind = Literal["spot", "on-demand"]


class Karpenter(Section):
    """Autoscaling of a pool with its pods: from zero to `max_count` nodes, of `instance_type` or alternatives."""

    max_count: Annotated[int, Field(ge=1, le=1000, description="maximum number of nodes")]
    capacities: Annotated[
        tuple[Kind, ...],
        Field(max_length=2, description="purchase options, cheapest first; empty = capacity"),
    ] = ()
    instance_types: Annotated[
        tuple[str, ...],
        Field(max_length=30, description="alternative instance types with the same GPUs"),
    ] = ()
    empty_seconds: Annotated[int, Field(ge=30, le=86_400, description="seconds that an empty node is kept")] = 300
    max_days: Annotated[
        int, Field(ge=1, le=365, description="days after which a node is drained and replaced, with the newest image")
    ] = 30

    def beside(self, *, capacity: str, nodes: int, own: str, reserved: bool) -> Iterator[tuple[Path, str]]:
        """What is wrong with it at a pool of the type `own`."""
        if nodes:
            yield ("count",), f"Karpenter starts nodes on demand, and count is {nodes}; set it to 0"
        if capacity == "capacity-block" or reserved:
            what = "a capacity block" if capacity == "capacity-block" else "a capacity reservation"
            sentence = f"starts and terminates nodes with the pods, but {what} is paid for in any case"
            yield ("karpenter",), f"{sentence}; remove karpenter, and set count to the nodes that it holds"
        yield from repeated(self.capacities, "{} is named twice; name each way once", "karpenter", "capacities")
        if self.capacities and capacity not in self.capacities and capacity != "capacity-block":
            sentence = f"leave out {capacity}, which is the pool's capacity; add it, or change capacity"
            yield ("karpenter", "capacities"), sentence
        for index, each in enumerate(self.instance_types):
            if each == own or each in self.instance_types[:index]:
                yield ("karpenter", "instanceTypes", index), f"{each} is named already; name each type once"
