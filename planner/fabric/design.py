"""What a fabric is asked to carry, and what it is made of. Counts are of one plane unless they say otherwise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.fabric.ports import even_shares, uplinks


class Topology(StrEnum):
    """How nodes meet switches. Rail-optimised: card i of every node of a group is on the group's leaf i."""

    SINGLE = "single"
    LEAF_SPINE = "leaf-spine"
    RAIL_OPTIMISED = "rail-optimised"


class Wiring(StrEnum):
    """Which uplinks of a leaf are wired: all of them, or as many as its used ports need.

    FULL is what NVIDIA's SuperPOD reference architectures do, also where a scalable unit is not full, so that nodes
    are added later without touching a cable; its spines divide the uplinks evenly. USED is the fewest cables that keep
    the oversubscription for the nodes there are, and its spines take the links in turn.
    """

    FULL = "full"
    USED = "used"


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Ports that a plane must offer: `rails` for each node, those of storage and of the subnet manager, and
    `spare_leaf_ports` that stay free on every leaf."""

    nodes: int
    rails: int
    storage_ports: int = 0
    manager_ports: int = 0
    spare_leaf_ports: int = 0

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.rails < 1:
            raise ValueError(f"a fabric of {self.nodes} nodes with {self.rails} ports each is none")

    @property
    def node_ports(self) -> int:
        """Ports of all nodes, each an end of a cable."""
        return self.nodes * self.rails

    @property
    def extra_ports(self) -> int:
        """Ports of what is no node."""
        return self.storage_ports + self.manager_ports

    @property
    def endpoints(self) -> int:
        """All ports that look down."""
        return self.node_ports + self.extra_ports

    @property
    def extra_slots(self) -> int:
        """Node places that storage and the subnet manager take on a rail-optimised fabric, one port on each rail."""
        return -(-self.extra_ports // self.rails)


@dataclass(frozen=True, kw_only=True)
class FabricDesign:
    """A fabric: a single switch, leaves and spines, or pods of both under cores.

    `ports` are those of a switch, `down` those of a leaf that nodes may take, `up` those that may look up. Pods are
    equal but for the last, which has the leaves that are left. Each spine belongs to one of `core_groups`, whose
    switches only see the spines with its number in each pod.
    """

    topology: Topology
    wiring: Wiring
    demand: Demand
    ports: int
    down: int
    up: int
    oversubscription: float
    leaves: int
    pods: int = 1
    leaves_per_pod: int
    spines_per_pod: int = 0
    core_groups: int = 0
    cores_per_group: int = 0
    planes: int = 1

    @property
    def tiers(self) -> int:
        """Layers of switches."""
        return 1 + bool(self.spines) + bool(self.cores)

    @property
    def spines(self) -> int:
        """Spines of all pods."""
        return self.pods * self.spines_per_pod

    @property
    def cores(self) -> int:
        """Core switches."""
        return self.core_groups * self.cores_per_group

    @property
    def switches(self) -> int:
        """Switches of all planes."""
        return self.planes * (self.leaves + self.spines + self.cores)

    @property
    def node_cables(self) -> int:
        """Cables to nodes, storage and the subnet manager, of all planes."""
        return self.planes * self.demand.endpoints

    @property
    def leaf_spine_cables(self) -> int:
        """Cables between leaves and spines, of all planes."""
        return self.planes * sum(self.leaf_uplinks())

    @property
    def spine_core_cables(self) -> int:
        """Cables between spines and cores, of all planes: a spine has as many up as down."""
        return self.leaf_spine_cables if self.cores else 0

    @property
    def cables(self) -> int:
        """All cables of all planes."""
        return self.node_cables + self.leaf_spine_cables + self.spine_core_cables

    def leaf_loads(self) -> list[int]:
        """Used ports down of each leaf."""
        if self.topology is Topology.RAIL_OPTIMISED:
            return [self._rail_load(leaf) for leaf in range(self.leaves)]
        ends = self.demand.endpoints
        if self.wiring is Wiring.USED:
            return even_shares(ends, self.leaves)
        return [min(self.down, max(0, ends - leaf * self.down)) for leaf in range(self.leaves)]

    def _rail_load(self, leaf: int) -> int:
        """Places of the group that are taken. Ports that are no node's fill places rail by rail, the last in part."""
        group, rail = divmod(leaf, self.demand.rails)
        first = group * self.down
        taken = min(self.down, self.demand.nodes + self.demand.extra_slots - first)
        of_last_place = self.demand.extra_ports % self.demand.rails
        empty = self.demand.extra_slots - 1 - first
        return taken - bool(of_last_place and rail >= of_last_place and 0 <= empty < taken)

    def leaf_uplinks(self) -> list[int]:
        """Wired ports up of each leaf."""
        if not self.spines_per_pod:
            return [0] * self.leaves
        if self.wiring is Wiring.FULL:
            return [self.up] * self.leaves
        return [max(uplinks(load, self.oversubscription), self.spines_per_pod) for load in self.leaf_loads()]

    def pod_leaves(self, pod: int) -> range:
        """Numbers of a pod's leaves."""
        return range(pod * self.leaves_per_pod, min(self.leaves, (pod + 1) * self.leaves_per_pod))


def injection_gbit_per_s(design: FabricDesign, nic_gbit_per_s: int) -> int:
    """What all nodes' cards can send at once."""
    return design.planes * design.demand.node_ports * nic_gbit_per_s


def bisection_gbit_per_s(design: FabricDesign, nic_gbit_per_s: int, switch_gbit_per_s: int) -> float:
    """What half of the nodes can send to the other half: half of what each leaf's nodes send or its wired uplinks
    carry, whichever is less; free uplinks of one leaf help no other. With an oversubscription of r it is the
    injection / 2r."""
    if not design.spines:
        return injection_gbit_per_s(design, nic_gbit_per_s) / 2
    leaves = zip(_node_loads(design), design.leaf_uplinks(), strict=True)
    return design.planes * sum(min(load * nic_gbit_per_s, up * switch_gbit_per_s) for load, up in leaves) / 2


def _node_loads(design: FabricDesign) -> Iterator[int]:
    """Ports of nodes on each leaf. What is no node comes first, on rails one port on each after the other."""
    rails = design.demand.rails if design.topology is Topology.RAIL_OPTIMISED else 1
    others = [max(0, -(-(design.demand.extra_ports - rail) // rails)) for rail in range(rails)]
    for leaf, load in enumerate(design.leaf_loads()):
        taken = min(load, others[leaf % rails])
        others[leaf % rails] -= taken
        yield load - taken


def oversubscription(design: FabricDesign) -> float:
    """Used ports down to wired ports up of the leaf where it is worst; 1 on a single switch."""
    pairs = zip(design.leaf_loads(), design.leaf_uplinks(), strict=True)
    return max((down / up for down, up in pairs if up), default=1.0)


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names of a plane's devices by their number in the fabric."""

    nodes: Sequence[str]
    others: Sequence[str]
    leaves: Sequence[str]
    spines: Sequence[str]
    cores: Sequence[str]

    def __iter__(self) -> Iterator[str]:
        for group in (self.nodes, self.others, self.leaves, self.spines, self.cores):
            yield from group


def names(design: FabricDesign, *, plane: int = 0, nodes: Sequence[str] | None = None) -> Names:
    """Names of the devices: leaf-r3-02 is the leaf of rail 3 in the second group. A second plane's end in b."""
    suffix = "" if design.planes == 1 else "abcdefgh"[plane]
    demand, rails = design.demand, design.demand.rails
    if design.topology is Topology.RAIL_OPTIMISED:
        leaves = [f"leaf-r{leaf % rails}-{leaf // rails + 1:02}{suffix}" for leaf in range(design.leaves)]
    else:
        leaves = _numbered("leaf", design.leaves, suffix)
    return Names(
        nodes=nodes or _numbered("node", demand.nodes),
        others=[*_numbered("storage", demand.storage_ports), *_numbered("manager", demand.manager_ports)],
        leaves=leaves,
        spines=_numbered("spine", design.spines, suffix),
        cores=_numbered("core", design.cores, suffix),
    )


def _numbered(word: str, count: int, suffix: str = "") -> list[str]:
    width = max(2, len(str(count)))
    return [f"{word}-{number:0{width}}{suffix}" for number in range(1, count + 1)]
