"""How storage survives lost drives and hosts, and what that costs in capacity."""

import re
from dataclasses import dataclass

from catalogue.echo import echo


@dataclass(frozen=True, kw_only=True)
class Redundancy:
    """`data` parts are stored with `parity` more, any of which may be lost. Three replicas are 1+2, RAID-6 is n+2."""

    data: int
    parity: int

    def __post_init__(self) -> None:
        if self.data < 1 or self.parity < 0:
            raise ValueError(f"{self.data}+{self.parity} stores no data")

    @property
    def width(self) -> int:
        """Drives, or hosts, that one object is spread over."""
        return self.data + self.parity

    @property
    def amplification(self) -> float:
        """Bytes that reach drives per byte written."""
        return self.width / self.data

    def __str__(self) -> str:
        return f"{self.width} replicas" if self.data == 1 else f"{self.data}+{self.parity}"


def parse(text: str) -> Redundancy:
    """A scheme written as "8+2". Raises ValueError if it is not one."""
    match = re.fullmatch(r"([1-9]\d?)\+(\d)", text)
    if not match:
        raise ValueError(f"{echo(text)} is not DATA+PARITY such as 8+2")
    return Redundancy(data=int(match[1]), parity=int(match[2]))


def replicated(copies: int) -> Redundancy:
    """So many full copies."""
    return Redundancy(data=1, parity=copies - 1)


def copies_or_parity(copies: int | None, parity: str | None) -> Redundancy:
    """What of the two is said. One copy where neither is."""
    return parse(parity) if parity is not None else replicated(copies or 1)


def usable(raw: float, redundancy: Redundancy) -> float:
    """What is left of `raw` capacity, in its unit."""
    return raw / redundancy.amplification
