"""What the rules look at: a plan before it is judged, with the settings and the catalogue that it was made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import ClassVar

from catalogue.site import Problem
from catalogue.whole import Catalogue
from planner.findings import Registry
from planner.metal_types import MetalPlan
from planner.pool_types import MetalPoolPlan, PoolPlan
from planner.types import AwsPlan, Plan
from planner.workload_types import RunPlan
from settings.model import AwsSettings, MetalSettings, Settings


@dataclass(frozen=True, kw_only=True)
class Draft(Plan):
    """A plan without findings. `catalogue` has the site's rows in it, `site_problems` those that it could not take."""

    hardware_key: ClassVar[str]
    """The key of a pool that names its hardware."""

    settings: Settings
    catalogue: Catalogue
    site_problems: tuple[Problem, ...]
    now: datetime
    benchmarks: Mapping[str, RunPlan]

    @property
    def today(self) -> date:
        """The day, in UTC."""
        return self.now.date()

    @property
    def kubernetes_pools(self) -> Mapping[str, PoolPlan]:
        """Pools whose nodes are the cluster's."""
        return self.pools


@dataclass(frozen=True, kw_only=True)
class AwsDraft(AwsPlan, Draft):
    """A draft of a stack on AWS."""

    hardware_key = "instanceType"

    settings: AwsSettings


@dataclass(frozen=True, kw_only=True)
class MetalDraft(MetalPlan, Draft):
    """A draft of a stack on premises."""

    hardware_key = "server"

    settings: MetalSettings

    @property
    def slurms(self) -> Sequence[MetalPoolPlan]:
        """Pools whose machines are Slurm's; none where no machine is left for its controller."""
        system = any(pool.role == "system" for pool in self.pools.values())
        return [self.pools[name] for name in self.settings.slurm.pools if system and name in self.pools]

    @property
    def today(self) -> date:
        """The day, in UTC."""
        return self.now.date()

    @property
    def kubernetes_pools(self) -> Mapping[str, MetalPoolPlan]:
        return {name: pool for name, pool in self.pools.items() if name not in self.settings.slurm.pools}


registry = Registry()
"""All rules: importing `planner.rules` and `planner.rules.metal` fills it."""

rule, warning = registry.about(Draft)
aws_rule, aws_warning = registry.about(AwsDraft)
metal_rule, metal_warning = registry.about(MetalDraft)
"""What makes a rule of a function, about drafts of that type: one that refuses a stack, and one that warns."""
