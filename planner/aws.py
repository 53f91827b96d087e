"""The plan of a stack on AWS."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime

from catalogue.regions import is_recorded
from catalogue.site import with_site_rows
from catalogue.versions import (
    CERT_MANAGER,
    CHARTS,
    EXTERNAL_SECRETS,
    FLUENT_BIT,
    KARPENTER,
    KEDA,
    KUBE_PROMETHEUS_STACK,
    KYVERNO,
    STANDARD_SUPPORT_ENDS,
    TRAEFIK,
    TRAINING_OPERATOR,
)
from catalogue.whole import Catalogue
from planner.addressing import FSX_ADDRESSES, existing_subnets, subnets
from planner.alike import alike
from planner.bom import aws_bom
from planner.cost.amounts import Prices
from planner.cost.stack import Around, fsx_service, stack_prices
from planner.draft import AwsDraft
from planner.external_secrets import plan_external_secrets
from planner.keeper import plan_keeper
from planner.monitoring.types import MonitoringPlan
from planner.nodes import is_scaled
from planner.pool_types import AwsPoolPlan
from planner.pools import aws_totals, plan_aws_pools
from planner.procurement import QuotaNeed, bill_checks, block_checks, quota_checks, quota_needs
from planner.serving.plan import replicas_by_pool
from planner.serving.replicas import always_nodes
from planner.stack import (
    api_endpoint,
    aws_deployment,
    cold,
    file_system,
    plan_sources,
)
from planner.storage.plan import fsx_client_rates, plan_aws_storage
from planner.supply import aws_charts, plan_cache
from planner.teams import plan_home
from planner.types import Subnet
from planner.vpc import VpcPlan, plan_vpc, traffic
from planner.workload_types import RunPlan
from planner.workloads import plan_runs
from settings.model import AwsSettings
from settings.workloads import TrainingRun


def aws_draft(settings: AwsSettings, shipped: Catalogue, now: datetime) -> AwsDraft:
    """Plan pools, network, workloads and prices."""
    today = now.date()
    sited = with_site_rows(shipped, settings.catalogue.tables())
    catalogue = sited.catalogue
    platform, lustre = settings.platform, settings.storage.lustre
    pools = plan_aws_pools(
        settings.pools,
        catalogue.instances,
        len(platform.zones),
        today,
        lustre_efa=lustre.efa,
        apart=platform.network.pod_cidr is not None,
        prefixes=platform.network.prefix_delegation,
        grouped=bool(platform.network.pod_groups),
    )
    nat_zones = _nat_zones(settings)
    vpc = plan_vpc(settings)
    storage = plan_aws_storage(lustre, settings.training, pools, catalogue.models)
    failures = settings.training.failures_per_1000_node_days

    def planned(wanted: Iterable[TrainingRun]) -> dict[str, RunPlan]:
        return plan_runs(wanted, pools, catalogue, storage, failures_per_1000_node_days=failures)

    rate, nodes = storage.read_gb_per_s * 1000, fsx_client_rates(lustre, pools)
    both = alike(settings, sited, now, pools, storage, planned, read_mb_per_s=rate, node_gb_per_s=nodes)
    always = always_nodes(both["services"], pools, replicas_by_pool(settings.serving.triton))
    prices = _prices(settings, catalogue, pools, vpc, both["monitoring"], today, always)
    quotas, bom = _quotas(settings, pools, vpc), aws_bom(pools.values(), prices, _software(settings))
    draft = AwsDraft(
        **both,
        deployment=aws_deployment(settings),
        endpoint=api_endpoint(platform),
        subnets=_subnets(settings, pools, nat_zones, vpc),
        vpc=vpc,
        nat_zones=nat_zones,
        file_system=file_system(settings),
        home=plan_home(settings),
        block=settings.storage.block,
        checkpoint_days=settings.storage.object_store.checkpoint_days,
        cold_checkpoints=cold(settings),
        purpose_buckets=settings.storage.object_store.buckets,
        sources=plan_sources(settings),
        totals=aws_totals(pools.values()),
        prices=prices,
        spending=settings.budget.alerts,
        keeper=plan_keeper(settings, pools, prices),
        external_secrets=plan_external_secrets(settings),
        repositories=settings.registry.repositories if settings.registry else (),
        cache=(),
        quotas=quotas,
        bom=bom,
        checklist=(*bill_checks(bom), *quota_checks(quotas), *block_checks(_blocks(settings))),
    )
    draft = replace(draft, charts=aws_charts(draft))
    return replace(draft, cache=plan_cache(draft))


def _subnets(
    settings: AwsSettings, pools: Mapping[str, AwsPoolPlan], nat_zones: tuple[str, ...], vpc: VpcPlan
) -> tuple[Subnet, ...]:
    """The stack's own subnets, or those of the VPC that it is put into."""
    platform = settings.platform
    placed, home = pools.values(), settings.storage.home is not None
    if platform.network.existing:
        return existing_subnets(platform.network.existing.subnets, len(platform.zones), placed, vpc, home=home)
    return subnets(platform.vpc_cidr, platform.zones, platform.gpu_zone, placed, nat_zones, vpc, home=home)


def _software(settings: AwsSettings) -> list[tuple[str, str]]:
    """What is installed, with its version: all of it costs nothing."""
    left_out = [] if settings.monitoring else [KUBE_PROMETHEUS_STACK, FLUENT_BIT]
    left_out += [] if settings.serving.gateway else [CERT_MANAGER, TRAEFIK]
    left_out += [] if any(each.scale_to_zero for each in settings.serving.services) else [KEDA]
    left_out += [] if settings.external_secrets else [EXTERNAL_SECRETS]
    left_out += [] if is_scaled(settings.pools) else [KARPENTER]
    left_out += [] if settings.supply.signatures else [KYVERNO]
    charts = [(chart.name, chart.version) for chart in CHARTS.values() if chart not in left_out]
    return [("Kubernetes", settings.platform.kubernetes_version), *charts, ("training-operator", TRAINING_OPERATOR)]


def _blocks(settings: AwsSettings) -> list[tuple[str, str, date, date]]:
    return [(pool.name, block.id, block.start, block.end) for pool in settings.pools for block, _ in pool.booked]


def _nat_zones(settings: AwsSettings) -> tuple[str, ...]:
    """Zones with a NAT gateway of the stack's, first the GPU nodes' own: their traffic costs more through another."""
    platform = settings.platform
    if platform.network.nat == "none" or platform.network.existing:
        return ()
    others = (zone for zone in platform.zones if zone != platform.gpu_zone)
    return (platform.gpu_zone, *(others if platform.network.nat == "per-zone" else ()))


def _prices(
    settings: AwsSettings,
    catalogue: Catalogue,
    pools: Mapping[str, AwsPoolPlan],
    vpc: VpcPlan,
    monitoring: MonitoringPlan | None,
    today: date,
    always: Mapping[str, int],
) -> Prices:
    lustre = settings.storage.lustre
    supported_until = STANDARD_SUPPORT_ENDS.get(settings.platform.kubernetes_version)
    around = Around(
        traffic=traffic(settings, plan_home(settings)),
        nat_gateways=len(_nat_zones(settings)),
        endpoint_interfaces=vpc.endpoint_interfaces,
        fsx=fsx_service(lustre.deployment_type, lustre.throughput_mbps_per_tib),
        fsx_gib=lustre.capacity_gib,
        volume_gib=monitoring.disk_gib + monitoring.alerts_disk_gib if monitoring else 0,
        extended_support=supported_until is not None and supported_until < today,
        load_balancers=1 if settings.serving.gateway else 0,
    )
    region = settings.platform.region
    return replace(
        stack_prices(pools.values(), around, catalogue.services, catalogue.rates, always),
        region=region,
        offers_recorded=is_recorded(region, catalogue.offerings),
    )


def _quotas(settings: AwsSettings, pools: Mapping[str, AwsPoolPlan], vpc: VpcPlan) -> tuple[QuotaNeed, ...]:
    return quota_needs(
        pools.values(),
        zones=len(settings.platform.zones),
        own_vpc=vpc.existing is None,
        nat_gateways=len(_nat_zones(settings)),
        endpoints=len(vpc.endpoints),
        endpoint_interfaces=vpc.endpoint_interfaces,
        fsx_type=settings.storage.lustre.deployment_type,
        fsx_gib=settings.storage.lustre.capacity_gib,
        fsx_interfaces=FSX_ADDRESSES,
        home_interfaces=len(settings.platform.zones) if settings.storage.home else 0,
    )
