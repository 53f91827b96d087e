"""The compute fabric's cables as a person finds them: between machines of the inventory and switches in their racks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from planner.fabric.cabling import links, port_name
from planner.fabric.design import Names, names
from planner.fabric.near import machines
from planner.fabric.plan import FabricPlan, compute_cards, on_fabric
from planner.metal_types import MetalPlan


class Port(NamedTuple):
    """A port of a device. Ports of a switch count from 0; a machine's are its compute ports in rail order."""

    device: str
    number: int


@dataclass(frozen=True, kw_only=True)
class Cable:
    """A cable that the plan has, by what is printed on its ends.

    `named` is false where the plan knows that something is at the lower end, and not what: storage's ports, and those
    of the subnet manager. Their rate is theirs to say (`gbit_per_s` is None), else it is Gb/s one way.
    """

    label: str
    low: Port
    high: Port
    named: bool
    gbit_per_s: int | None


@dataclass(frozen=True, kw_only=True)
class Wired:
    """The compute fabric as it is to be plugged. `cards` are the numbers of compute ports by machine and name of the
    RDMA device there, none of a model whose devices the catalogue does not name; `places` say rack and unit of what
    the inventory places; `guids` are those of the switches whose GUID it has.
    """

    cables: Sequence[Cable]
    machines: frozenset[str]
    switches: frozenset[str]
    cards: Mapping[tuple[str, str], int]
    places: Mapping[str, str]
    guids: Mapping[int, str]
    switch_ports_per_cage: int

    def called(self, port: Port) -> str:
        """The port as a person finds it: `leaf-r1-01 port 3/1 (rack r2 unit 40)`."""
        place = f" ({self.places[port.device]})" if port.device in self.places else ""
        words = port_name(port.number, self.switch_ports_per_cage)
        return f"{port.device} {f'port {words}' if port.device in self.switches else f'card {port.number}'}{place}"


def wired(plan: MetalPlan, fabric: FabricPlan) -> Wired:
    """All of it, from the plan."""
    planned = tuple(_cables(plan, fabric))
    switches = frozenset(each.high.device for each in planned)
    return Wired(
        cables=planned,
        machines=frozenset(each.low.device for each in planned if each.named) - switches,
        switches=switches,
        cards=_cards(plan),
        places=_places(plan),
        guids={each.guid: each.name for each in plan.site.switches if each.guid is not None} if plan.site else {},
        switch_ports_per_cage=fabric.radix.ports_per_cage,
    )


def planes(plan: MetalPlan, fabric: FabricPlan) -> Iterator[Names]:
    """Names of each plane's devices. Nodes are called as the inventory calls them; without it, by pool and number."""
    nodes = [name for pool in on_fabric(plan.pools.values()) for name in machines(plan.site, pool)]
    design = fabric.growth.day_one
    for plane in range(design.planes):
        yield names(design, plane=plane, nodes=nodes)


def _cables(plan: MetalPlan, fabric: FabricPlan) -> Iterator[Cable]:
    """Of two planes, a card with two ports has its first in the first plane."""
    design = fabric.growth.day_one
    for plane, named in enumerate(planes(plan, fabric)):
        others, nodes = frozenset(named.others), frozenset(named.nodes)
        for link in links(design, named):
            number = link.low_port * design.planes + plane if link.low in nodes else link.low_port
            yield Cable(
                label=link.label,
                low=Port(link.low, number),
                high=Port(link.high, link.high_port),
                named=link.low not in others,
                gbit_per_s=None if link.low in others else fabric.radix.gbit_per_s,
            )


def _cards(plan: MetalPlan) -> Mapping[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for pool in on_fabric(plan.pools.values()):
        devices = [hca for group in compute_cards(pool) for hca in group.hcas]
        for machine in machines(plan.site, pool):
            found.update({(machine, hca): number for number, hca in enumerate(devices)})
    return found


def _places(plan: MetalPlan) -> Mapping[str, str]:
    if plan.site is None:
        return {}
    standing = [(each.name, each.rack, each.unit) for each in plan.site.hosts]
    standing += [(each.name, each.rack, each.unit) for each in plan.site.switches]
    return {name: f"rack {rack} unit {unit}" for name, rack, unit in standing if rack}
