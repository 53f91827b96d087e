"""Arithmetic of ports: how a leaf is divided, how many switches share links evenly, how many ports a rate leaves."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from catalogue.network_types import Nic, Switch


@dataclass(frozen=True, kw_only=True)
class Radix:
    """Ports of a switch at a rate: `gbit_per_s` each, one way, `ports_per_cage` of them in a cage."""

    ports: int
    gbit_per_s: int
    ports_per_cage: int


def radix(switch: Switch, nic: Nic) -> Radix:
    """The ports that `switch` has for `nic`: split where the card's generation asks for it and the switch can.

    A Spectrum-4 switch with 64 cages of 800 Gb/s serves 128 cards of 400 Gb/s. Source: the switches' user manuals.
    """
    for split in switch.splits:
        if split.generation is nic.generation:
            return Radix(
                ports=switch.ports * split.ways,
                gbit_per_s=switch.gbit_per_s // split.ways,
                ports_per_cage=switch.ports_per_cage * split.ways,
            )
    return Radix(ports=switch.ports, gbit_per_s=switch.gbit_per_s, ports_per_cage=switch.ports_per_cage)


@dataclass(frozen=True, kw_only=True)
class LeafSplit:
    """Ports of a leaf that look down (to nodes) and up (to spines)."""

    down: int
    up: int


def leaf_split(ports: int, oversubscription: float) -> LeafSplit:
    """Most ports down with `down / up <= oversubscription`: half and half at 1. Raises ValueError below 1."""
    if oversubscription < 1:
        raise ValueError(f"a leaf has no more ports up than down: {oversubscription}")
    down = ports * Fraction(oversubscription) // (1 + Fraction(oversubscription))
    return LeafSplit(down=int(down), up=ports - int(down))


def uplinks(down_ports: int, oversubscription: float) -> int:
    """Fewest uplinks for so many ports down."""
    return ceil(down_ports / Fraction(oversubscription))


def divisors(number: int) -> list[int]:
    """Divisors in rising order."""
    return [n for n in range(1, number + 1) if number % n == 0]


def smallest_divisor(number: int, at_least: Fraction) -> int | None:
    """The smallest divisor of `number` that is at least `at_least`, None if there is none."""
    return next((n for n in divisors(number) if n >= at_least), None)


def even_shares(total: int, parts: int) -> list[int]:
    """`total` in `parts` whole shares that differ by one at most, the larger first."""
    share, rest = divmod(total, parts)
    return [share + 1] * rest + [share] * (parts - rest)
