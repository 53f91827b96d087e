"""Settings and catalogue in, numbers and findings out."""

from datetime import date

import planner.rules  # noqa: F401
from catalogue.tables import SHIPPED
from catalogue.types import Catalogue
from planner.addressing import subnets
from planner.draft import Draft, registry
from planner.pools import plan_pools, totals
from planner.prices import plan_prices
from planner.types import Plan
from planner.workloads import plan_runs, plan_services
from settings.model import Settings

__all__ = ["Plan", "plan"]


def plan(settings: Settings, *, catalogue: Catalogue = SHIPPED, today: date | None = None) -> Plan:
    """Plan an AWS stack. `today` decides about waivers and ends of support; the default is the current day.

    Never raises for a stack that cannot work: that is a finding. Raises TypeError on a platform other than AWS.
    """
    day = today or date.today()
    platform, lustre = settings.aws, settings.storage.lustre
    pools = plan_pools(settings.pools, catalogue.instances)
    nat_zones = (platform.gpu_zone,)
    draft = Draft(
        settings=settings,
        catalogue=catalogue,
        today=day,
        pools=pools,
        subnets=subnets(platform.vpc_cidr, platform.zones, platform.gpu_zone, pools.values()),
        runs=plan_runs(settings.training.runs, pools),
        services=plan_services(settings.serving.services, pools, catalogue.models, lustre),
        prices=plan_prices(settings.pools, lustre, len(nat_zones), catalogue.instances, catalogue.services),
    )
    return Plan(
        totals=totals(pools.values()),
        subnets=draft.subnets,
        nat_zones=nat_zones,
        pools=draft.pools,
        runs=draft.runs,
        services=draft.services,
        prices=draft.prices,
        findings=registry.findings(draft, settings.waivers, day),
    )
