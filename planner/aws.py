"""The plan of a stack on AWS."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING

from catalogue.site import with_site_rows
from catalogue.types import Catalogue
from catalogue.versions import CHARTS, STANDARD_SUPPORT_ENDS, TRAINING_OPERATOR
from planner.addressing import FSX_ADDRESSES, subnets
from planner.bom_aws import aws_bom
from planner.cost.lines import Prices
from planner.cost.stack import Around, Purchase, fsx_service, stack_prices
from planner.draft import AwsDraft, registry
from planner.interconnect import pool_gates
from planner.pools import aws_totals, plan_aws_pools
from planner.procurement import bill_checks, block_checks, quota_checks
from planner.quotas import Fleet, QuotaNeed, quota_needs
from planner.storage.plan import plan_aws_storage
from planner.types import AwsPlan, AwsPoolPlan
from planner.workloads import plan_runs, plan_services, plan_sharing

if TYPE_CHECKING:
    from settings.model import AwsSettings


def plan_aws(settings: AwsSettings, shipped: Catalogue, today: date) -> AwsPlan:
    """The stack's numbers, and what every rule has to say about them."""
    draft = aws_draft(settings, shipped, today)
    bom = aws_bom(draft.pools.values(), draft.prices, _software(settings))
    return AwsPlan(
        totals=aws_totals(draft.pools.values()),
        subnets=draft.subnets,
        nat_zones=_nat_zones(settings),
        pools=draft.pools,
        gates=pool_gates(draft.pools.values()),
        runs=draft.runs,
        services=draft.services,
        sharing=plan_sharing(draft.pools, draft.runs, draft.services),
        storage=draft.storage,
        prices=draft.prices,
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
    pools = plan_aws_pools(settings.pools, catalogue.instances, today)
    nat_gateways = len(_nat_zones(settings))
    storage = plan_aws_storage(lustre, settings.training.runs, pools, catalogue.models)
    read_mb_per_s = storage.read_gb_per_s * 1000
    return AwsDraft(
        settings=settings,
        catalogue=catalogue,
        site_problems=sited.problems,
        today=today,
        pools=pools,
        subnets=subnets(platform.vpc_cidr, platform.zones, platform.gpu_zone, pools.values()),
        runs=plan_runs(settings.training.runs, pools, catalogue.models, storage),
        services=plan_services(settings.serving.services, pools, catalogue.models, read_mb_per_s),
        storage=storage,
        prices=_prices(settings, catalogue, pools, nat_gateways, today),
        quotas=_quotas(settings, pools, nat_gateways),
    )


def _software(settings: AwsSettings) -> list[tuple[str, str]]:
    """What is installed, with its version: all of it costs nothing."""
    charts = [(chart.name, chart.version) for chart in CHARTS.values()]
    return [("Kubernetes", settings.platform.kubernetes_version), *charts, ("training-operator", TRAINING_OPERATOR)]


def _blocks(settings: AwsSettings) -> list[tuple[str, str, date, date]]:
    booked = ((pool.name, pool.reservation) for pool in settings.pools if pool.reservation)
    return [(name, block.id, block.start, block.end) for name, block in booked]


def _nat_zones(settings: AwsSettings) -> tuple[str, ...]:
    """Zones with a NAT gateway: the GPU nodes' own, whose traffic would cost more through another."""
    return (settings.platform.gpu_zone,)


def _prices(
    settings: AwsSettings, catalogue: Catalogue, pools: Mapping[str, AwsPoolPlan], nat_gateways: int, today: date
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
        extended_support=supported_until is not None and supported_until < today,
    )
    return stack_prices(purchases, around, catalogue.services, catalogue.rates)


def _quotas(settings: AwsSettings, pools: Mapping[str, AwsPoolPlan], nat_gateways: int) -> tuple[QuotaNeed, ...]:
    fleets = [
        Fleet(
            instance=pools[pool.name].instance,
            count=pool.count,
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
