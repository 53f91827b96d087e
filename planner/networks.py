"""Networks beside the compute fabric: storage's own, and the management network. Each is one graph of cables, of which
bill, racks, power, cable list and drawing are views.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from catalogue.network_types import Generation, Nic, NicGroup, NicRole, Switch, of_role
from catalogue.whole import Catalogue
from planner.fabric.cabling import SITE_NETWORK, Link, Span, links
from planner.fabric.design import Demand, FabricDesign, Topology, Wiring, names
from planner.fabric.plan import FabricPlan
from planner.fabric.ports import radix
from planner.fabric.topology import design
from planner.pool_types import MetalPoolPlan
from settings.model import MetalSettings

MANAGEMENT_SWITCH = "SN2201"
_UPLINKS = 2
"""Ports of a management switch that lead to the site's own network."""

_PORTS_OF_A_MACHINE = 2
"""One for the machine's own network, one for its management controller."""

_SPANS = {"management": (Span.MANAGEMENT, Span.BMC), "storage": (Span.STORAGE, Span.STORAGE)}
"""What cables to a device's first port, and to the next ones, are."""


@dataclass(frozen=True, kw_only=True)
class Joined:
    """Equal devices on a network: `name`-0, `name`-1 and so on, each with so many ports."""

    name: str
    count: int
    ports: int


@dataclass(frozen=True, kw_only=True)
class NetworkPlan:
    """A network as it is bought: its switches and what is joined to them. `ports_per_cage` is a switch's; each leaf has
    `uplinks` to the site's own network."""

    kind: Literal["storage", "management"]
    switch: Switch
    generation: Generation
    ports_per_cage: int
    design: FabricDesign
    joined: tuple[Joined, ...]
    uplinks: int = 0

    @property
    def cables(self) -> int:
        """All of them."""
        return self.design.cables + self.uplinks * self.design.leaves

    def links(self) -> Iterator[Link]:
        """Every cable, between ports that have names."""
        ends = [
            (f"{each.name}-{index}", port)
            for each in self.joined
            for index in range(each.count)
            for port in range(each.ports)
        ]
        named = names(self.design, nodes=[str(number) for number in range(len(ends))])
        named = replace(
            named,
            leaves=[f"{self.kind}-{name}" for name in named.leaves],
            spines=[f"{self.kind}-{name}" for name in named.spines],
            cores=[f"{self.kind}-{name}" for name in named.cores],
        )
        for link in links(self.design, named):
            if link.span is Span.NODE_LEAF:
                low, port = ends[int(link.low)]
                yield link._replace(span=_SPANS[self.kind][min(port, 1)], low=low, low_port=port)
            else:
                yield link
        for number in range(self.uplinks * self.design.leaves):
            leaf, port = divmod(number, self.uplinks)
            up = self.design.down + port
            yield Link(Span.UPLINK, named.leaves[leaf], up, SITE_NETWORK, number, None, None)


def plan_networks(
    settings: MetalSettings,
    catalogue: Catalogue,
    pools: Mapping[str, MetalPoolPlan],
    fabric: FabricPlan | None,
    power_strips: int = 0,
) -> tuple[NetworkPlan, ...]:
    """The networks that machines, switches and power strips need beside the compute fabric."""
    stores = [
        (each.role, catalogue.storage_servers[each.row], each.count)
        for each in settings.storage.servers
        if each.row in catalogue.storage_servers
    ]
    machines = [(pool.name, pool.count, pool.server.nics) for pool in pools.values()]
    machines += [(role, count, row.nics) for role, row, count in stores]
    over_fabric = settings.storage.lustre is not None and settings.storage.lustre.network == "compute"
    storage = None if over_fabric else _storage(machines, catalogue.switches)
    switches = [Joined(name="switch", count=fabric.growth.day_one.switches, ports=1)] if fabric else []
    if storage:
        switches.append(Joined(name="storage-switch", count=storage.design.switches, ports=1))
    if power_strips:
        switches.append(Joined(name="power-strip", count=power_strips, ports=1))
    joined = [Joined(name=name, count=count, ports=_PORTS_OF_A_MACHINE) for name, count, _ in machines]
    management = _management((*joined, *switches), catalogue.switches)
    return tuple(each for each in (storage, management) if each)


def _storage(
    machines: Iterable[tuple[str, int, tuple[NicGroup, ...]]], switches: Mapping[str, Switch]
) -> NetworkPlan | None:
    """Storage cards of all machines on the switches that cost least; None where nobody has such cards."""
    groups = [(name, count, group) for name, count, nics in machines for group in of_role(nics, NicRole.STORAGE)]
    if not groups:
        return None
    joined = tuple(Joined(name=name, count=count, ports=group.ports) for name, count, group in groups)
    nic = max((group.nic for _, _, group in groups), key=lambda card: card.gbit_per_s)
    found = cheapest_switches(nic, sum(each.count * each.ports for each in joined), switches.values())
    if found is None:
        return None
    switch, built = found
    return NetworkPlan(
        kind="storage",
        switch=switch,
        generation=nic.generation,
        ports_per_cage=radix(switch, nic).ports_per_cage,
        design=built,
        joined=joined,
    )


def _management(joined: tuple[Joined, ...], switches: Mapping[str, Switch]) -> NetworkPlan | None:
    """Switches side by side, as many as the ports take; each leads to the site's own network."""
    ports, switch = sum(each.count * each.ports for each in joined), switches.get(MANAGEMENT_SWITCH)
    if switch is None or not ports:
        return None
    down = switch.ports - _UPLINKS
    built = FabricDesign(
        topology=Topology.LEAF_SPINE,
        wiring=Wiring.FULL,
        demand=Demand(nodes=ports, rails=1),
        ports=switch.ports,
        down=down,
        up=0,
        oversubscription=1,
        leaves=ceil(ports / down),
        leaves_per_pod=ceil(ports / down),
    )
    return NetworkPlan(
        kind="management",
        switch=switch,
        generation=switch.generation,
        ports_per_cage=1,
        design=built,
        joined=joined,
        uplinks=_UPLINKS,
    )


def cheapest_switches(nic: Nic, ports: int, switches: Iterable[Switch]) -> tuple[Switch, FabricDesign] | None:
    """The switch, and the network of it, that give `ports` cards of that kind a non-blocking network for least money.

    Switches without a price come last, the fewest first.
    """
    offers = []
    for switch in switches:
        ways = radix(switch, nic)
        if switch.link is nic.link and ways.gbit_per_s == nic.gbit_per_s:
            built = design(Demand(nodes=ports, rails=1), ways.ports)
            if built:
                price = switch.price.usd * built.switches if switch.price else None
                offers.append(((price is None, price or 0.0, built.switches, switch.name), switch, built))
    return min(offers, key=lambda offer: offer[0])[1:] if offers else None
