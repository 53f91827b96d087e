"""Copies of each GPU with the host and with the other GPUs of its node, told and read as nvbandwidth tells them (C07).

nvbandwidth itself measures where the image has it. Images of PyTorch have not: there PyTorch copies in the same way,
one copy at a time, by the copy engines, from pinned memory beside the GPU, and this file prints the same tables
(NVIDIA/nvbandwidth 0.10, README and output.cpp).
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import slots
from results import UnreadableError
from verdicts import Verdict

HOST, PEERS = "copies with host", "copies with peers"
TO_GPU, TO_HOST, BETWEEN = "host_to_device_memcpy_ce", "device_to_host_memcpy_ce", "device_to_device_memcpy_read_ce"
TESTS = {TO_GPU: "CPU(row) -> GPU(column)", TO_HOST: "CPU(row) <- GPU(column)", BETWEEN: "GPU(row) <- GPU(column)"}
"""Test cases of nvbandwidth, and what rows and columns are."""

SIZE, TIMES, ROUNDS = 512 << 20, 16, 3
"""Bytes of a copy, copies of a round, and rounds, of which the median counts, as nvbandwidth does."""

_ROUNDING = 0.01

Rates = Mapping[tuple[int, int], float]


def of_node(least: Mapping[str, float], run: Callable[..., str]) -> list[Verdict]:
    """Both lines; output that cannot be read fails the lines that it should have told of. A GPU that is not there is
    told of by the clocks.
    """
    own = ("python3", str(Path(__file__)))
    said = run(*(("nvbandwidth", "-t", *TESTS) if shutil.which("nvbandwidth") else own))
    lines = ((HOST, (TO_GPU, TO_HOST), least["host"]), (PEERS, (BETWEEN,), least["peer"]))
    places = slots.of_devices(said)
    return [slots.named(_judged(line, said, tests, rate), places) for line, tests, rate in lines]


def _judged(line: str, said: str, tests: Sequence[str], least: float) -> Verdict:
    try:
        found = {test: table(said, test) for test in tests}
    except UnreadableError as error:
        return Verdict(line, "fail", str(error))
    each = [(test, pair, rate) for test, rates in found.items() for pair, rate in rates.items()]
    slow = [f"{_told(test, *pair)} {rate:g}" for test, pair, rate in each if rate < least]
    if slow:
        more = f" and {len(slow) - 4} more" if len(slow) > 4 else ""
        return Verdict(line, "fail", f"{', '.join(slow[:4])}{more} GB/s; {least:g} is the least")
    slowest = min(rate for _, _, rate in each)
    return Verdict(line, "pass", f"{slowest:g} GB/s or more; {least:g} is the least")


def _told(test: str, row: int, column: int) -> str:
    if test == BETWEEN:
        return f"GPU {column} to GPU {row}"
    return f"host to GPU {column}" if test == TO_GPU else f"GPU {column} to host"


def table(text: str, test: str) -> dict[tuple[int, int], float]:
    """GB/s of a test by row and column, but for GPUs with themselves (N/A).

    Raises UnreadableError unless the whole table is there, and its sum, which is written behind it, is its cells'.
    """
    section = re.search(rf"^Running {test}\.$(.*?)^SUM {test} ([\d.]+)$", text, re.MULTILINE | re.DOTALL)
    if section is None or "Running" in section[1]:
        last = (text.strip().splitlines() or ["it printed nothing"])[-1].strip()
        raise UnreadableError(f"no whole table of {test}: {last[:160]!r}")
    rows = [each.split() for each in section[1].splitlines() if re.match(r"\s*\d+\s", each)]
    head, *body = rows or [[]]
    cells = {(int(row[0]), column): word for row in body for column, word in enumerate(row[1:])}
    found = {pair: float(word) for pair, word in cells.items() if re.fullmatch(r"\d+\.\d+", word)}
    gpus = range(len(head))
    wanted = {(row, column) for row in (gpus if test == BETWEEN else (0,)) for column in gpus}
    wanted -= {(gpu, gpu) for gpu in gpus} if test == BETWEEN else set()
    if not wanted:
        raise UnreadableError(f"the table of {test} is empty")
    if missing := sorted(wanted - found.keys()):
        raise UnreadableError(f"{test} tells nothing of {_told(test, *missing[0])}")
    if abs(sum(found.values()) - float(section[2])) > _ROUNDING * len(found):
        raise UnreadableError(f"{test} tells {section[2]} GB/s in all, and its cells are others")
    return found


def printed(test: str, rates: Rates) -> str:
    """The table as nvbandwidth prints it."""
    rows, columns = (range(max(pair[at] for pair in rates) + 1) for at in (0, 1))
    head = "  " + "".join(f"{column:10d}" for column in columns)
    cells = {pair: f"{rate:.2f}" for pair, rate in rates.items()}
    body = (f"{row:2d}" + "".join(f"{cells.get((row, column), 'N/A'):>10}" for column in columns) for row in rows)
    about = f"Running {test}.\nmemcpy CE {TESTS[test]} bandwidth (GB/s)"
    return "\n".join((about, head, *body, "", f"SUM {test} {sum(map(float, cells.values())):.2f}", ""))


def rate_of(copy: Callable[[], object], wait: Callable[[], object], size: int = SIZE) -> float:
    """Decimal GB a second: the median of some rounds, after one that nobody counts."""
    seconds = []
    for _ in range(ROUNDS + 1):
        wait()
        begun = time.perf_counter()
        for _ in range(TIMES):
            copy()
        wait()
        seconds.append(time.perf_counter() - begun)
    return size * TIMES / statistics.median(seconds[1:]) / 1e9


def beside(bus: str, root: Path = slots.DEVICES) -> set[int]:
    """Processors of the socket that a GPU hangs on, by its PCI address; none where the kernel does not say.

    Pinned memory of another socket's is copied through the link between the two.
    """
    try:
        words = (root / bus.lower() / "local_cpulist").read_text(encoding="utf-8").strip().split(",")
    except OSError:
        return set()
    spans = [each.partition("-") for each in words if each]
    return {cpu for first, _, last in spans for cpu in range(int(first), int(last or first) + 1)}


def measured(torch: Any, gpus: int) -> Iterable[str]:
    """The tables, by PyTorch."""

    def rate(to: Any, of: Any) -> float:
        return rate_of(lambda: to.copy_(of, non_blocking=True), lambda: [*map(torch.cuda.synchronize, range(gpus))])

    there = os.sched_getaffinity(0)
    found: dict[str, dict[tuple[int, int], float]] = {test: {} for test in TESTS}
    for gpu in range(gpus):
        known = torch.cuda.get_device_properties(gpu)
        place = (known.pci_domain_id, known.pci_bus_id, known.pci_device_id)
        yield slots.listed(gpu, known.name, *place)
        os.sched_setaffinity(0, (beside(slots.address(*place)) & there) or there)
        here = torch.empty(SIZE, dtype=torch.uint8, device=gpu)
        host = torch.empty(SIZE, dtype=torch.uint8, pin_memory=True)
        found[TO_GPU][0, gpu], found[TO_HOST][0, gpu] = rate(here, host), rate(host, here)
        for other in range(gpus):
            if other != gpu:
                found[BETWEEN][gpu, other] = rate(here, torch.empty(SIZE, dtype=torch.uint8, device=other))
    yield from (printed(test, rates) for test, rates in found.items() if rates)


def main() -> int:
    """Measures all GPUs that are visible here."""
    import torch

    for text in measured(torch, torch.cuda.device_count()):
        print(text, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
