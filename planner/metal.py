"""The plan of a stack on on-premises racks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

import planner.rules.metal  # noqa: F401
from catalogue.site import with_site_rows
from catalogue.whole import Catalogue
from planner.bom import Bom
from planner.cost.comparison import Comparison, against_cloud
from planner.cost.owned import LIFE_YEARS, OwnedCost, owned, people_for
from planner.datasets import plan_datasets
from planner.draft import registry
from planner.experiments import plan_database, plan_experiments
from planner.fabric.plan import plan_fabric
from planner.fabric.types import FabricPlan
from planner.facility.plan import inventory, plan_facility
from planner.forecast import GpuHour
from planner.gating import plan_gating
from planner.interconnect import Switching, pool_gates
from planner.metal_draft import MetalDraft
from planner.metal_types import MetalPlan
from planner.monitoring.plan import plan_monitoring
from planner.networks import plan_networks
from planner.pipelines import plan_pipelines
from planner.pools import plan_metal_pools, totals
from planner.procurement import Check, bill_checks, room_checks
from planner.purchase import plan_purchase
from planner.serving.gateway import plan_gateway
from planner.serving.plan import plan_services
from planner.serving.triton import plan_triton, replicas_by_pool
from planner.signatures import plan_signatures
from planner.site import asked_for_sensors, plan_site
from planner.stack import ownership, plan_queues, plan_supply
from planner.storage.plan import client_rates, plan_metal_storage
from planner.teams import plan_teams
from planner.tracking import has_mlflow, plan_tracking
from planner.workload_types import RunPlan
from planner.workloads import plan_runs, plan_sharing

if TYPE_CHECKING:
    from settings.model import MetalSettings
    from settings.workloads import TrainingRun

_UNKNOWN_READ_MB_PER_S = 1000.0


def plan_metal(settings: MetalSettings, shipped: Catalogue, today: date) -> MetalPlan:
    """The stack's numbers, and what every rule has to say about them."""
    draft = metal_draft(settings, shipped, today)
    gates = pool_gates(draft.pools.values(), _switching(draft.settings, draft.fabric))
    return MetalPlan(
        kubernetes_version=settings.platform.kubernetes_version,
        ownership=ownership(settings),
        supply=plan_supply(settings),
        signatures=plan_signatures(settings),
        charts=draft.charts,
        queues=plan_queues(settings, draft.pools.values()),
        teams=plan_teams(settings),
        totals=totals(draft.pools.values()),
        pools=draft.pools,
        gates=gates,
        measured=plan_gating(settings.training, draft.pools, gates, draft.runs.values(), draft.storage),
        datasets=draft.datasets,
        runs=draft.runs,
        experiments=draft.experiments,
        trial_database=plan_database(settings.training),
        tracking=plan_tracking(settings.training),
        pipelines=plan_pipelines(settings.training),
        services=draft.services,
        triton=draft.triton,
        sharing=plan_sharing(draft.pools, draft.runs, draft.services, draft.triton),
        gateway=draft.gateway,
        monitoring=draft.monitoring,
        fabric=draft.fabric,
        networks=draft.networks,
        storage=draft.storage,
        facility=draft.facility,
        bom=draft.bom,
        checklist=_checklist(draft),
        owned=draft.owned,
        cloud=_cloud(draft),
        site=draft.site,
        findings=registry.findings(draft, settings.waivers, today),
    )


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

    runs = planned(settings.training.runs)
    beside = replicas_by_pool(settings.serving.triton)
    nodes = client_rates(settings.storage, pools, rows)
    services = plan_services(settings.serving.services, pools, catalogue.models, read_mb_per_s, beside, nodes)
    triton = plan_triton(settings.serving.triton, pools, services, read_mb_per_s)
    gateway = plan_gateway(settings.serving, services, triton)
    queues = len(settings.scheduling.queues)
    return MetalDraft(
        settings=settings,
        catalogue=catalogue,
        site_problems=sited.problems,
        today=today,
        pools=pools,
        datasets=plan_datasets(settings.training, storage),
        runs=runs,
        experiments=plan_experiments(settings.training, planned),
        services=services,
        triton=triton,
        gateway=gateway,
        monitoring=plan_monitoring(
            settings.monitoring,
            pools,
            runs,
            services,
            queues,
            gateway,
            len(settings.training.experiments),
            tracked=has_mlflow(settings.training),
            pipelines=settings.training.pipelines is not None,
            controllers=asked_for_sensors(settings.inventory) if settings.inventory else 0,
        ),
        fabric=fabric,
        networks=networks,
        storage=storage,
        facility=facility,
        bom=bom,
        owned=cost,
        site=plan_site(settings, pools, storage.lnet if storage else None),
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
