"""What a found thing costs an hour, from the catalogue."""

from collections.abc import Iterable

from catalogue.tables import SHIPPED
from catalogue.types import UsageClass
from catalogue.units import HOURS_PER_MONTH
from sweep.things import Found


def hourly(thing: Found) -> float | None:
    """USD an hour; 0 for what has no price of its own, None where one is not recorded."""
    if thing.price is None:
        return 0.0
    if thing.kind not in ("instance", "capacity reservation"):
        service, rate = SHIPPED.services.get(thing.price), SHIPPED.rates.get(thing.price)
        if rate is not None:
            return rate.usd * thing.size / HOURS_PER_MONTH
        return service.usd_per_hour * thing.size if service else None
    row = SHIPPED.instances.get(thing.price)
    usage = UsageClass.SPOT if thing.spot else UsageClass.ON_DEMAND
    price = row.price(usage) if row else None
    return price.usd_per_hour * thing.size if price else None


def total(things: Iterable[Found]) -> tuple[float, int]:
    """USD an hour of all of them, and how many have no recorded price."""
    each = [hourly(thing) for thing in things]
    return sum(usd for usd in each if usd is not None), each.count(None)
