"""Words for numbers."""

from collections.abc import Iterable
from decimal import ROUND_FLOOR, Decimal
from math import ceil, floor, log10

from catalogue.echo import bare

_CENT = 0.01
_MANY = 1000

__all__ = ["about", "at_most", "bare", "counted", "enough", "one_of", "usd"]


def counted(number: int, noun: str) -> str:
    """So many of something: 1 node, 2 nodes."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def about(value: float) -> str:
    """A number with the two digits that a forecast is good for: 38,233 is 38,000."""
    if value <= 0:
        return "0"
    size = 10 ** max(0, floor(log10(value)) - 1)
    return f"{round(value / size) * size:,.0f}" if value >= 10 else f"{value:.2g}"


def enough(amount: float, places: int = 2) -> str:
    """The least number of so many places that is not below the amount: 1,234.561 is 1234.57, which a person can type.

    A remedy that rounds to the nearest number names, half of the time, one that is refused again.
    """
    least = ceil(round(amount * 10**places, 6)) / 10**places
    return f"{least if least >= amount else least + 10**-places:.{places}f}"


def at_most(amount: float, digits: int = 2) -> str:
    """The largest number with so many digits that is not above the amount: of 1234.5 it is 1200, of 0.0456 0.045."""
    exact = Decimal(amount)
    return f"{exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_FLOOR):f}"


def usd(amount: float) -> str:
    """US dollars: to the cent below a thousand, and two digits of what is less than a cent."""
    if 0 < amount < _CENT:
        return f"{amount:.2g}"
    return f"{amount:,.2f}" if abs(amount) < _MANY else f"{amount:,.0f}"


def one_of(values: Iterable[object]) -> str:
    """What to choose from: 1, or one of 1, 2."""
    names = [str(each) for each in values]
    return names[0] if len(names) == 1 else f"one of {', '.join(names)}"
