"""The plan of a stack on premises."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

import planner.rules.metal  # noqa: F401
from catalogue.site import with_site_rows
from catalogue.whole import Catalogue
from planner.alike import numbers, workloads
from planner.bom import Bom
from planner.bom_metal import plan_purchase
from planner.cost.comparison import Comparison, against_cloud
from planner.cost.owned import LIFE_YEARS, OwnedCost, owned, people_for
from planner.draft import MetalDraft
from planner.fabric.near import switches_above
from planner.fabric.plan import FabricPlan, plan_fabric
from planner.facility.plan import inventory, plan_facility
from planner.forecast import GpuHour
from planner.interconnect import Switching
from planner.inventory import plan_site
from planner.metal_types import MetalPlan
from planner.networks import plan_networks
from planner.pools import plan_metal_pools, totals
from planner.procurement import Check, bill_checks, room_checks
from planner.slurm import plan_slurm
from planner.storage.plan import client_rates, plan_metal_storage
from planner.workload_types import RunPlan
from planner.workloads import plan_runs
from settings.model import MetalSettings
from settings.workloads import TrainingRun

_UNKNOWN_READ_MB_PER_S = 1000.0


def plan_metal(settings: MetalSettings, shipped: Catalogue, today: date) -> MetalPlan:
    """The stack's numbers, and what every rule has to say about them."""
    draft = metal_draft(settings, shipped, today)
    found = MetalPlan(
        **numbers(draft, MetalPlan, settings, today, _switching(settings, draft.fabric)),
        totals=totals(draft.pools.values()),
        checklist=_checklist(draft),
        cloud=_cloud(draft),
    )
    return replace(found, slurm=plan_slurm(settings, found)) if draft.slurms else found


def metal_draft(settings: MetalSettings, shipped: Catalogue, today: date) -> MetalDraft:
    """Plan pools, fabric, storage, room and workloads."""
    sited = with_site_rows(shipped, settings.catalogue.tables())
    catalogue = sited.catalogue
    pools = plan_metal_pools(settings.pools, catalogue.servers)
    rows = catalogue.storage_servers
    roce = settings.fabric.kind == "roce"
    storage = plan_metal_storage(settings.storage, settings.training, pools, catalogue.models, rows, roce=roce)
    read_mb_per_s = storage.read_gb_per_s * 1000 if storage and storage.read_gb_per_s else _UNKNOWN_READ_MB_PER_S
    fabric = plan_fabric(settings.fabric, pools, catalogue.switches)
    networks = plan_networks(settings, catalogue, pools, fabric)
    switches = [("switch", fabric.switch, fabric.growth.day_one.switches)] if fabric else []
    switches += [(f"{each.kind}-switch", each.switch, each.design.switches) for each in networks]
    facility = plan_facility(settings.facility, inventory(pools.values(), settings.storage, rows, switches))
    bom = plan_purchase(settings, catalogue, pools, fabric, facility, networks)
    gpus = totals(pools.values()).gpus
    cost = owned(bom.cost(), gpus=gpus, power_usd_per_year=facility.yearly_usd, people=people_for(gpus))
    price = gpu_hour(cost, bom)
    switching, failures = _switching(settings, fabric), settings.training.failures_per_1000_node_days

    def planned(wanted: Iterable[TrainingRun]) -> dict[str, RunPlan]:
        return plan_runs(wanted, pools, catalogue, storage, switching, price, failures)

    nodes = client_rates(settings.storage, pools, rows)
    site = plan_site(settings, pools, storage.lnet if storage else None)
    return MetalDraft(
        **workloads(
            settings, pools, catalogue.models, storage, planned, read_mb_per_s=read_mb_per_s, node_gb_per_s=nodes
        ),
        settings=settings,
        catalogue=catalogue,
        site_problems=sited.problems,
        today=today,
        fabric=fabric,
        networks=networks,
        facility=facility,
        bom=bom,
        owned=cost,
        site=site,
        above=switches_above(fabric, site, pools),
    )


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


def _checklist(draft: MetalDraft) -> tuple[Check, ...]:
    room, facility = draft.settings.facility, draft.facility
    checks = room_checks(
        planned_kw=facility.power.planned_kw,
        rooms_kw=room.cooling.capacity_kw,
        circuits=sum(rack.circuits for rack in facility.racks) * room.feeds,
        deliver_to=draft.settings.platform.site,
    )
    return (*bill_checks(draft.bom), *checks)


def _cloud(draft: MetalDraft) -> Comparison | None:
    nodes = [(pool.gpu, pool.gpus_per_node, pool.count) for pool in draft.pools.values() if pool.gpu]
    return against_cloud(draft.owned, nodes, draft.catalogue.instances.values())
