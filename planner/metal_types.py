"""What the planner returns about on-premises racks; apart, as a stack on AWS need not load it."""

from collections.abc import Mapping
from dataclasses import dataclass

from planner.bom import Bom
from planner.cost.comparison import Comparison
from planner.cost.owned import OwnedCost
from planner.fabric.near import Above
from planner.fabric.plan import FabricPlan
from planner.facility.plan import FacilityPlan
from planner.networks import NetworkPlan
from planner.pool_types import MetalPoolPlan
from planner.procurement import Check
from planner.site import SitePlan
from planner.storage.types import StoragePlan
from planner.types import Plan


@dataclass(frozen=True, kw_only=True)
class MetalPlan(Plan):
    """The plan of a stack on on-premises racks. `fabric` is None where no nodes join one or it cannot be built,
    `networks` are those beside it; `storage` is None where the row of its servers is not known, `cloud` where AWS rents
    no such nodes, and `site` where the stack file names no machines. `above` are switches over machines that are named.
    """

    pools: Mapping[str, MetalPoolPlan]
    fabric: FabricPlan | None
    networks: tuple[NetworkPlan, ...]
    storage: StoragePlan | None
    facility: FacilityPlan
    bom: Bom
    checklist: tuple[Check, ...]
    owned: OwnedCost
    cloud: Comparison | None
    site: SitePlan | None
    above: Above
