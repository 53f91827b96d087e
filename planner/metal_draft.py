"""What the rules about on-premises racks look at."""

from collections.abc import Mapping
from dataclasses import dataclass

from planner.bom import Bom
from planner.charts import metal_charts
from planner.cost.owned import OwnedCost
from planner.draft import Draft, registry
from planner.fabric.near import Above
from planner.fabric.types import FabricPlan
from planner.facility.types import FacilityPlan
from planner.networks import NetworkPlan
from planner.pool_types import MetalPoolPlan
from planner.site import SitePlan
from settings.model import MetalSettings


@dataclass(frozen=True, kw_only=True)
class MetalDraft(Draft):
    """A draft of a stack on on-premises racks."""

    hardware_key = "server"
    installs = metal_charts

    settings: MetalSettings
    pools: Mapping[str, MetalPoolPlan]
    fabric: FabricPlan | None
    networks: tuple[NetworkPlan, ...]
    facility: FacilityPlan
    bom: Bom
    owned: OwnedCost
    site: SitePlan | None
    above: Above


metal_rule = registry.about(MetalDraft)
