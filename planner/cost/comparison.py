"""Renting against owning over the years, and first guesses: tiers of racks for a GPU, ways to have a lab."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from catalogue.tiers import Tier
from catalogue.types import Gpu, Instance, Price, Rate, UsageClass
from catalogue.units import HOURS_PER_MONTH, HOURS_PER_YEAR
from planner.cost.amounts import NOTHING, Amount, OwnedCost
from planner.cost.stack import Around, stack_prices
from planner.pool_types import AwsPoolPlan

_MONTHS_PER_YEAR = 12
_SPANS = 5


@dataclass(frozen=True, kw_only=True)
class Year:
    """USD that have been spent after so many years, and what an hour of a GPU in use has cost in each way."""

    years: int
    cloud_usd: float
    owned_usd: float
    cloud_usd_per_gpu_hour: float
    owned_usd_per_gpu_hour: float


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """An on-premises cluster against the same GPUs on AWS (`rented`: instance types and how many), in full use.

    `price_class` is what is compared on the cloud's side; what is owned is bought, and paid for over its life.
    An hour in the cloud costs `cloud_usd_per_hour`, and between `cloud_low_usd_per_hour` and `cloud_high_usd_per_hour`.
    """

    rented: Mapping[str, int]
    price_class: str = "on demand"
    cloud_usd_per_hour: float
    cloud_low_usd_per_hour: float
    cloud_high_usd_per_hour: float
    break_even_months: float | None
    years: tuple[Year, ...]


def twin(gpu: Gpu, gpu_count: int, instances: Iterable[Instance]) -> tuple[Instance, Price] | None:
    """The cheapest instance type with the same GPUs as a server, and its price on demand; None where there is none.

    A block's price is no price of years: blocks end after half a year at most.
    """
    priced = [
        (row, price) for row in instances if row.gpu == gpu and row.gpu_count == gpu_count and (price := row.on_demand)
    ]
    return min(priced, key=lambda each: (each[1].usd_per_hour, each[0].type), default=None)


def against_cloud(
    owned: OwnedCost, nodes: Iterable[tuple[Gpu, int, int]], instances: Iterable[Instance]
) -> Comparison | None:
    """Compare with renting. `nodes` are (GPU, GPUs of a node, nodes); None where AWS has no such nodes."""
    rows = list(instances)
    rented: dict[str, int] = {}
    hourly = NOTHING
    for gpu, gpu_count, count in nodes:
        found = twin(gpu, gpu_count, rows)
        if found is None:
            return None
        row, price = found
        rented[row.type] = rented.get(row.type, 0) + count
        hourly += Amount(usd=price.usd_per_hour, low=price.low, high=price.high).times(count)
    if not rented:
        return None
    return Comparison(
        rented=rented,
        cloud_usd_per_hour=hourly.usd,
        cloud_low_usd_per_hour=hourly.low,
        cloud_high_usd_per_hour=hourly.high,
        break_even_months=break_even(owned, hourly.usd),
        years=years(owned, hourly.usd),
    )


def break_even(owned: OwnedCost, cloud_usd_per_hour: float) -> float | None:
    """Months of full use after which owning, with power, staff and support, is cheaper than renting; None if never."""
    saved = cloud_usd_per_hour * HOURS_PER_MONTH - owned.running.yearly.usd / _MONTHS_PER_YEAR
    return owned.purchase.usd / saved if saved > 0 else None


def years(owned: OwnedCost, cloud_usd_per_hour: float) -> tuple[Year, ...]:
    """Both ways over one to five years, in full use."""
    table = []
    for span in range(1, _SPANS + 1):
        cloud_usd, owned_usd = cloud_usd_per_hour * HOURS_PER_YEAR * span, owned.over(span).usd
        gpu_hours = max(owned.gpus, 1) * HOURS_PER_YEAR * span
        table.append(
            Year(
                years=span,
                cloud_usd=cloud_usd,
                owned_usd=owned_usd,
                cloud_usd_per_gpu_hour=cloud_usd / gpu_hours,
                owned_usd_per_gpu_hour=owned_usd / gpu_hours,
            )
        )
    return tuple(table)


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
