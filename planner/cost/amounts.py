"""Sums of money with the range they may lie in."""

from collections.abc import Iterable
from dataclasses import dataclass


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
