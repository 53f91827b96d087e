"""How fast this machine is in this hour: the budgets of seconds are for one that counts in 0.6 s.

python -m tests.bench.yardstick
"""

import time

USUAL = 0.6
"""Seconds that the loop takes where the budgets were set."""


def counting_seconds() -> float:
    """How long Python takes to add up twenty million numbers: the same machine is not the same every hour."""
    began, total = time.perf_counter(), 0
    for number in range(20_000_000):
        total += number
    return time.perf_counter() - began


if __name__ == "__main__":
    print(f"yardstick: {counting_seconds():.1f} s for 20 million additions; budgets are for {USUAL} s")
