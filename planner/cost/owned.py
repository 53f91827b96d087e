"""What on-premises racks cost: bought once, and then by the year."""

from dataclasses import dataclass

from catalogue.units import HOURS_PER_YEAR
from planner.cost.amounts import Amount

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
