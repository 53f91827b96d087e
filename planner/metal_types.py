"""What the planner returns about on-premises racks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.bom import Bom
from planner.cost.amounts import OwnedCost
from planner.cost.comparison import Comparison
from planner.fabric.near import Above
from planner.fabric.plan import FabricPlan, on_fabric
from planner.facility.plan import FacilityPlan
from planner.networks import NetworkPlan
from planner.pool_types import MetalPoolPlan
from planner.pools import totals
from planner.procurement import Check
from planner.site import SitePlan
from planner.slurm_types import SlurmPlan
from planner.storage.types import StoragePlan
from planner.types import Plan


@dataclass(frozen=True, kw_only=True)
class MetalPlan(Plan):
    """The plan of a stack on premises. `fabric` is None where no nodes join one or it cannot be built,
    `networks` are those beside it; `storage` is None where the row of its servers is not known, `cloud` where AWS rents
    no such nodes, and `site` where the stack file names no machines. `above` are switches over machines that are named.
    `slurm` is there where the stack file names pools for it.
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
    slurm: SlurmPlan | None = None

    @property
    def of_kubernetes(self) -> "MetalPlan":
        """The plan without Slurm's machines and what is for them alone: runs, gates, a fabric that only they join."""
        if self.slurm is None:
            return self
        names = {nodes.pool for nodes in self.slurm.nodes}
        machines = {host.name for nodes in self.slurm.nodes for host in nodes.hosts}
        pools = {name: pool for name, pool in self.pools.items() if name not in names}
        return replace(
            self,
            pools=pools,
            totals=totals(pools.values()),
            runs={name: run for name, run in self.runs.items() if run.pool not in names},
            measured={name: gate for name, gate in self.measured.items() if name not in names},
            above={name: switches for name, switches in self.above.items() if name not in machines},
            fabric=self.fabric if on_fabric(pools.values()) else None,
        )
