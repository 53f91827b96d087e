"""Cost tiers: what each costs for a GPU."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from catalogue.tiers import Tier


@dataclass(frozen=True, kw_only=True)
class TierCost:
    """A tier beside the others. `times_cheapest` is its price for a GPU over that of the cheapest tier."""

    name: str
    gpus: int
    usd: float
    usd_per_gpu: float
    times_cheapest: float
    dearest: bool


def tier_costs(tiers: Iterable[Tier]) -> Mapping[str, TierCost]:
    """The tiers by name, with their price for each GPU."""
    each = list(tiers)
    prices = [tier.usd_per_gpu for tier in each]
    return {
        tier.name: TierCost(
            name=tier.name,
            gpus=tier.gpus,
            usd=tier.usd,
            usd_per_gpu=tier.usd_per_gpu,
            times_cheapest=tier.usd_per_gpu / min(prices),
            dearest=tier.usd_per_gpu == max(prices),
        )
        for tier in each
    }
