"""What a stack in racks of one's own orders: its settings, pools, fabric and room as a bill of materials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from catalogue.metal_types import Cooling, Server, StorageServer
from catalogue.network_types import Nic, NicRole, Switch, of_role
from catalogue.whole import Catalogue
from planner.bom import Bom
from planner.bom_metal import CableRuns, RoomOrder, metal_bom
from planner.fabric.design import Demand
from planner.fabric.ports import radix
from planner.fabric.topology import design
from planner.fabric.types import FabricPlan
from planner.facility.types import FacilityPlan
from planner.pool_types import MetalPoolPlan

if TYPE_CHECKING:
    from settings.model import MetalSettings


def plan_purchase(
    settings: MetalSettings,
    catalogue: Catalogue,
    pools: Mapping[str, MetalPoolPlan],
    fabric: FabricPlan | None,
    facility: FacilityPlan,
) -> Bom:
    """The bill of materials of the stack, as far as its rows are known."""
    servers = [(pool.server, pool.count) for pool in pools.values()]
    stores = _stores(settings, catalogue.storage_servers)
    room = settings.facility
    lengths = settings.fabric.cable_lengths_m
    default = CableRuns()
    return metal_bom(
        servers,
        stores,
        fabric,
        _storage_network(settings, servers, stores, catalogue.switches),
        RoomOrder(
            racks=len(facility.racks),
            pdus=len(facility.racks) * room.feeds * room.circuits_per_rack,
            batteries_kwh=room.ups.kwh if room.ups else 0,
            cooling=Cooling(room.cooling.kind),
            liquid_kw=facility.heat.liquid_kw,
        ),
        catalogue.parts,
        runs=CableRuns(
            node_leaf_m=lengths.node_to_leaf or default.node_leaf_m,
            leaf_spine_m=lengths.leaf_to_spine or default.leaf_spine_m,
        ),
    )


def _stores(settings: MetalSettings, rows: Mapping[str, StorageServer]) -> list[tuple[StorageServer, int]]:
    return [(rows[each.row], each.count) for each in settings.storage.servers if each.row in rows]


def _storage_network(
    settings: MetalSettings,
    servers: Iterable[tuple[Server, int]],
    stores: Iterable[tuple[StorageServer, int]],
    switches: Mapping[str, Switch],
) -> tuple[Switch, int] | None:
    """Switches of a storage network of its own; None where storage is on the compute fabric, or no row fits."""
    if settings.storage.lustre is not None and settings.storage.lustre.network == "compute":
        return None
    cards = [(row.nics, count) for row, count in servers] + [(row.nics, count) for row, count in stores]
    groups = [(group, count) for nics, count in cards for group in of_role(nics, NicRole.STORAGE)]
    if not groups:
        return None
    ports = sum(group.ports * count for group, count in groups)
    nic = max((group.nic for group, _ in groups), key=lambda card: card.gbit_per_s)
    return cheapest_switches(nic, ports, switches.values())


def cheapest_switches(nic: Nic, ports: int, switches: Iterable[Switch]) -> tuple[Switch, int] | None:
    """The switch, and how many of them, that give `ports` cards of that kind a non-blocking network for least money.

    Switches without a price come last, the fewest first.
    """
    offers = []
    for switch in switches:
        ways = radix(switch, nic)
        if switch.link is nic.link and ways.gbit_per_s == nic.gbit_per_s:
            built = design(Demand(nodes=ports, rails=1), ways.ports)
            if built:
                price = switch.price.usd * built.switches if switch.price else None
                offers.append(((price is None, price or 0.0, built.switches, switch.name), switch, built.switches))
    if not offers:
        return None
    _, switch, count = min(offers, key=lambda offer: offer[0])
    return switch, count
