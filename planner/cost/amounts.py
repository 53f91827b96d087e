"""Sums of money with the range they may lie in, and the bill of a stack on AWS line by line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from catalogue.prices import LISTED_REGIONS
from catalogue.units import HOURS_PER_MONTH


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
    fabric. `basis` is the assumption
    behind a line of use.
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
