"""First guesses of cost: tiers of racks for a GPU, and ways to learn on a small cluster."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from catalogue.tiers import Tier
from catalogue.types import Price, Rate, UsageClass
from catalogue.units import HOURS_PER_MONTH
from planner.cost.amounts import NOTHING, Amount
from planner.cost.stack import Around, stack_prices
from planner.pool_types import AwsPoolPlan

COMMODITY = Amount(usd=750, low=500, high=1000)
"""A second-hand workstation with a consumer GPU and 10GbE, bought once; approximate."""


@dataclass(frozen=True, kw_only=True)
class Lab:
    """A way to have a lab: what is bought, what an hour of use costs, and what a month costs at so many hours."""

    name: str
    purchase: Amount
    hourly: Amount
    monthly: Amount
    gpus: int
    about: str


def labs(
    gpu: AwsPoolPlan,
    system: AwsPoolPlan,
    around: Around,
    services: Mapping[str, Price],
    rates: Mapping[str, Rate],
    *,
    hours_per_month: float,
) -> tuple[Lab, ...]:
    """The four ways. A cloud lab costs more than its GPU: cluster, NAT, system nodes and storage stand beside it.

    The cloud lab is destroyed after use, so that only its hours count. The mixture has its control plane on a machine
    at hand, and rents the GPU node alone. Raises ValueError for more hours than a month has.
    """
    if not 0 <= hours_per_month <= HOURS_PER_MONTH:
        raise ValueError(f"a month has no {hours_per_month} hours")
    whole = stack_prices((system, gpu), around, services, rates)
    cloud = Amount(usd=whole.hourly, low=whole.hourly_low, high=whole.hourly_high)
    price = gpu.instance.price(gpu.usage) or gpu.instance.price(UsageClass.ON_DEMAND)
    alone = Amount(usd=price.usd_per_hour, low=price.low, high=price.high).times(gpu.count) if price else NOTHING
    gpus = gpu.count * gpu.instance.gpu_count
    return (
        _lab("cloud", cloud, hours_per_month, gpus, "EKS with GPU nodes, EFA and FSx; destroyed after use"),
        _lab("virtual machines", NOTHING, hours_per_month, 0, "everything rehearsed on a machine at hand, no GPU"),
        Lab(
            name="second-hand parts",
            purchase=COMMODITY,
            hourly=NOTHING,
            monthly=NOTHING,
            gpus=1,
            about="CUDA on one consumer GPU, no NVLink, no RDMA",
        ),
        _lab("mixture", alone, hours_per_month, gpus, "GPU node in the cloud, control plane on a machine at hand"),
    )


def _lab(name: str, hourly: Amount, hours_per_month: float, gpus: int, about: str) -> Lab:
    return Lab(
        name=name,
        purchase=NOTHING,
        hourly=hourly,
        monthly=hourly.times(hours_per_month),
        gpus=gpus,
        about=about,
    )


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
