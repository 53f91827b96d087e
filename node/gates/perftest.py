"""What perftest and fi_pingpong print of a transfer between two cards, read into numbers.

Sources: linux-rdma/perftest, src/perftest_parameters.h (RESULT_FMT_G, RESULT_FMT_LAT, RESULT_LINE); libfabric,
util/pingpong.c (show_perf). What is cut, empty or of another tool is an error, never a rate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from results import UnreadableError

_RULE = re.compile(r"-{60,}")
_BANDWIDTH = re.compile(r"#bytes\s+#iterations\s+BW peak\[(\w+/sec)\]\s+BW average\[\w+/sec\]")
_LATENCY = re.compile(r"#bytes\s+#iterations\s+t_min\[usec\].*99% percentile\[usec\]")
_PINGPONG = re.compile(r"bytes\s+#sent\s+#ack\s+total\s+time\s+MB/sec\s+usec/xfer")
_EXCHANGED = re.compile(
    r"[\d.]+[kmg]?\s+\d+[kmb]?\s+([=+-])\d+[kmb]?\s+[\d.]+[kmg]?\s+[\d.]+s\s+([\d.]+)\s+([\d.]+)\s+[\d.]+"
)
_AVERAGE, _MOST_99 = 3, 7
"""Columns: the average rate of ib_write_bw, the 99 % percentile of ib_write_lat."""


def gbps(text: str) -> float:
    """Average of ib_write_bw --report_gbits, Gb/s."""
    unit, row = _row(text, _BANDWIDTH, "ib_write_bw")
    if unit != "Gb/sec":
        raise UnreadableError(f"ib_write_bw reports {unit} instead of Gb/sec: run it with --report_gbits")
    return _number(row, _AVERAGE, "ib_write_bw")


def latency_us(text: str) -> float:
    """Of ib_write_lat the time that 99 % of the messages take at most, microseconds."""
    return _number(_row(text, _LATENCY, "ib_write_lat")[1], _MOST_99, "ib_write_lat")


@dataclass(frozen=True)
class Exchange:
    """What fi_pingpong reached: MB/s, and microseconds of a transfer."""

    mb_per_s: float
    us: float


def exchange(text: str) -> Exchange:
    """The last line of fi_pingpong. All that was sent must have come back, else the provider lost some."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not any(_PINGPONG.match(line) for line in lines):
        raise UnreadableError(f"fi_pingpong transferred nothing: {_last(lines)}")
    found = _EXCHANGED.fullmatch(lines[-1])
    if found is None:
        raise UnreadableError(f"fi_pingpong ended early: {_last(lines)}")
    if found[1] != "=":
        raise UnreadableError(f"fi_pingpong received other data than it sent: {_last(lines)}")
    return Exchange(float(found[2]), float(found[3]))


def _row(text: str, heading: re.Pattern[str], program: str) -> tuple[str, list[str]]:
    """The unit in the heading, and the one row below it. The rule that perftest draws at its end closes it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    at = next((number for number, line in enumerate(lines) if heading.match(line)), None)
    if at is None:
        raise UnreadableError(f"{program} measured nothing: {_last(lines)}")
    told = heading.match(lines[at])
    after = [line for line in lines[at + 1 :] if not line.startswith("Conflicting CPU frequency")]
    if len(after) < 2 or not _RULE.fullmatch(after[1]):
        raise UnreadableError(f"{program} ended early: {_last(lines)}")
    return (told[1] if told and told.groups() else ""), after[0].split()


def _number(row: list[str], column: int, program: str) -> float:
    try:
        found = float(row[column])
        int(row[0])
    except (IndexError, ValueError):
        raise UnreadableError(f"not a row of {program}: {' '.join(row)!r}") from None
    return found


def _last(lines: list[str]) -> str:
    return repr(lines[-1][:160]) if lines else "it is empty"
