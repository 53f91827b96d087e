"""Which port is plugged into which, cable by cable and always in the same order; modules and cables to buy.

Transceivers are counted apart from the fibres.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

from catalogue.network_types import Generation
from catalogue.optics import CABLES, CableType
from planner.fabric.design import FabricDesign, Names, Topology, Wiring, names
from planner.fabric.room import Position, length_m


class Span(StrEnum):
    """What a cable leads from and to, from below."""

    NODE_LEAF = "node-leaf"
    LEAF_SPINE = "leaf-spine"
    SPINE_CORE = "spine-core"
    STORAGE = "storage"
    MANAGEMENT = "management"
    BMC = "bmc"
    UPLINK = "uplink"


SITE_NETWORK = "site-network"


class Link(NamedTuple):
    """A cable between a port of the `low` device and one of the switch above it. Ports count from 0, a node's are its
    rails; `rail` is None between spines and cores, and where leaves are no rails."""

    span: Span
    low: str
    low_port: int
    high: str
    high_port: int
    rail: int | None
    length_m: float | None

    @property
    def label(self) -> str:
        """What is printed on both ends."""
        return f"{self.low}:{self.low_port} - {self.high}:{self.high_port}"


HEADING = ("span", "from", "port", "to", "port", "rail", "metres")
"""Columns of a cable plan."""


def port_name(number: int, switch_ports_per_cage: int) -> str:
    """A switch's port as it stands on it: those of a twin-port cage are 1/1 and 1/2."""
    cage, half = divmod(number, switch_ports_per_cage)
    return f"{cage + 1}/{half + 1}" if switch_ports_per_cage > 1 else str(cage + 1)


def row(link: Link, *, switch_ports_per_cage: int) -> tuple[str, ...]:
    """A line of a cable plan under HEADING."""
    ends = {Span.NODE_LEAF: f"card {link.low_port}", Span.STORAGE: f"storage card {link.low_port}"}
    ends |= {Span.MANAGEMENT: "management", Span.BMC: "BMC"}
    low = ends.get(link.span) or port_name(link.low_port, switch_ports_per_cage)
    high = port_name(link.high_port, switch_ports_per_cage)
    rail = "" if link.rail is None else str(link.rail)
    metres = "" if link.length_m is None else f"{link.length_m:.1f}"
    return link.span.value, link.low, low, link.high, high, rail, metres


def links(design: FabricDesign, named: Names, positions: Mapping[str, Position] | None = None) -> Iterator[Link]:
    """Every cable of one plane, those to nodes first, without lengths where there are no positions.

    Cables keep their place as the fabric grows: what is no node comes first, spines take a leaf's links in turn.
    """
    measured: dict[tuple[str, str], float] = {}

    def distance(low: str, high: str) -> float | None:
        if positions is None:
            return None
        known = measured.get((low, high))
        if known is None:
            known = measured[low, high] = length_m(positions[low], positions[high])
        return known

    for span, low, low_port, high, high_port, rail in _plugs(design, named):
        yield Link(span, low, low_port, high, high_port, rail, distance(low, high))


def worst_pair(design: FabricDesign) -> float:
    """Links that two leaves of two tiers have by common spines, over the fewer uplinks of the two, where it is least.

    1 where every leaf has as many links to each spine as the next one.
    """
    named = names(design)
    there = Counter((link.low, link.high) for link in links(design, named) if link.span is Span.LEAF_SPINE)
    shares = {tuple(there[leaf, spine] for spine in named.spines) for leaf in named.leaves}
    pairs = (sum(map(min, one, other)) / min(sum(one), sum(other)) for one, other in combinations(shares, 2))
    return min(pairs, default=1.0)


_Plug = tuple[Span, str, int, str, int, int | None]


def _plugs(design: FabricDesign, named: Names) -> Iterator[_Plug]:
    yield from _node_plugs(design, named)
    yield from _leaf_plugs(design, named)
    yield from _spine_plugs(design, named)


def _node_plugs(design: FabricDesign, named: Names) -> Iterator[_Plug]:
    """Storage and the subnet manager have one port each; a node has one for each rail."""
    rails = design.demand.rails
    ends = _leaf_ends(design)
    for name in named.others:
        leaf, port, rail = next(ends)
        yield Span.NODE_LEAF, name, 0, named.leaves[leaf], port, rail
    if design.topology is Topology.RAIL_OPTIMISED:
        for _ in range(-design.demand.extra_ports % rails):
            next(ends)
    for name in named.nodes:
        for card in range(rails):
            leaf, port, rail = next(ends)
            yield Span.NODE_LEAF, name, card, named.leaves[leaf], port, rail


def _leaf_ends(design: FabricDesign) -> Iterator[tuple[int, int, int | None]]:
    """Ports of the leaves in the order in which they are taken: (leaf, port, rail)."""
    rails = design.demand.rails
    if design.topology is Topology.RAIL_OPTIMISED:
        for group in range(design.leaves // rails):
            for port in range(design.down):
                for rail in range(rails):
                    yield group * rails + rail, port, rail
    elif design.wiring is Wiring.USED:
        for leaf, load in enumerate(design.leaf_loads()):
            for port in range(load):
                yield leaf, port, None
    else:
        for leaf in range(design.leaves):
            for port in range(design.down):
                yield leaf, port, None


def _leaf_plugs(design: FabricDesign, named: Names) -> Iterator[_Plug]:
    """A leaf's links go to its pod's spines in turn; with used wiring the turn goes on with the next leaf."""
    spines, rails = design.spines_per_pod, design.demand.rails
    rail_optimised, first_up = design.topology is Topology.RAIL_OPTIMISED, design.ports - design.up
    per_leaf = design.leaf_uplinks()
    for pod in range(design.pods):
        turn = 0
        for leaf in design.pod_leaves(pod):
            rail = leaf % rails if rail_optimised else None
            for uplink in range(per_leaf[leaf]):
                above, port = turn % spines, turn // spines
                turn += 1
                yield (
                    Span.LEAF_SPINE,
                    named.leaves[leaf],
                    first_up + uplink,
                    named.spines[pod * spines + above],
                    port,
                    rail,
                )


def _spine_plugs(design: FabricDesign, named: Names) -> Iterator[_Plug]:
    """A spine's links go to its group's cores in turn; a pod that is not full has fewer of them."""
    if not design.cores:
        return
    groups, cores, spines = design.core_groups, design.cores_per_group, design.spines_per_pod
    links_of_full = design.leaves_per_pod * design.up // spines
    for pod in range(design.pods):
        uplinks = len(design.pod_leaves(pod)) * design.up // spines
        for spine in range(spines):
            group, member = spine % groups, spine // groups
            first_port = (pod * (spines // groups) + member) * (links_of_full // cores)
            low = named.spines[pod * spines + spine]
            for uplink in range(uplinks):
                high = named.cores[group * cores + uplink % cores]
                port = first_port + uplink // cores
                yield Span.SPINE_CORE, low, design.ports // 2 + uplink, high, port, None


@dataclass(frozen=True, kw_only=True)
class Optics:
    """Modules of all planes if every link is fibre. A twin-port module of a switch serves two ports of a cage."""

    fibres: int
    switch_transceivers: int
    node_transceivers: int
    other_transceivers: int


def optics(design: FabricDesign, *, switch_ports_per_cage: int, node_ports_per_cage: int = 1) -> Optics:
    """Count them: one module per used cage, one fibre per link. Storage and the subnet manager have single ports."""
    cages: set[tuple[str, int]] = set()
    for span, low, low_port, high, high_port, _ in _plugs(design, names(design)):
        cages.add((high, high_port // switch_ports_per_cage))
        if span is not Span.NODE_LEAF:
            cages.add((low, low_port // switch_ports_per_cage))
    demand = design.demand
    return Optics(
        fibres=design.cables,
        switch_transceivers=design.planes * len(cages),
        node_transceivers=design.planes * demand.nodes * -(-demand.rails // node_ports_per_cage),
        other_transceivers=design.planes * demand.extra_ports,
    )


def cable_for(span: Span, generation: Generation, length_m: float) -> CableType | None:
    """The plainest kind of cable that is long enough, None if none is."""
    return next((each for each in kinds(span, generation) if longest_m(span, each) >= length_m), None)


def kinds(span: Span, generation: Generation) -> list[CableType]:
    """The kinds of cable that are made for such a link."""
    return [each for each in CABLES if generation in each.generations and longest_m(span, each) > 0]


def longest_m(span: Span, cable: CableType) -> float:
    """The longest that a cable of the kind can be on such a link."""
    return cable.card_max_m if span is Span.NODE_LEAF else cable.switch_max_m
