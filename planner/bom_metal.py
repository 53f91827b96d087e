"""The bill of materials of on-premises racks: from the plan's pools, fabric, storage and room."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil

from catalogue.metal_types import Cooling, Server, StorageServer
from catalogue.network_types import Generation, NicRole, of_role
from catalogue.optics import CableType
from catalogue.types import PurchasePrice
from planner.bom import Bom, BomLine, Part, bought, included, spares
from planner.cost.amounts import Amount
from planner.fabric.cabling import Span
from planner.fabric.optics import cable_for, optics
from planner.fabric.plan import FabricPlan
from planner.networks import NetworkPlan

_NODE_LEAF_M = 5.0
_LEAF_SPINE_M = 30.0


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """Spare parts, in percent of what is in use. A missing card or cable idles a node for as long as it is on order."""

    cards: float = 2.0
    cables: float = 2.0
    modules: float = 2.0
    drives: float = 2.0


@dataclass(frozen=True, kw_only=True)
class RoomOrder:
    """What the room needs. `pdus` are those of all racks, `batteries_kwh` 0 where there are none."""

    racks: int
    pdus: int
    batteries_kwh: float
    cooling: Cooling
    liquid_kw: float


@dataclass(frozen=True, kw_only=True)
class CableRuns:
    """Lengths of the fabric's cables in metres, as far as they were measured."""

    node_leaf_m: float = _NODE_LEAF_M
    leaf_spine_m: float = _LEAF_SPINE_M


def metal_bom(
    servers: Sequence[tuple[Server, int]],
    stores: Sequence[tuple[StorageServer, int]],
    fabric: FabricPlan | None,
    networks: Sequence[NetworkPlan],
    room: RoomOrder,
    prices: Mapping[str, PurchasePrice],
    *,
    runs: CableRuns | None = None,
    shelf: Shelf | None = None,
) -> Bom:
    """Everything that is bought. `servers` and `stores` are (row, how many); `prices` are those of parts without a
    row.
    """
    kept, lengths = shelf or Shelf(), runs or CableRuns()
    return Bom(
        lines=(
            *_servers(servers, kept),
            *_stores(stores, kept),
            *(_fabric(fabric, prices, lengths, kept) if fabric else ()),
            *chain.from_iterable(
                _storage_network(each, prices, lengths, kept) for each in networks if each.kind == "storage"
            ),
            *_room(room, prices),
            *chain.from_iterable(_management(each, prices) for each in networks if each.kind == "management"),
        )
    )


def amount(price: PurchasePrice | None) -> Amount | None:
    """A purchase price as a sum of money."""
    return Amount(usd=price.usd, low=price.low, high=price.high) if price else None


def _servers(servers: Sequence[tuple[Server, int]], shelf: Shelf) -> Iterator[BomLine]:
    for server, count in servers:
        part = Part.GPU if server.gpu else Part.CPU
        source = server.price.source if server.price else ""
        yield bought(part, server.name, count, amount(server.price), note=source)
        if server.gpu:
            yield included(Part.GPU, f"GPU {server.gpu.name}", count * server.gpu_count, server.name)
        yield included(Part.CPU, server.cpu.model, count * server.cpu.sockets, server.name)
        yield included(Part.MEMORY, "GiB of memory", count * server.memory_gib, server.name)
        if server.nvme:
            drives = count * server.nvme.count
            yield included(Part.STORAGE, f"NVMe drive of {server.nvme.size_gb} GB", drives, server.name)
        supplies = server.power_supplies
        yield included(Part.POWER, f"{supplies.watts} W supply", count * supplies.count, server.name)
    yield from _cards(servers, shelf)


def _cards(servers: Sequence[tuple[Server, int]], shelf: Shelf) -> Iterator[BomLine]:
    """Cards of the compute fabric, which come with the servers; the spare ones do not."""
    for server, count in servers:
        for group in of_role(server.nics, NicRole.COMPUTE):
            kept = spares(count * group.count, shelf.cards)
            yield included(Part.INTERCONNECT, group.nic.name, count * group.count, server.name)
            yield bought(Part.INTERCONNECT, f"spare {group.nic.name}", 0, amount(group.nic.price), shelf=kept)


def _stores(stores: Sequence[tuple[StorageServer, int]], shelf: Shelf) -> Iterator[BomLine]:
    for store, count in stores:
        source = store.price.source if store.price else ""
        yield bought(Part.STORAGE, store.name, count, amount(store.price), note=source)
        drives = count * store.drives
        kept = spares(drives, shelf.drives)
        where = f"{store.name}; order {kept} more as spares"
        yield included(Part.STORAGE, f"drive of {store.drive_tb:g} TB", drives, where)


def _fabric(
    fabric: FabricPlan, prices: Mapping[str, PurchasePrice], runs: CableRuns, shelf: Shelf
) -> Iterator[BomLine]:
    design, generation = fabric.growth.day_one, fabric.cards.nic.generation
    tiers = {"leaves": design.leaves, "spines": design.spines, "cores": design.cores}
    planes = f" on each of {design.planes} planes" if design.planes > 1 else ""
    yield bought(
        Part.INTERCONNECT,
        fabric.switch.name,
        design.switches,
        amount(fabric.switch.price),
        note=f"{', '.join(f'{count} {tier}' for tier, count in tiers.items() if count)}{planes}",
    )
    near = cable_for(Span.NODE_LEAF, generation, runs.node_leaf_m)
    far = cable_for(Span.LEAF_SPINE, generation, runs.leaf_spine_m)
    above = design.leaf_spine_cables + design.spine_core_cables
    yield from _cables(
        near, design.node_cables, f"nodes to leaves, up to {runs.node_leaf_m:g} m", generation, prices, shelf
    )
    yield from _cables(far, above, f"between switches, up to {runs.leaf_spine_m:g} m", generation, prices, shelf)
    if near and near.transceivers:
        ends = fabric.optics.node_transceivers + fabric.optics.other_transceivers
        yield _module("card", generation, ends, prices, shelf)
    fibre_ports = design.node_cables * bool(near and near.transceivers) + 2 * above * bool(far and far.transceivers)
    if fibre_ports:
        share = fibre_ports / (design.node_cables + 2 * above)
        yield _module("switch", generation, ceil(fabric.optics.switch_transceivers * share), prices, shelf)


def _cables(
    kind: CableType | None,
    count: int,
    note: str,
    generation: Generation,
    prices: Mapping[str, PurchasePrice],
    shelf: Shelf,
) -> Iterator[BomLine]:
    item = f"{generation} {kind.kind if kind else 'unknown'} cable"
    if count:
        each = amount(prices.get(item))
        yield bought(Part.CABLING, item, count, each, shelf=spares(count, shelf.cables), note=note)


def _module(end: str, generation: Generation, count: int, prices: Mapping[str, PurchasePrice], shelf: Shelf) -> BomLine:
    item = f"{generation} {end} transceiver"
    return bought(Part.CABLING, item, count, amount(prices.get(item)), shelf=spares(count, shelf.modules))


def _storage_network(
    network: NetworkPlan, prices: Mapping[str, PurchasePrice], runs: CableRuns, shelf: Shelf
) -> Iterator[BomLine]:
    """Its switches, cables and modules, each called after the network."""
    design, generation, of = network.design, network.generation, "of the storage network"
    yield bought(Part.STORAGE, f"{network.switch.name} {of}", design.switches, amount(network.switch.price))
    near = cable_for(Span.NODE_LEAF, generation, runs.node_leaf_m)
    far = cable_for(Span.LEAF_SPINE, generation, runs.leaf_spine_m)
    above = design.leaf_spine_cables + design.spine_core_cables
    for kind, count, note in ((near, design.node_cables, "machines to leaves"), (far, above, "between switches")):
        if count:
            item = f"{generation} {kind.kind if kind else 'unknown'} cable"
            each, kept = amount(prices.get(item)), spares(count, shelf.cables)
            yield bought(Part.CABLING, f"{item} {of}, {note}", count, each, shelf=kept)
    modules = optics(design, switch_ports_per_cage=network.ports_per_cage)
    below, higher = bool(near and near.transceivers), bool(far and far.transceivers)
    fibre = design.node_cables * below + 2 * above * higher
    share = fibre / (design.node_cables + 2 * above)
    ends = (("card", design.node_cables * below), ("switch", ceil(modules.switch_transceivers * share)))
    for end, count in ends:
        if count:
            item = f"{generation} {end} transceiver"
            each, kept = amount(prices.get(item)), spares(count, shelf.modules)
            yield bought(Part.CABLING, f"{item} {of}", count, each, shelf=kept)


def _room(room: RoomOrder, prices: Mapping[str, PurchasePrice]) -> Iterable[BomLine]:
    yield bought(Part.RACK, "rack", room.racks, amount(prices.get("rack")))
    yield bought(Part.RACK, "installation, per rack", room.racks, amount(prices.get("installation, per rack")))
    yield bought(Part.POWER, "rack PDU", room.pdus, amount(prices.get("rack PDU")))
    if room.batteries_kwh:
        yield bought(Part.POWER, "battery, per kWh", room.batteries_kwh, amount(prices.get("battery, per kWh")))
    if room.cooling is Cooling.AIR:
        yield included(Part.COOLING, "air handling", 1, "the room")
    else:
        each = amount(prices.get("coolant loop, per kW"))
        yield bought(Part.COOLING, "coolant loop, per kW", ceil(room.liquid_kw), each, note=room.cooling)


def _management(network: NetworkPlan, prices: Mapping[str, PurchasePrice]) -> Iterable[BomLine]:
    ports = network.design.node_cables
    note = f"{ports} ports: each machine's own network and management controller, and each switch"
    count, each = network.design.switches, amount(prices.get("management switch"))
    yield bought(Part.MANAGEMENT, "management switch", count, each, note=note)
    yield bought(Part.MANAGEMENT, "management cable", ports, amount(prices.get("management cable")))
