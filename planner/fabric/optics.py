"""Modules and cables to buy: transceivers counted apart from the fibres, and which kind of cable a length takes."""

from collections.abc import Iterable
from dataclasses import dataclass

from catalogue.network_types import Generation
from catalogue.optics import CABLES, CableType
from planner.fabric.cabling import Span
from planner.fabric.design import FabricDesign


@dataclass(frozen=True, kw_only=True)
class Optics:
    """Modules of all planes if every link is fibre. A twin-port module of a switch serves two ports of a cage."""

    fibres: int
    switch_transceivers: int
    node_transceivers: int
    other_transceivers: int


def optics(design: FabricDesign, *, switch_ports_per_cage: int, node_ports_per_cage: int = 1) -> Optics:
    """Count them: one module per used cage, one fibre per link. Storage and the subnet manager have single ports."""
    first_up = design.ports - design.up
    leaves = sum(
        _cages(switch_ports_per_cage, *down, range(first_up, first_up + up))
        for down, up in zip(design.leaf_ports(), design.leaf_uplinks(), strict=True)
    )
    above = sum(_cages(switch_ports_per_cage, *used) for used in (*_spine_ports(design), *_core_ports(design)))
    demand = design.demand
    return Optics(
        fibres=design.cables,
        switch_transceivers=design.planes * (leaves + above),
        node_transceivers=design.planes * demand.nodes * -(-demand.rails // node_ports_per_cage),
        other_transceivers=design.planes * demand.extra_ports,
    )


def _cages(per_cage: int, *used: range) -> int:
    """Cages with a port in use."""
    return len({port // per_cage for ports in used for port in ports})


def _spine_ports(design: FabricDesign) -> Iterable[tuple[range, ...]]:
    """Used ports of every spine, below and above."""
    uplinks = design.leaf_uplinks()
    for pod in range(design.pods if design.spines else 0):
        total = sum(uplinks[leaf] for leaf in design.pod_leaves(pod))
        for spine in range(design.spines_per_pod):
            links = total // design.spines_per_pod + (spine < total % design.spines_per_pod)
            first_up = design.ports // 2
            yield (range(links), range(first_up, first_up + links)) if design.cores else (range(links),)


def _core_ports(design: FabricDesign) -> Iterable[tuple[range, ...]]:
    """Used ports of every core: a block for each spine of its group."""
    if not design.cores:
        return
    full = design.leaves_per_pod * design.up // design.spines_per_pod
    members, block = design.spines_per_pod // design.core_groups, full // design.cores_per_group
    for core in range(design.cores):
        used = []
        for pod in range(design.pods):
            links = len(design.pod_leaves(pod)) * design.up // design.spines_per_pod
            share = links // design.cores_per_group + (core % design.cores_per_group < links % design.cores_per_group)
            used += [range(first, first + share) for first in _blocks(pod * members, members, block)]
        yield tuple(used)


def _blocks(first: int, count: int, size: int) -> Iterable[int]:
    """First ports of `count` blocks of `size`, the first of which has number `first`."""
    return range(first * size, (first + count) * size, size)


def cable_for(span: Span, generation: Generation, length_m: float) -> CableType | None:
    """The plainest kind of cable that is long enough, None if none is."""
    return next((each for each in kinds(span, generation) if longest_m(span, each) >= length_m), None)


def kinds(span: Span, generation: Generation) -> list[CableType]:
    """The kinds of cable that are made for such a link."""
    return [each for each in CABLES if generation in each.generations and longest_m(span, each) > 0]


def longest_m(span: Span, cable: CableType) -> float:
    """The longest that a cable of the kind can be on such a link."""
    return cable.card_max_m if span is Span.NODE_LEAF else cable.switch_max_m
