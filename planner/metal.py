"""The plan of a stack on premises."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

import planner.rules.metal  # noqa: F401
from catalogue.site import with_site_rows
from catalogue.whole import Catalogue
from planner.alike import alike
from planner.bom import Bom
from planner.bom_metal import plan_purchase
from planner.cost.amounts import LIFE_YEARS, OwnedCost, owned, people_for
from planner.cost.comparison import against_cloud
from planner.draft import MetalDraft
from planner.fabric.near import switches_above
from planner.fabric.plan import FabricPlan, plan_fabric
from planner.facility.plan import FacilityPlan, inventory, plan_facility
from planner.facility.racks import outlets
from planner.forecast import GpuHour
from planner.interconnect import Switching
from planner.inventory import plan_site
from planner.networks import NetworkPlan, plan_networks
from planner.pool_types import MetalPoolPlan
from planner.pools import plan_metal_pools, totals
from planner.procurement import Check, bill_checks, room_checks
from planner.slurm import plan_slurm
from planner.storage.plan import client_rates, plan_metal_storage
from planner.supply import metal_charts
from planner.workload_types import RunPlan
from planner.workloads import plan_runs
from settings.facility import MOST_RACKS
from settings.model import MetalSettings
from settings.workloads import TrainingRun

_UNKNOWN_READ_MB_PER_S = 1000.0


def metal_draft(settings: MetalSettings, shipped: Catalogue, now: datetime) -> MetalDraft:
    """Plan pools, fabric, storage, room and workloads."""
    sited = with_site_rows(shipped, settings.catalogue.tables())
    catalogue = sited.catalogue
    pools = plan_metal_pools(settings.pools, catalogue.servers)
    rows = catalogue.storage_servers
    roce = settings.fabric.kind == "roce"
    storage = plan_metal_storage(settings.storage, settings.training, pools, catalogue.models, rows, roce=roce)
    read_mb_per_s = storage.read_gb_per_s * 1000 if storage and storage.read_gb_per_s else _UNKNOWN_READ_MB_PER_S
    fabric = plan_fabric(settings.fabric, pools, catalogue.switches)
    networks, facility = _room(settings, catalogue, pools, fabric)
    bom = plan_purchase(settings, catalogue, pools, fabric, facility, networks)
    sums = totals(pools.values())
    people = people_for(sums.gpus)
    cost = owned(bom.cost(), gpus=sums.gpus, power_usd_per_year=facility.yearly_usd, people=people)
    price = gpu_hour(cost, bom)
    switching, failures = _switching(settings, fabric), settings.training.failures_per_1000_node_days

    def planned(wanted: Iterable[TrainingRun]) -> dict[str, RunPlan]:
        return plan_runs(wanted, pools, catalogue, storage, switching, price, failures)

    site = plan_site(settings, pools, storage.lnet if storage else None)
    rented = [(pool.gpu, pool.gpus_per_node, pool.count) for pool in pools.values() if pool.gpu]
    draft = MetalDraft(
        **alike(
            settings,
            sited,
            now,
            pools,
            storage,
            planned,
            read_mb_per_s=read_mb_per_s,
            node_gb_per_s=client_rates(settings.storage, pools, rows),
            switching=switching,
        ),
        totals=sums,
        fabric=fabric,
        networks=networks,
        facility=facility,
        bom=bom,
        checklist=_checklist(settings, facility, bom),
        owned=cost,
        cloud=against_cloud(cost, rented, catalogue.instances.values()),
        site=site,
        above=switches_above(fabric, site, pools),
    )
    draft = replace(draft, charts=metal_charts(draft))
    return replace(draft, slurm=plan_slurm(settings, draft)) if draft.slurms else draft


def _room(
    settings: MetalSettings, catalogue: Catalogue, pools: Mapping[str, MetalPoolPlan], fabric: FabricPlan | None
) -> tuple[tuple[NetworkPlan, ...], FacilityPlan]:
    """Networks and racks: racks' power strips have ports on switches, which may take a further rack."""
    room, strips = settings.facility, -1
    while True:
        networks = plan_networks(settings, catalogue, pools, fabric, max(0, strips))
        switches = [("switch", fabric.switch, fabric.growth.day_one.switches)] if fabric else []
        switches += [(f"{each.kind}-switch", each.switch, each.design.switches) for each in networks]
        facility = plan_facility(room, inventory(pools.values(), settings.storage, catalogue.storage_servers, switches))
        needed = room.power_strips(min(len(facility.racks), MOST_RACKS), facility.circuits)
        if needed <= strips:
            return networks, facility
        strips = needed


def _switching(settings: MetalSettings, fabric: FabricPlan | None) -> Switching:
    over = fabric.oversubscription if fabric else settings.fabric.oversubscription
    return Switching(sharp=settings.fabric.sharp, oversubscription=over)


def gpu_hour(cost: OwnedCost, bom: Bom) -> GpuHour | None:
    """An hour of a GPU that works all the time; None where nothing that was bought has a price."""
    if cost.hourly_per_gpu is None or not cost.purchase.usd:
        return None
    missing = ", without what has no price" if bom.unpriced else ""
    basis = f"purchase over {LIFE_YEARS} years, power, staff and support{missing}"
    return GpuHour(usd=cost.hourly_per_gpu.usd, basis=basis)


def _checklist(settings: MetalSettings, facility: FacilityPlan, bom: Bom) -> tuple[Check, ...]:
    room = settings.facility
    checks = room_checks(
        planned_kw=facility.power.planned_kw,
        rooms_kw=room.cooling.capacity_kw,
        circuits=sum(rack.circuits for rack in facility.racks) * room.feeds,
        outlets=outlets(facility.machines, room.circuit),
        deliver_to=settings.platform.site,
    )
    return (*bill_checks(bom), *checks)
