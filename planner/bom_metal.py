"""What a stack in on-premises racks orders: its pools, fabric, storage and room as a bill of materials."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil

from catalogue.metal_types import Cooling, Server, StorageServer
from catalogue.network_types import Generation, NicRole, of_role
from catalogue.optics import CableType
from catalogue.types import PurchasePrice
from catalogue.whole import Catalogue
from planner.bom import Bom, BomLine, Part, bought, included, spares
from planner.cost.amounts import Amount
from planner.fabric.cabling import Optics, Span, cable_for, optics
from planner.fabric.design import FabricDesign
from planner.fabric.plan import FabricPlan
from planner.facility.plan import FacilityPlan
from planner.networks import NetworkPlan
from planner.pool_types import MetalPoolPlan
from settings.facility import Facility
from settings.model import MetalSettings

_NODE_LEAF_M, _LEAF_SPINE_M = 5.0, 30.0
"""Lengths of the fabric's cables that nobody measured."""

_SPARE_PERCENT = 2.0
"""Of cards, cables, modules and drives in use. A missing one idles a node for as long as it is on order."""


def plan_purchase(
    settings: MetalSettings,
    catalogue: Catalogue,
    pools: Mapping[str, MetalPoolPlan],
    fabric: FabricPlan | None,
    facility: FacilityPlan,
    networks: Sequence[NetworkPlan] = (),
) -> Bom:
    """The bill of materials of the stack: everything that is bought, as far as its rows are known."""
    rows, prices, given = catalogue.storage_servers, catalogue.parts, settings.fabric.cable_lengths_m
    lengths_m = (given.node_to_leaf or _NODE_LEAF_M, given.leaf_to_spine or _LEAF_SPINE_M)
    beside = {kind: [each for each in networks if each.kind == kind] for kind in ("storage", "management")}
    return Bom(
        lines=(
            *_servers([(pool.server, pool.count) for pool in pools.values()]),
            *_stores([(rows[each.row], each.count) for each in settings.storage.servers if each.row in rows]),
            *(_fabric(fabric, prices, lengths_m) if fabric else ()),
            *(line for each in beside["storage"] for line in _storage_network(each, prices, lengths_m)),
            *_room(settings.facility, facility, prices),
            *(line for each in beside["management"] for line in _management(each, prices)),
        )
    )


def amount(price: PurchasePrice | None) -> Amount | None:
    """A purchase price as a sum of money."""
    return Amount(usd=price.usd, low=price.low, high=price.high) if price else None


def _servers(servers: Sequence[tuple[Server, int]]) -> Iterator[BomLine]:
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
    yield from _cards(servers)


def _cards(servers: Sequence[tuple[Server, int]]) -> Iterator[BomLine]:
    """Cards of the compute fabric, which come with the servers; the spare ones do not."""
    for server, count in servers:
        for group in of_role(server.nics, NicRole.COMPUTE):
            kept = spares(count * group.count, _SPARE_PERCENT)
            yield included(Part.INTERCONNECT, group.nic.name, count * group.count, server.name)
            yield bought(Part.INTERCONNECT, f"spare {group.nic.name}", 0, amount(group.nic.price), shelf=kept)


def _stores(stores: Sequence[tuple[StorageServer, int]]) -> Iterator[BomLine]:
    for store, count in stores:
        source = store.price.source if store.price else ""
        yield bought(Part.STORAGE, store.name, count, amount(store.price), note=source)
        drives = count * store.drives
        kept = spares(drives, _SPARE_PERCENT)
        where = f"{store.name}; order {kept} more as spares"
        yield included(Part.STORAGE, f"drive of {store.drive_tb:g} TB", drives, where)


def _fabric(
    fabric: FabricPlan, prices: Mapping[str, PurchasePrice], lengths_m: tuple[float, float]
) -> Iterator[BomLine]:
    design, generation = fabric.growth.day_one, fabric.cards.nic.generation
    tiers = {("leaf", "leaves"): design.leaves, ("spine", "spines"): design.spines, ("core", "cores"): design.cores}
    planes = f" on each of {design.planes} planes" if design.planes > 1 else ""
    note = f"{', '.join(f'{count} {names[count > 1]}' for names, count in tiers.items() if count)}{planes}"
    yield bought(Part.INTERCONNECT, fabric.switch.name, design.switches, amount(fabric.switch.price), note=note)
    yield from _joined(design, generation, fabric.optics, prices, lengths_m)


def _storage_network(
    network: NetworkPlan, prices: Mapping[str, PurchasePrice], lengths_m: tuple[float, float]
) -> Iterator[BomLine]:
    """Its switches, cables and modules, each called after the network."""
    design, generation, of = network.design, network.generation, " of the storage network"
    yield bought(Part.STORAGE, f"{network.switch.name}{of}", design.switches, amount(network.switch.price))
    counted = optics(design, switch_ports_per_cage=network.ports_per_cage)
    yield from _joined(design, generation, counted, prices, lengths_m, of)


def _joined(
    design: FabricDesign,
    generation: Generation,
    counted: Optics,
    prices: Mapping[str, PurchasePrice],
    lengths_m: tuple[float, float],
    of: str = "",
) -> Iterator[BomLine]:
    """Cables and modules of a network: the fabric's cables with their lengths, the others called after it."""
    near, far, share = _cables(design, generation, lengths_m)
    above = design.leaf_spine_cables + design.spine_core_cables
    for kind, count, what, length_m in (
        (near, design.node_cables, "machines to leaves" if of else "nodes to leaves", lengths_m[0]),
        (far, above, "between switches", lengths_m[1]),
    ):
        words = {"of": f"{of}, {what}"} if of else {"note": f"{what}, up to {length_m:g} m"}
        if count:
            yield _cabling(_name(kind, generation), count, prices, **words)
    ends = (counted.node_transceivers + counted.other_transceivers) * bool(near and near.transceivers)
    for side, count in (("card", ends), ("switch", ceil(counted.switch_transceivers * share))):
        if count:
            yield _cabling(f"{generation} {side} transceiver", count, prices, of=of)


def _cables(
    design: FabricDesign, generation: Generation, lengths_m: tuple[float, float]
) -> tuple[CableType | None, CableType | None, float]:
    """The kinds of cable from nodes to leaves and between switches, and the part of the switches' ports with fibre."""
    near = cable_for(Span.NODE_LEAF, generation, lengths_m[0])
    far = cable_for(Span.LEAF_SPINE, generation, lengths_m[1])
    above = 2 * (design.leaf_spine_cables + design.spine_core_cables)
    fibre = design.node_cables * bool(near and near.transceivers) + above * bool(far and far.transceivers)
    return near, far, fibre / (design.node_cables + above)


def _name(kind: CableType | None, generation: Generation) -> str:
    return f"{generation} {kind.kind if kind else 'unknown'} cable"


def _cabling(item: str, count: int, prices: Mapping[str, PurchasePrice], *, of: str = "", note: str = "") -> BomLine:
    """Cables or modules with their spares; what they are `of` is no part of the name that has the price."""
    kept = spares(count, _SPARE_PERCENT)
    return bought(Part.CABLING, f"{item}{of}", count, amount(prices.get(item)), shelf=kept, note=note)


def _room(room: Facility, plan: FacilityPlan, prices: Mapping[str, PurchasePrice]) -> Iterable[BomLine]:
    def line(part: Part, item: str, count: float, note: str = "") -> BomLine:
        return bought(part, item, count, amount(prices.get(item)), note=note)

    racks = len(plan.racks)
    yield line(Part.RACK, "rack", racks)
    yield line(Part.RACK, "installation, per rack", racks)
    yield line(Part.POWER, "rack PDU", room.power_strips(racks, plan.circuits))
    if room.ups and room.ups.kwh:
        yield line(Part.POWER, "battery, per kWh", room.ups.kwh)
    if Cooling(room.cooling.kind) is Cooling.AIR:
        yield included(Part.COOLING, "air handling", 1, "the room")
    else:
        yield line(Part.COOLING, "coolant loop, per kW", ceil(plan.heat.liquid_kw), room.cooling.kind)


def _management(network: NetworkPlan, prices: Mapping[str, PurchasePrice]) -> Iterable[BomLine]:
    ports, up = network.design.node_cables, network.cables - network.design.node_cables
    note = f"{ports} ports: each machine's own network and controller, each switch and power strip; {up} uplinks"
    count, each = network.design.switches, amount(prices.get("management switch"))
    yield bought(Part.MANAGEMENT, "management switch", count, each, note=note)
    yield bought(Part.MANAGEMENT, "management cable", network.cables, amount(prices.get("management cable")))
