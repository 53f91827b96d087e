"""The bill of a stack on AWS, line by line."""

from collections.abc import Mapping
from dataclasses import dataclass

from catalogue.units import HOURS_PER_MONTH


@dataclass(frozen=True, kw_only=True)
class PriceLine:
    """One line of the hourly price in USD, with the range its price was seen in.

    `purpose` is the role of a pool, whose name is `pool`, or platform, storage or traffic. `basis` is the assumption
    behind a line of use.
    """

    name: str
    purpose: str
    quantity: float
    usd_per_hour: float
    low: float
    high: float
    hours_per_month: float = HOURS_PER_MONTH
    pool: str | None = None
    basis: str = ""


@dataclass(frozen=True, kw_only=True)
class BlockPrice:
    """What a pool's capacity block costs as a whole, in USD, paid in advance."""

    pool: str
    hours: int
    usd: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What the stack costs while it stands, in USD; a month has 730 hours. `unpriced` names what has no price.

    `by_purpose` is what each purpose costs an hour. `assumptions` are what the lines of use rest on, `blocks` what is
    paid in advance for capacity blocks.
    """

    lines: tuple[PriceLine, ...]
    hourly: float
    hourly_low: float
    hourly_high: float
    monthly: float
    by_purpose: Mapping[str, float]
    unpriced: tuple[str, ...]
    blocks: tuple[BlockPrice, ...]
    assumptions: tuple[str, ...]
