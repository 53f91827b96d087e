"""Cost tiers: what each costs for a GPU, and whether its parts fit into its total."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from catalogue.tiers import Tier
from planner.cost.amounts import Amount, total


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


def left_over(whole_usd: float, parts: Iterable[Amount]) -> Amount:
    """What of a total is left for everything else once some parts are paid; below zero the total cannot hold them.

    Of the dearest parts least is left, so `low` goes with the parts' `high`.
    """
    spent = total(parts)
    return Amount(usd=whole_usd - spent.usd, low=whole_usd - spent.high, high=whole_usd - spent.low)


def holds(whole_usd: float, parts: Iterable[Amount]) -> bool:
    """Whether a total can hold its parts, at the least that they may cost."""
    return left_over(whole_usd, parts).high >= 0
