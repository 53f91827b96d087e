"""The time that a budget covers, and the part of it that its spend is counted over.

Source: AWS Billing and Cost Management API reference, Budget and TimePeriod: the start that AWS fills in for each unit,
the end that it fills in, that a start comes before its end, and that TimeUnit is the time until the count begins anew.
CUSTOM (Go SDK service/budgets, v1.38.0) is one period from start to end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

UNITS = ("DAILY", "MONTHLY", "QUARTERLY", "ANNUALLY", "CUSTOM")
NEVER = datetime(2087, 6, 15, tzinfo=UTC)
_TAG = "TagKeyValue"


@dataclass(frozen=True)
class Cost:
    """What one hour of something cost: when, its stack's tag as a budget's filter writes it, and USD."""

    at: datetime
    tag: str
    usd: float


def begins(unit: str, moment: datetime) -> datetime:
    """Where the period of this unit that holds `moment` begins, UTC; of CUSTOM the day."""
    day = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "MONTHLY":
        return day.replace(day=1)
    if unit == "QUARTERLY":
        return day.replace(month=day.month - (day.month - 1) % 3, day=1)
    return day.replace(month=1, day=1) if unit == "ANNUALLY" else day


def filled(period: Mapping[str, Any], unit: str, now: datetime) -> dict[str, datetime]:
    """The period as AWS keeps it. Raises ValueError for another unit, or a start not before the end."""
    if unit not in UNITS:
        raise ValueError(f"TimeUnit {unit} is none of {', '.join(UNITS)}")
    start, end = (_moment(period.get(each)) for each in ("Start", "End"))
    kept = {"Start": start or begins(unit, now), "End": end or NEVER}
    if kept["Start"] >= kept["End"]:
        raise ValueError("the start date must come before the end date")
    return kept


def spent(budget: Mapping[str, Any], costs: Iterable[Cost], now: datetime) -> float:
    """USD that a cost budget, as `describe_budget` tells it, has counted by `now` since its count last began anew."""
    period, unit = budget["TimePeriod"], budget["TimeUnit"]
    start = period["Start"] if unit == "CUSTOM" else max(period["Start"], begins(unit, now))
    tags = (budget.get("CostFilters") or {}).get(_TAG)
    end = min(now + timedelta(microseconds=1), period["End"])
    return sum(each.usd for each in costs if start <= each.at < end and (tags is None or each.tag in tags))


def _moment(value: Any) -> datetime | None:
    """A moment of a request as one in UTC: moto reads it as UTC, but leaves the zone out."""
    if value is None:
        return None
    moment = value if isinstance(value, datetime) else datetime.fromtimestamp(float(value), UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
