"""What a stack in on-premises racks orders: its settings, pools, fabric and room as a bill of materials."""

from collections.abc import Mapping, Sequence

from catalogue.metal_types import Cooling, StorageServer
from catalogue.whole import Catalogue
from planner.bom import Bom
from planner.bom_metal import CableRuns, RoomOrder, metal_bom
from planner.fabric.plan import FabricPlan
from planner.facility.plan import FacilityPlan
from planner.networks import NetworkPlan
from planner.pool_types import MetalPoolPlan
from settings.model import MetalSettings


def plan_purchase(
    settings: MetalSettings,
    catalogue: Catalogue,
    pools: Mapping[str, MetalPoolPlan],
    fabric: FabricPlan | None,
    facility: FacilityPlan,
    networks: Sequence[NetworkPlan] = (),
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
        networks,
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
