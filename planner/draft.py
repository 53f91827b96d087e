"""What the rules look at: the settings, the catalogue, and the numbers planned so far."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar

from catalogue.site import Problem
from catalogue.whole import Catalogue
from planner.bom import Bom
from planner.charts import aws_charts, metal_charts
from planner.cost.lines import Prices
from planner.cost.owned import OwnedCost
from planner.datasets import DatasetPlan
from planner.experiments import ExperimentPlan
from planner.fabric.near import Above
from planner.fabric.plan import FabricPlan
from planner.facility.plan import FacilityPlan
from planner.findings import Registry
from planner.monitoring.types import MonitoringPlan
from planner.networks import NetworkPlan
from planner.pool_types import AwsPoolPlan, MetalPoolPlan, PoolPlan
from planner.quotas import QuotaNeed
from planner.serving.gateway import GatewayPlan
from planner.site import SitePlan
from planner.stack import ApiEndpoint
from planner.storage.types import StoragePlan
from planner.types import Subnet
from planner.vpc import VpcPlan
from planner.workload_types import RunPlan, ServicePlan, TritonPlan
from settings.model import AwsSettings, MetalSettings, Settings


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A plan before its findings. `catalogue` has the site's rows in it, `site_problems` those that it could not take.

    What cannot be planned (its row is unknown) is missing from the maps.
    """

    hardware_key: ClassVar[str]
    """The key of a pool that names its hardware."""
    installs: ClassVar[Callable[[Any], tuple[str, ...]]]
    """What tells the charts of such a draft."""

    settings: Settings
    catalogue: Catalogue
    site_problems: tuple[Problem, ...]
    today: date
    pools: Mapping[str, PoolPlan]
    datasets: Mapping[str, DatasetPlan]
    runs: Mapping[str, RunPlan]
    experiments: Mapping[str, ExperimentPlan]
    benchmarks: Mapping[str, RunPlan]
    services: Mapping[str, ServicePlan]
    triton: Mapping[str, TritonPlan]
    storage: StoragePlan | None
    gateway: GatewayPlan | None
    monitoring: MonitoringPlan | None

    @property
    def kubernetes_pools(self) -> Mapping[str, PoolPlan]:
        """Pools whose nodes are the cluster's."""
        return self.pools

    @property
    def charts(self) -> tuple[str, ...]:
        """Charts that the stack installs, by name."""
        return type(self).installs(self)


@dataclass(frozen=True, kw_only=True)
class AwsDraft(Draft):
    """A draft of a stack on AWS."""

    hardware_key = "instanceType"
    installs = aws_charts

    settings: AwsSettings
    pools: Mapping[str, AwsPoolPlan]
    storage: StoragePlan
    endpoint: ApiEndpoint
    subnets: tuple[Subnet, ...]
    vpc: VpcPlan
    nat_zones: tuple[str, ...]
    prices: Prices
    quotas: tuple[QuotaNeed, ...]


@dataclass(frozen=True, kw_only=True)
class MetalDraft(Draft):
    """A draft of a stack on premises."""

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

    @property
    def slurms(self) -> Sequence[MetalPoolPlan]:
        """Pools whose machines are Slurm's; none where no machine is left for its controller."""
        system = any(pool.role == "system" for pool in self.pools.values())
        return [self.pools[name] for name in self.settings.slurm.pools if system and name in self.pools]

    @property
    def kubernetes_pools(self) -> Mapping[str, MetalPoolPlan]:
        return {name: pool for name, pool in self.pools.items() if name not in self.settings.slurm.pools}


registry = Registry()
"""All rules: importing `planner.rules` and `planner.rules.metal` fills it."""

rule, warning = registry.about(Draft)
aws_rule, aws_warning = registry.about(AwsDraft)
metal_rule, metal_warning = registry.about(MetalDraft)
"""What makes a rule of a function, about drafts of that type: one that refuses a stack, and one that warns."""
