"""What the rules look at: the settings, the catalogue, and the numbers planned so far."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from catalogue.types import Catalogue
from planner.findings import Registry
from planner.types import PoolPlan, Prices, RunPlan, ServicePlan, Subnet
from settings.model import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A plan before its findings."""

    settings: Settings
    catalogue: Catalogue
    today: date
    pools: Mapping[str, PoolPlan]
    subnets: tuple[Subnet, ...]
    runs: Mapping[str, RunPlan]
    services: Mapping[str, ServicePlan]
    prices: Prices


registry: Registry[Draft] = Registry()
"""All rules. Importing `planner.rules` fills it."""
