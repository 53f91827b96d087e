"""Shows Prometheus what this machine's targets of Lustre do, as Lustre counts it there (X05).

The names are those of a shared file system whoever keeps it (rates.py); each server tells of its own targets, and of
the rate that the plan counts for all of them.

Sources: lctl(8), get_param: `PARAM=VALUE`, or `PARAM=` with lines below, and status 2 where one pattern of several
meets nothing; Lustre operations manual, "Lustre Parameters" (obdfilter.*.stats, mdt.*.md_stats: NAME COUNT samples
[UNIT], then MIN MAX SUM of what has sizes, since the target was started; obdfilter.*.kbytestotal and kbytesavail).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from exposed import Sample, page, served

ASKED = ("obdfilter.*.stats", "obdfilter.*.kbytestotal", "obdfilter.*.kbytesavail", "mdt.*.md_stats")
SECONDS = 10
"""Until lctl has answered: it reads memory of the kernel."""

HELP = {
    "shared_files_up": "Whether Lustre told of any target on this server.",
    "shared_files_bytes_per_second": "What clients read and wrote on this server's targets since the last look.",
    "shared_files_rate_bytes_per_second": "What the whole file system carries, as planned.",
    "shared_files_operations_per_second": "Operations of clients on this server's targets since the last look.",
    "shared_files_fullest_target_ratio": "Part of the server's fullest target (OST) that is in use.",
}

GROWING = (
    ("bytes", "read", "stats", "read_bytes sum"),
    ("bytes", "write", "stats", "write_bytes sum"),
    ("operations", "read", "stats", "read_bytes"),
    ("operations", "write", "stats", "write_bytes"),
    ("operations", "metadata", "md_stats", ""),
)
"""What is told by the second: its name and operation, and the parameter's line that counts it, or all of its lines. A
target that was started since begins at nothing, and one that came from the partner brings no past: neither counts.
"""

Counts = Mapping[tuple[str, str, str], float]
"""By parameter, target and line: samples of a line, and as `read_bytes sum` its bytes; KiB of what has no lines."""


def counts(text: str) -> dict[tuple[str, str, str], float]:
    """What lctl said."""
    found: dict[tuple[str, str, str], float] = {}
    target = parameter = ""
    for line in text.splitlines():
        name, is_parameter, value = line.partition("=")
        words = line.split()
        if is_parameter:
            _, target, parameter = name.split(".")
            if value:
                found[parameter, target, ""] = float(value)
        elif words[2:3] == ["samples"]:
            found[parameter, target, words[0]] = float(words[1])
            if words[3:4] == ["[bytes]"]:
                found[parameter, target, f"{words[0]} sum"] = float(words[6])
    return found


def _lctl() -> str:
    """Patterns that meet nothing here are no failure: a metadata server has no OSTs."""
    done = subprocess.run(["lctl", "get_param", *ASKED], capture_output=True, text=True, timeout=SECONDS, check=False)
    return done.stdout


@dataclass
class Watch:
    """Looks at this machine's targets of the file system `name`, which carries `rate` bytes a second."""

    name: str
    rate: float
    ask: Callable[[], str] = _lctl
    now: Callable[[], float] = time.monotonic
    text: str = field(default_factory=lambda: page(HELP, []))
    _before: tuple[float, Counts] | None = None

    def look(self) -> None:
        """Looks once: rates are there from the second time on."""
        now = self.now()
        try:
            found = counts(self.ask())
            samples = list(self._samples(now, found))
        except (OSError, ValueError, LookupError, subprocess.SubprocessError) as error:
            print(f"lctl: {error}", file=sys.stderr, flush=True)
            found, samples = {}, list(self._samples(now, {}))
        self.text = page(HELP, samples)
        self._before = (now, found) if found else None

    def _samples(self, now: float, found: Counts) -> Iterator[Sample]:
        of = {"file_system": self.name}
        yield "shared_files_up", of, float(bool(found))
        if not found:
            return
        yield "shared_files_rate_bytes_per_second", of, self.rate
        if self._before is not None:
            seconds, before = now - self._before[0], self._before[1]
            for name, operation, parameter, line in GROWING:
                grown = [
                    max(0.0, count - before.get(key, count))
                    for key, count in found.items()
                    if key[0] == parameter and line in ("", key[2])
                ]
                if grown:
                    yield f"shared_files_{name}_per_second", {**of, "operation": operation}, sum(grown) / seconds
        filled = [
            1 - found["kbytesavail", target, ""] / whole
            for (parameter, target, _), whole in found.items()
            if parameter == "kbytestotal" and whole
        ]
        if filled:
            yield "shared_files_fullest_target_ratio", of, max(filled)


def main(words: Sequence[str]) -> NoReturn:
    """Looks until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--file-system", required=True, help="its name")
    parser.add_argument("--rate", type=float, required=True, help="bytes per second that it carries")
    parser.add_argument("--address", required=True, help="of this machine, where /metrics is")
    parser.add_argument("--listen", type=int, required=True, help="port of /metrics")
    parser.add_argument("--look-seconds", type=float, required=True, help="so long between two looks")
    asked = parser.parse_args(list(words))
    watch = Watch(asked.file_system, asked.rate)
    served(lambda: watch.text, asked.address, asked.listen)
    while True:
        watch.look()
        time.sleep(asked.look_seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
