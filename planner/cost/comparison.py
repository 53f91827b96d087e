"""Renting against owning: after how many months a purchase is cheaper, and what each costs over the years."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from catalogue.types import Gpu, Instance, Price
from catalogue.units import HOURS_PER_MONTH, HOURS_PER_YEAR
from planner.cost.amounts import NOTHING, Amount
from planner.cost.owned import OwnedCost

_MONTHS_PER_YEAR = 12


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
    owned: OwnedCost, nodes: Iterable[tuple[Gpu, int, int]], instances: Iterable[Instance], *, use: float = 1.0
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
        break_even_months=break_even(owned, hourly.usd, use=use),
        years=years(owned, hourly.usd, use=use),
    )


def break_even_months(
    purchase_usd: float, cloud_usd_per_hour: float, *, use: float = 1.0, owned_usd_per_month: float = 0.0
) -> float | None:
    """Months after which owning is cheaper than renting for a share `use` of the time; None if it never is.

    Without `owned_usd_per_month` it is the time before power and staff.
    """
    saved = cloud_usd_per_hour * use * HOURS_PER_MONTH - owned_usd_per_month
    return purchase_usd / saved if saved > 0 else None


def break_even(owned: OwnedCost, cloud_usd_per_hour: float, *, use: float = 1.0) -> float | None:
    """Months after which owning is cheaper, with power, staff and support."""
    monthly = owned.running.yearly.usd / _MONTHS_PER_YEAR
    return break_even_months(owned.purchase.usd, cloud_usd_per_hour, use=use, owned_usd_per_month=monthly)


def years(
    owned: OwnedCost, cloud_usd_per_hour: float, *, use: float = 1.0, spans: Iterable[int] = range(1, 6)
) -> tuple[Year, ...]:
    """Both ways over one to five years. `use` is the share of the time in which the GPUs work.

    The cloud is rented for that share only, where the racks stand all the time: an hour in use costs more there, the
    less they are used. Raises ValueError for a share that is none.
    """
    if not 0 < use <= 1:
        raise ValueError(f"a share of {use} of the time is none")
    table = []
    for span in spans:
        cloud_usd, owned_usd = cloud_usd_per_hour * HOURS_PER_YEAR * use * span, owned.over(span).usd
        gpu_hours = max(owned.gpus, 1) * HOURS_PER_YEAR * use * span
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
