"""What results mean: pass, warn or fail, one line for each, by the plan's thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from results import Clock, Network, Row

CLOCK_PART = 0.85
"""Of its largest clock that a GPU keeps under load, else its power or heat is held back. Assumed."""


@dataclass(frozen=True)
class Verdict:
    """`state` is pass, warn or fail; `test` names what was measured, `why` says the numbers."""

    test: str
    state: str
    why: str


def bandwidth(test: str, rows: Iterable[Row], size: int, warn: float, fail: float) -> Verdict:
    """The bus bandwidth at one size: pass from `warn` on, fail below `fail`, and where any result was wrong."""
    found = {row.size: row for row in rows}
    if wrong := [each.size for each in found.values() if each.wrong]:
        return Verdict(test, "fail", f"results are wrong at {', '.join(map(str, wrong))} bytes")
    row = found.get(size)
    if row is None:
        return Verdict(test, "fail", f"{size} bytes were not measured, only {', '.join(map(str, sorted(found)))}")
    state = "pass" if row.bus_gb_per_s >= warn else "warn" if row.bus_gb_per_s >= fail else "fail"
    return Verdict(test, state, f"{row.bus_gb_per_s:g} GB/s at {size} bytes; {warn:g} is right, {fail:g} the least")


def provider(found: Mapping[int, Network], ranks: int, wanted: str, devices: int | None) -> Verdict:
    """Every rank uses the fabric, by all of its devices (LF04): one rank on sockets slows all of them down."""
    test = "network provider"
    if missing := sorted(set(range(ranks)) - found.keys()):
        return Verdict(test, "fail", f"ranks {_some(missing)} did not say which network they use")
    if other := {rank: each.provider for rank, each in found.items() if each.provider != wanted}:
        said = ", ".join(sorted(set(other.values())))
        return Verdict(test, "fail", f"ranks {_some(sorted(other))} use {said}, not {wanted}")
    if devices is not None and (
        short := {rank: each.devices for rank, each in found.items() if each.devices != devices}
    ):
        counts = ", ".join(sorted({str(each) for each in short.values()}))
        return Verdict(test, "fail", f"ranks {_some(sorted(short))} found {counts} devices, not {devices}")
    return Verdict(test, "pass", f"all {ranks} ranks use {wanted}" + (f" by {devices} devices" if devices else ""))


def clock(found: Iterable[Clock], gpus: int) -> Verdict:
    """All GPUs are there and keep their clock."""
    known = {each.gpu: each for each in found}
    if len(known) != gpus:
        return Verdict("clocks", "fail", f"{len(known)} GPUs answer, not {gpus}")
    slow = [each for each in known.values() if each.mhz < CLOCK_PART * each.most_mhz]
    if slow:
        said = ", ".join(f"GPU {each.gpu} at {each.mhz:g} of {each.most_mhz:g} MHz, {each.watts:g} W" for each in slow)
        return Verdict("clocks", "warn", said)
    return Verdict("clocks", "pass", f"{gpus} GPUs at {min(each.mhz for each in known.values()):g} MHz or more")


def worst(verdicts: Iterable[Verdict]) -> str:
    """Of all lines; without any line nothing was shown, which is a failure."""
    order = ("fail", "warn", "pass")
    states = {each.state for each in verdicts}
    return next((state for state in order if state in states), "fail")


def _some(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return f"{shown} and {len(numbers) - 8} more" if len(numbers) > 8 else shown
