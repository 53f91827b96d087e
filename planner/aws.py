"""The plan of a stack on AWS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from catalogue.regions import is_recorded
from catalogue.site import with_site_rows
from catalogue.versions import (
    CHARTS,
    FLUENT_BIT,
    KUBE_PROMETHEUS_STACK,
    STANDARD_SUPPORT_ENDS,
    TRAINING_OPERATOR,
)
from catalogue.whole import Catalogue
from planner.addressing import FSX_ADDRESSES, subnets
from planner.bom_aws import aws_bom
from planner.cost.lines import Prices
from planner.cost.stack import Around, Purchase, fsx_service, stack_prices
from planner.datasets import plan_datasets
from planner.draft import AwsDraft, registry
from planner.gating import plan_gating
from planner.interconnect import pool_gates
from planner.keeper import plan_keeper
from planner.monitoring.plan import plan_monitoring
from planner.monitoring.types import MonitoringPlan
from planner.pool_types import AwsPoolPlan
from planner.pools import aws_totals, plan_aws_pools
from planner.procurement import bill_checks, block_checks, quota_checks
from planner.quotas import Fleet, QuotaNeed, quota_needs
from planner.serving.plan import plan_services
from planner.serving.triton import plan_triton, replicas_by_pool
from planner.stack import api_endpoint, aws_deployment, file_system, ownership, plan_queues, plan_sources, spending
from planner.storage.plan import fsx_client_rates, plan_aws_storage
from planner.types import AwsPlan
from planner.workloads import plan_runs, plan_sharing

if TYPE_CHECKING:
    from settings.model import AwsSettings


def plan_aws(settings: AwsSettings, shipped: Catalogue, today: date) -> AwsPlan:
    """The stack's numbers, and what every rule has to say about them."""
    draft = aws_draft(settings, shipped, today)
    bom = aws_bom(draft.pools.values(), draft.prices, _software(settings))
    gates = pool_gates(draft.pools.values())
    return AwsPlan(
        kubernetes_version=settings.platform.kubernetes_version,
        ownership=ownership(settings),
        deployment=aws_deployment(settings),
        endpoint=draft.endpoint,
        file_system=file_system(settings),
        checkpoint_days=settings.storage.object_store.checkpoint_days,
        queues=plan_queues(settings, draft.pools.values()),
        totals=aws_totals(draft.pools.values()),
        subnets=draft.subnets,
        nat_zones=_nat_zones(settings),
        pools=draft.pools,
        gates=gates,
        measured=plan_gating(settings.training, draft.pools, gates, draft.runs.values(), draft.storage),
        sources=plan_sources(settings),
        datasets=draft.datasets,
        runs=draft.runs,
        services=draft.services,
        triton=draft.triton,
        sharing=plan_sharing(draft.pools, draft.runs, draft.services, draft.triton),
        monitoring=draft.monitoring,
        storage=draft.storage,
        prices=draft.prices,
        spending=spending(settings),
        keeper=plan_keeper(settings, draft.pools, draft.prices),
        quotas=draft.quotas,
        bom=bom,
        checklist=(*bill_checks(bom), *quota_checks(draft.quotas), *block_checks(_blocks(settings))),
        findings=registry.findings(draft, settings.waivers, today),
    )


def aws_draft(settings: AwsSettings, shipped: Catalogue, today: date) -> AwsDraft:
    """Plan pools, network, workloads and prices."""
    sited = with_site_rows(shipped, settings.catalogue.tables())
    catalogue = sited.catalogue
    platform, lustre = settings.platform, settings.storage.lustre
    pools = plan_aws_pools(settings.pools, catalogue.instances, len(platform.zones), today)
    nat_gateways = len(_nat_zones(settings))
    storage = plan_aws_storage(lustre, settings.training, pools, catalogue.models)
    runs = plan_runs(
        settings.training.runs,
        pools,
        catalogue,
        storage,
        failures_per_1000_node_days=settings.training.failures_per_1000_node_days,
    )
    read_mb_per_s = storage.read_gb_per_s * 1000
    beside = replicas_by_pool(settings.serving.triton)
    nodes = fsx_client_rates(lustre, pools)
    services = plan_services(settings.serving.services, pools, catalogue.models, read_mb_per_s, beside, nodes)
    monitoring = plan_monitoring(settings.monitoring, pools, runs, services, len(settings.scheduling.queues))
    return AwsDraft(
        settings=settings,
        catalogue=catalogue,
        site_problems=sited.problems,
        today=today,
        endpoint=api_endpoint(platform),
        pools=pools,
        subnets=subnets(platform.vpc_cidr, platform.zones, platform.gpu_zone, pools.values()),
        datasets=plan_datasets(settings.training, storage),
        runs=runs,
        services=services,
        triton=plan_triton(settings.serving.triton, pools, services, read_mb_per_s),
        storage=storage,
        monitoring=monitoring,
        prices=_prices(settings, catalogue, pools, nat_gateways, monitoring, today),
        quotas=_quotas(settings, pools, nat_gateways),
    )


def _software(settings: AwsSettings) -> list[tuple[str, str]]:
    """What is installed, with its version: all of it costs nothing."""
    left_out = () if settings.monitoring else (KUBE_PROMETHEUS_STACK, FLUENT_BIT)
    charts = [(chart.name, chart.version) for chart in CHARTS.values() if chart not in left_out]
    return [("Kubernetes", settings.platform.kubernetes_version), *charts, ("training-operator", TRAINING_OPERATOR)]


def _blocks(settings: AwsSettings) -> list[tuple[str, str, date, date]]:
    booked = ((pool.name, pool.reservation) for pool in settings.pools if pool.reservation)
    return [(name, block.id, block.start, block.end) for name, block in booked]


def _nat_zones(settings: AwsSettings) -> tuple[str, ...]:
    """Zones with a NAT gateway: the GPU nodes' own, whose traffic would cost more through another."""
    return (settings.platform.gpu_zone,)


def _prices(
    settings: AwsSettings,
    catalogue: Catalogue,
    pools: Mapping[str, AwsPoolPlan],
    nat_gateways: int,
    monitoring: MonitoringPlan | None,
    today: date,
) -> Prices:
    lustre = settings.storage.lustre
    supported_until = STANDARD_SUPPORT_ENDS.get(settings.platform.kubernetes_version)
    purchases = [
        Purchase(
            pool=pool.name,
            role=pool.role,
            instance=pools[pool.name].instance,
            count=pool.count,
            usage=pools[pool.name].usage,
            root_volume_gib=pool.root_volume_gib,
            block=(pool.reservation.start, pool.reservation.end) if pool.reservation else None,
        )
        for pool in settings.pools
        if pool.name in pools
    ]
    around = Around(
        nat_gateways=nat_gateways,
        fsx=fsx_service(lustre.deployment_type, lustre.throughput_mbps_per_tib),
        fsx_gib=lustre.capacity_gib,
        volume_gib=monitoring.disk_gib + monitoring.alerts_disk_gib if monitoring else 0,
        extended_support=supported_until is not None and supported_until < today,
    )
    region = settings.platform.region
    return replace(
        stack_prices(purchases, around, catalogue.services, catalogue.rates),
        region=region,
        offers_recorded=is_recorded(region, catalogue.offerings),
    )


def _quotas(settings: AwsSettings, pools: Mapping[str, AwsPoolPlan], nat_gateways: int) -> tuple[QuotaNeed, ...]:
    fleets = [
        Fleet(
            instance=pools[pool.name].instance,
            count=pool.count,
            surge=pools[pool.name].surge,
            usage=pools[pool.name].usage,
            interfaces=pools[pool.name].interfaces_per_node,
            root_volume_gib=pool.root_volume_gib,
        )
        for pool in settings.pools
        if pool.name in pools
    ]
    return quota_needs(
        fleets,
        zones=len(settings.platform.zones),
        nat_gateways=nat_gateways,
        fsx_type=settings.storage.lustre.deployment_type,
        fsx_gib=settings.storage.lustre.capacity_gib,
        fsx_interfaces=FSX_ADDRESSES,
    )
