"""Sums of money with their ranges: the bill of a stack on AWS line by line, and what on-premises racks cost."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from catalogue.prices import LISTED_REGIONS
from catalogue.units import HOURS_PER_MONTH, HOURS_PER_YEAR


@dataclass(frozen=True, kw_only=True)
class Amount:
    """US dollars: what is likely, and the least and the most."""

    usd: float
    low: float
    high: float

    def times(self, factor: float) -> "Amount":
        """So many times as much."""
        return Amount(usd=self.usd * factor, low=self.low * factor, high=self.high * factor)

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(usd=self.usd + other.usd, low=self.low + other.low, high=self.high + other.high)


NOTHING = Amount(usd=0, low=0, high=0)


def total(amounts: Iterable[Amount]) -> Amount:
    """The sum."""
    return sum(amounts, NOTHING)


@dataclass(frozen=True, kw_only=True)
class PriceLine:
    """One line of the hourly price in USD, with the range its price was seen in.

    `purpose` is the role of a pool, whose name is `pool`, or platform, storage or traffic, `layer` the layer of the
    architecture whose resource is paid for: a node's root volume is of the hardware, and its images' traffic of the
    fabric. `basis` is the assumption behind a line of use, or what nodes that come and go cost in the usual case.
    """

    name: str
    purpose: str
    layer: str
    quantity: float
    usd_per_hour: float
    low: float
    high: float
    hours_per_month: float = HOURS_PER_MONTH
    pool: str | None = None
    basis: str = ""


@dataclass(frozen=True, kw_only=True)
class BlockPrice(Amount):
    """What a pool's capacity block costs as a whole, paid in advance."""

    pool: str
    hours: int


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What the stack costs while it stands, in USD; a month has 730 hours. `unpriced` names what has no price.

    `by_purpose` and `by_layer` are what each purpose and each layer of the architecture cost an hour. `assumptions` are
    what the lines of use rest on, `blocks` what is paid in advance for capacity blocks. Prices are US list prices:
    where `region` is not `listed`, `high` of each line is the dearest that was seen in any commercial region.
    `offers_recorded`: it is recorded what EC2 offers there.
    """

    lines: tuple[PriceLine, ...]
    hourly: float
    hourly_low: float
    hourly_high: float
    monthly: float
    by_purpose: Mapping[str, float]
    by_layer: Mapping[str, float]
    unpriced: tuple[str, ...]
    blocks: tuple[BlockPrice, ...]
    assumptions: tuple[str, ...]
    region: str = "us-east-2"
    offers_recorded: bool = True

    @property
    def listed(self) -> bool:
        """Whether the prices are those of the region."""
        return self.region in LISTED_REGIONS


RELIABILITY_PREMIUM = Amount(usd=0.125, low=0.10, high=0.15)
"""Share of the purchase that redundant power, cooling and fabric add up front, as practitioners' guides put it."""

SUPPORT_SHARE = Amount(usd=0.05, low=0.03, high=0.10)
"""Vendors' support of a year, as a share of the purchase; approximate."""

STAFF_USD_PER_YEAR = Amount(usd=200_000, low=120_000, high=300_000)
"""A person who keeps such a cluster running, with everything that employing one costs; approximate."""

LIFE_YEARS = 5


@dataclass(frozen=True, kw_only=True)
class Running:
    """What a year costs beside the purchase."""

    power: Amount
    staff: Amount
    support: Amount

    @property
    def yearly(self) -> Amount:
        """All of it."""
        return self.power + self.staff + self.support


def with_premium(purchase: Amount) -> Amount:
    """The purchase with the premium for redundancy, where the bill has none of it."""
    return Amount(
        usd=purchase.usd * (1 + RELIABILITY_PREMIUM.usd),
        low=purchase.low * (1 + RELIABILITY_PREMIUM.low),
        high=purchase.high * (1 + RELIABILITY_PREMIUM.high),
    )


@dataclass(frozen=True, kw_only=True)
class OwnedCost:
    """An on-premises cluster: the purchase, what a year costs, and its GPUs."""

    purchase: Amount
    running: Running
    gpus: int

    def over(self, years: float) -> Amount:
        """Everything that is paid in the first so many years."""
        return self.purchase + self.running.yearly.times(years)

    @property
    def hourly(self) -> Amount:
        """An hour, with the purchase spread over the cluster's life of five years."""
        return self.over(LIFE_YEARS).times(1 / (LIFE_YEARS * HOURS_PER_YEAR))

    @property
    def hourly_per_gpu(self) -> Amount | None:
        """An hour of each GPU; None without any. Used for a share of the time only, a working hour costs more."""
        return self.hourly.times(1 / self.gpus) if self.gpus else None

    @property
    def purchase_with_redundancy(self) -> Amount:
        """What the purchase would come to with redundant power, cooling and fabric, if the bill has none of it."""
        return with_premium(self.purchase)

    @property
    def purchase_per_gpu(self) -> Amount | None:
        """The purchase for each GPU; None without any."""
        return self.purchase.times(1 / self.gpus) if self.gpus else None


def owned(purchase: Amount, *, gpus: int, power_usd_per_year: float, people: float) -> OwnedCost:
    """The cost of what was bought. Power is that of full load all the year; `people` is staff in full-time posts."""
    return OwnedCost(
        purchase=purchase,
        running=Running(
            power=Amount(usd=power_usd_per_year, low=power_usd_per_year, high=power_usd_per_year),
            staff=STAFF_USD_PER_YEAR.times(people),
            support=Amount(
                usd=purchase.usd * SUPPORT_SHARE.usd,
                low=purchase.low * SUPPORT_SHARE.low,
                high=purchase.high * SUPPORT_SHARE.high,
            ),
        ),
        gpus=gpus,
    )


def people_for(gpus: int) -> float:
    """Full-time posts that keep a cluster running: half of one from 32 GPUs on, and one more for each 512."""
    return min(0.5, gpus / 64) + gpus / 512
