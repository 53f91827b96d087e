"""What the measurements of rails mean: a card that is slow with most of its partners is slow itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import perftest
import rails
from results import UnreadableError
from verdicts import Verdict

RAILS = "rails"
_LEAST_SHOWN = 4


@dataclass(frozen=True)
class Seen:
    """A card with one partner: the lower of its rates and its latency, or why there is none."""

    partner: str
    gbps: float | None
    us: float | None
    why: str = ""


def seen(partner: str, told: Mapping[str, str]) -> Seen:
    """What the programs said of one pair of cards."""
    try:
        if rails.ANSWER in told:
            found = perftest.exchange(told[rails.ANSWER])
            return Seen(partner, found.mb_per_s * 8 / 1000, found.us)
        rate = min(perftest.gbps(told.get(each, "")) for each in (rails.OUT, rails.IN))
        return Seen(partner, rate, perftest.latency_us(told.get(rails.LATENCY, "")))
    except UnreadableError as error:
        return Seen(partner, None, None, str(error))


def slot(card: str, root: Path) -> str:
    """The PCI address of a card, by which it is found in the machine (the link /sys/class/infiniband/CARD/device)."""
    place = root / card / "device"
    return place.resolve().name if place.exists() else "unknown"


def of_node(out: Path, asked: Mapping[str, Any], root: Path) -> Verdict | None:
    """The line of this node's rails, by what was measured."""
    return judged(rails.told(out), asked, rails.cards_of(asked["program"], root), root)


def judged(
    found: Iterable[tuple[str, str, Mapping[str, str]]], asked: Mapping[str, Any], cards: Sequence[str], root: Path
) -> Verdict | None:
    """One line for all rails of the node; None where nobody was there to measure with, or EFA's image has no program.

    A card fails where more than half of its partners see less than the least from it; where fewer do it is theirs.
    Latency above the planned one warns.
    """
    by_card: dict[str, list[Seen]] = {card: [] for card in cards}
    for partner, card, told in found:
        by_card.setdefault(card, []).append(seen(partner, told))
    every = [each for some in by_card.values() for each in some]
    if not every:
        return None
    if missing := next((each.why for each in every if "is not in the image" in each.why), None):
        return None if asked["program"] == "fi_pingpong" else Verdict(RAILS, "warn", f"not measured: {missing}")
    ill: list[str] = []
    look: list[str] = []
    for number, (card, some) in enumerate(by_card.items()):
        name = f"rail {number} ({card}, slot {slot(card, root)})"
        state, why = _card(some, asked)
        if state != "pass":
            (ill if state == "fail" else look).append(f"{name} {why}")
    if ill or look:
        return Verdict(RAILS, "fail" if ill else "warn", "; ".join([*ill, *look]))
    return Verdict(RAILS, "pass", _all_well(every, len(by_card), asked))


def _all_well(every: Sequence[Seen], count: int, asked: Mapping[str, Any]) -> str:
    partners = len({each.partner for each in every})
    least = min(each.gbps for each in every if each.gbps is not None)
    times = [each.us for each in every if each.us is not None]
    said = f"{count} rails reach {least:g} Gb/s or more with each of {partners} nodes"
    if asked["fail"] is not None:
        said += f"; {asked['warn']:g} is right, {asked['fail']:g} the least"
    return f"{said}; {max(times):g} us at most"


def _card(some: Sequence[Seen], asked: Mapping[str, Any]) -> tuple[str, str]:
    """State of one card, and what it was seen to do."""
    if not some:
        return "fail", "was measured with nobody"
    below = {each.partner: each for each in some if _under(each, asked["fail"])}
    if below:
        said = f"{_words(below.values(), asked)} with {_some(sorted(below))}"
        if 2 * len(below) > len(some):
            alone = ": one of the two" if len(some) == 1 else ""
            return "fail", f"{said}, {len(below)} of {len(some)} partners{alone}"
        return "warn", f"{said} only, {len(below)} of {len(some)} partners: look at theirs"
    weak = {each.partner: each for each in some if _under(each, asked["warn"])}
    if weak:
        return "warn", f"{_words(weak.values(), asked)} with {_some(sorted(weak))}"
    late = [each for each in some if asked["latency_us"] and each.us is not None and each.us > asked["latency_us"]]
    if late:
        worst = max(each.us or 0 for each in late)
        return (
            "warn",
            f"takes {worst:g} us with {_some(sorted(each.partner for each in late))}, not {asked['latency_us']:g}",
        )
    return "pass", ""


def _under(each: Seen, least: float | None) -> bool:
    return each.gbps is None or (least is not None and each.gbps < least)


def _words(some: Iterable[Seen], asked: Mapping[str, Any]) -> str:
    every = list(some)
    rates = [each.gbps for each in every if each.gbps is not None]
    if not rates:
        return f"gives no answer ({every[0].why})"
    return f"reaches {min(rates):g} Gb/s, not {asked['warn']:g}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_LEAST_SHOWN])
    return f"{shown} and {len(names) - _LEAST_SHOWN} more" if len(names) > _LEAST_SHOWN else shown
