"""What results mean: pass, warn or fail, one line for each, by the plan's thresholds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from results import Clock, Copy, Network, Port, Row

CLOCK_PART = 0.85
"""Of its largest clock that a GPU keeps under load, else its power or heat is held back. Assumed."""
CLOCK_LEAST = 0.7
"""Below this part a GPU makes all others wait for it. Assumed."""

STORAGE_PART = 0.5
"""Of its share that a node reaches while all others measure too. Assumed: less is looked at, and stops nobody."""

BENCHMARK, BENCHMARK_PART = "training", 0.7
"""Of the forecast that a node reaches with a trainer that nobody tuned. Assumed: less warns, and stops nobody."""

PROVIDER, MANAGER, PORTS, LINKS = "network provider", "fabric manager", "fabric ports", "NVLink"


@dataclass(frozen=True)
class Verdict:
    """`state` is pass, warn or fail; `test` names what was measured, `why` says the numbers."""

    test: str
    state: str
    why: str


def bandwidth(test: str, rows: Iterable[Row], size: int, warn: float | None, fail: float | None) -> Verdict:
    """The bus bandwidth at one size: pass from `warn` on, fail below `fail`, and where any result was wrong.

    Where nothing is demanded it is recorded.
    """
    found = {row.size: row for row in rows}
    if wrong := [each.size for each in found.values() if each.wrong]:
        return Verdict(test, "fail", f"results are wrong at {', '.join(map(str, wrong))} bytes")
    row = found.get(size)
    if row is None:
        return Verdict(test, "fail", f"{size} bytes were not measured, only {', '.join(map(str, sorted(found)))}")
    if warn is None or fail is None:
        return Verdict(test, "pass", f"{row.bus_gb_per_s:g} GB/s at {size} bytes, recorded: nobody published a figure")
    state = "pass" if row.bus_gb_per_s >= warn else "warn" if row.bus_gb_per_s >= fail else "fail"
    return Verdict(test, state, f"{row.bus_gb_per_s:g} GB/s at {size} bytes; {warn:g} is right, {fail:g} the least")


def trained(rates: Sequence[float], model: str, expected: float) -> Verdict:
    """The median of a node's steps in tokens per second, beside what the plan expects: a forecast fails no node."""
    rate = statistics.median(rates)
    state = "pass" if rate >= BENCHMARK_PART * expected else "warn"
    return Verdict(BENCHMARK, state, f"{rate:g} tokens/s of {model}; the plan expects {expected:g}")


def provider(found: Mapping[int, Network], ranks: int, wanted: str, devices: int | None) -> Verdict:
    """Every rank uses the fabric, by all of its devices (LF04): one rank on sockets slows all of them down."""
    test = PROVIDER
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


def _running(gpu: Clock) -> str:
    power = f"{gpu.watts:g} of {gpu.limit_watts:g} W"
    return f"GPU {gpu.gpu} at {gpu.mhz:g} of {gpu.most_mhz:g} MHz, {power}"


def clock(found: Iterable[Clock], gpus: int, silent: Sequence[str] = ()) -> Verdict:
    """All GPUs are there and keep their clock. Those that are `silent` are in these slots."""
    known = {each.gpu: each for each in found}
    if len(known) != gpus:
        where = f": none in slot {', '.join(silent)}" if silent else ""
        return Verdict("clocks", "fail", f"{len(known)} GPUs answer, not {gpus}{where}")
    slow = [each for each in known.values() if each.mhz < CLOCK_PART * each.most_mhz]
    if slow:
        said = ", ".join(map(_running, slow))
        held = any(each.mhz < CLOCK_LEAST * each.most_mhz for each in slow)
        return Verdict("clocks", "fail" if held else "warn", said)
    return Verdict("clocks", "pass", f"{gpus} GPUs at {min(each.mhz for each in known.values()):g} MHz or more")


def manager(found: Sequence[tuple[str, str]]) -> Verdict:
    """GPUs behind NVSwitches have been registered (NVML, nvmlGpuFabricState_t: Completed); others say N/A."""
    outside = ("N/A", "Not Supported", "[N/A]")
    behind = [(index, *told) for index, told in enumerate(found) if told[0] not in outside]
    if not behind:
        return Verdict(MANAGER, "pass", "no GPU is behind an NVSwitch")
    waiting = [f"GPU {index} {state}" for index, state, _ in behind if state != "Completed"]
    failed = [f"GPU {index} {status}" for index, _, status in behind if status not in ("Success", "N/A")]
    if waiting or failed:
        said = ", ".join(waiting or failed)
        return Verdict(MANAGER, "fail", f"{said}: look at nvidia-fabricmanager on the node")
    return Verdict(MANAGER, "pass", f"{len(behind)} GPUs are registered with their NVSwitches")


def links(found: Mapping[int, int], wanted: int) -> Verdict:
    """Every GPU that answers has as many links up as its model has (D01, U14)."""
    short = [f"GPU {gpu} has {up} of {wanted}" for gpu, up in sorted(found.items()) if up < wanted]
    if short:
        return Verdict(LINKS, "fail", f"links are down: {', '.join(short)}")
    return Verdict(LINKS, "pass", f"{len(found)} GPUs have {wanted} links each")


def ports(found: Sequence[Port], rails: int) -> Verdict:
    """As many ports as the node has rails are active, all at one rate. Others may be storage's, or hang on nothing."""
    active = [each for each in found if each.state == "ACTIVE"]
    down = [f"{each.name} is {each.state}" for each in found if each.state != "ACTIVE"]
    if len(active) < rails:
        return Verdict(PORTS, "fail", f"{len(active)} ports are active, not {rails}: {', '.join(down) or 'no others'}")
    most = max(each.gbps for each in active)
    slow = [f"{each.name} at {each.gbps:g} of {most:g} Gb/s" for each in active if each.gbps < most]
    if slow or down:
        return Verdict(PORTS, "warn", ", ".join([*slow, *down]))
    return Verdict(PORTS, "pass", f"{len(active)} ports are active at {most:g} Gb/s")


def storage(written: Copy, again: Copy, size: int, planned: Mapping[str, Any]) -> Verdict:
    """All was written and read; at the planned rates, where the plan has any (GB/s of one node)."""
    if (written.size, again.size) != (size, size):
        return Verdict("storage", "fail", f"{written.size} bytes were written and {again.size} read, not {size}")
    said = f"writes {written.gb_per_s:.2g} GB/s, reads {again.gb_per_s:.2g} GB/s"
    least = {"writes": (written, planned["write_gb_per_s"]), "reads": (again, planned["read_gb_per_s"])}
    slow = [
        f"{name} {rate:.2g}" for name, (copy, rate) in least.items() if rate and copy.gb_per_s < STORAGE_PART * rate
    ]
    return Verdict(
        "storage", "warn" if slow else "pass", f"{said}; planned {' and '.join(slow)} GB/s" if slow else said
    )


def worst(verdicts: Iterable[Verdict]) -> str:
    """Of all lines; without any line nothing was shown, which is a failure."""
    order = ("fail", "warn", "pass")
    states = {each.state for each in verdicts}
    return next((state for state in order if state in states), "fail")


def _some(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return f"{shown} and {len(numbers) - 8} more" if len(numbers) > 8 else shown
