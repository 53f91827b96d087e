"""Which GPUs a cluster has left: gangs take whole nodes, replicas take parts of a node, and none lies across two."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count

from catalogue.types import UsageClass


class Spread(StrEnum):
    """Where the next replica goes: the fullest node that still has room, or the emptiest."""

    PACK = "pack"
    SPREAD = "spread"


@dataclass(frozen=True, kw_only=True)
class Room:
    """What is left of equal nodes: free GPUs, and the nodes on which every GPU is free, which is what a gang needs."""

    free_gpus: int
    empty_nodes: int


def placed(nodes: int, gpus_per_node: int, sizes: Iterable[int], how: Spread = Spread.PACK) -> tuple[int, ...] | None:
    """Free GPUs of each node, most first, once replicas of these sizes (GPUs each) run; None if one finds no node.

    The largest are placed first. Slices of GPUs are counted like GPUs.
    """
    free = Counter({gpus_per_node: nodes})
    for size in sorted(sizes, reverse=True):
        fitting = [gpus for gpus, there in free.items() if there and gpus >= size]
        if not fitting:
            return None
        chosen = min(fitting) if how is Spread.PACK else max(fitting)
        free[chosen] -= 1
        free[chosen - size] += 1
    return tuple(sorted(free.elements(), reverse=True))


def room(free: Sequence[int], gpus_per_node: int) -> Room:
    """Sum up what `placed` left."""
    return Room(free_gpus=sum(free), empty_nodes=sum(gpus == gpus_per_node for gpus in free))


def shared_nodes(
    gang_nodes: int, gpus_per_node: int, sizes: Iterable[int], reserved_gpus: int = 0, how: Spread = Spread.PACK
) -> int:
    """Fewest equal nodes on which a gang, the replicas and a reserve of free GPUs have room beside each other.

    Raises ValueError if a replica is larger than a node, as no number of nodes holds it.
    """
    wanted = list(sizes)
    if max(wanted, default=0) > gpus_per_node:
        raise ValueError(f"a replica of {max(wanted)} GPUs does not fit on a node of {gpus_per_node}")

    def suffice(nodes: int) -> bool:
        free = placed(nodes, gpus_per_node, wanted, how)
        if free is None:
            return False
        left = room(free, gpus_per_node)
        return left.empty_nodes >= gang_nodes and left.free_gpus - gang_nodes * gpus_per_node >= reserved_gpus

    return next(nodes for nodes in count(gang_nodes) if suffice(nodes))


def wants_placement_group(efa: int, usage: UsageClass) -> bool:
    """Whether a pool belongs into a cluster placement group of the stack's own.

    Nodes with EFA do. Capacity blocks lie close to each other by themselves, and a launch into a block that names a
    group fails or gets a part of the nodes only. Source: EC2 user guide, "Launch instances using Capacity Blocks".
    """
    return efa > 0 and usage is not UsageClass.CAPACITY_BLOCK
