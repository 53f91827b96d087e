"""Which GPUs a cluster has left: gangs take whole nodes, replicas take parts of a node, and none lies across two."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from catalogue.types import UsageClass


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """`count` replicas of `gpus` GPUs each; with `spread` no two of them share a node."""

    gpus: int
    count: int
    spread: bool = False


@dataclass(frozen=True, kw_only=True)
class Room:
    """What is left of equal nodes: free GPUs, and the nodes on which every GPU is free, which is what a gang needs."""

    free_gpus: int
    empty_nodes: int


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """What services leave of their pool: `fewest` and `most` with so many replicas, None where one finds no node.

    `nodes` hold the most replicas beside the pool's largest gang.
    """

    fewest: Room | None
    most: Room | None
    nodes: int


def placed(nodes: int, gpus_per_node: int, services: Iterable[Replicas]) -> tuple[int, ...] | None:
    """Free GPUs of each node, most first, once all replicas run; None if one finds no node.

    Each goes to the fullest node that has room, and where its service spreads, to one without another of it: the pods
    ask for that. The largest are placed first, and of equal ones those that spread. Slices of GPUs count like GPUs.
    """
    free = Counter({gpus_per_node: nodes})
    for each in sorted(services, key=lambda service: (-service.gpus, not service.spread)):
        if not (_spread(free, each) if each.spread else _packed(free, each)):
            return None
    return tuple(sorted(free.elements(), reverse=True))


def _packed(free: Counter[int], service: Replicas) -> bool:
    """Take the GPUs of replicas that may share a node; False if one finds none."""
    for _ in range(service.count):
        fitting = [gpus for gpus, nodes in free.items() if nodes and gpus >= service.gpus]
        if not fitting:
            return False
        free[min(fitting)] -= 1
        free[min(fitting) - service.gpus] += 1
    return True


def _spread(free: Counter[int], service: Replicas) -> bool:
    """Take the GPUs of replicas on as many nodes; False if there are fewer with room."""
    left, taken = service.count, Counter[int]()
    for gpus in sorted(gpus for gpus in free if gpus >= service.gpus):
        taken[gpus] = min(left, free[gpus])
        left -= taken[gpus]
    for gpus, nodes in taken.items():
        free[gpus] -= nodes
        free[gpus - service.gpus] += nodes
    return left == 0


def room(free: Sequence[int], gpus_per_node: int) -> Room:
    """Sum up what `placed` left."""
    return Room(free_gpus=sum(free), empty_nodes=sum(gpus == gpus_per_node for gpus in free))


def sharing(
    nodes: int, gpus_per_node: int, fewest: Sequence[Replicas], most: Sequence[Replicas], gang_nodes: int = 0
) -> Sharing:
    """How services share equal nodes with the fewest and the most replicas of each.

    Raises ValueError if a replica is larger than a node.
    """
    return Sharing(
        fewest=_left(nodes, gpus_per_node, fewest),
        most=_left(nodes, gpus_per_node, most),
        nodes=shared_nodes(gang_nodes, gpus_per_node, most),
    )


def _left(nodes: int, gpus_per_node: int, services: Iterable[Replicas]) -> Room | None:
    free = placed(nodes, gpus_per_node, services)
    return room(free, gpus_per_node) if free is not None else None


def shared_nodes(gang_nodes: int, gpus_per_node: int, services: Iterable[Replicas]) -> int:
    """Fewest equal nodes on which a gang and the replicas have room beside each other.

    Raises ValueError if a replica is larger than a node, as no number of nodes holds it.
    """
    wanted = list(services)
    largest = max((each.gpus for each in wanted), default=0)
    if largest > gpus_per_node:
        raise ValueError(f"a replica of {largest} GPUs does not fit on a node of {gpus_per_node}")

    def suffice(nodes: int) -> bool:
        free = placed(nodes, gpus_per_node, wanted)
        return free is not None and room(free, gpus_per_node).empty_nodes >= gang_nodes

    # Each replica on a node of its own, beside the gang, always suffices.
    most = gang_nodes + sum(each.count for each in wanted)
    return bisect_left(range(most), True, lo=gang_nodes, key=suffice)


def has_room(nodes: int, gpus_per_node: int, taken: int, gpus: int) -> bool:
    """Whether a replica of so many GPUs finds a node beside those that take `taken`, wherever they are.

    If no node had so many GPUs free, all nodes together would have at most one fewer each.
    """
    return nodes * gpus_per_node - taken > nodes * (gpus - 1)


def wants_placement_group(efa: int, usage: UsageClass) -> bool:
    """Whether a pool belongs into a cluster placement group of the stack's own.

    Nodes with EFA do. Capacity blocks lie close to each other by themselves, and a launch into a block that names a
    group fails or gets a part of the nodes only. Source: EC2 user guide, "Launch instances using Capacity Blocks".
    """
    return efa > 0 and usage is not UsageClass.CAPACITY_BLOCK
