"""Shows Prometheus what a file system of FSx for Lustre does, as its servers tell CloudWatch (X05).

Once a minute it asks for the newest whole minute: what clients read and wrote, operations, and what is free. The names
are those of a shared file system whoever keeps it, and its capacity and rate are the plan's.

Sources: FSx for Lustre user guide, "Amazon FSx for Lustre metrics and dimensions" (dimension FileSystemId; a data point
of each OST and minute, so Sum is the whole, Minimum the fullest OST, SampleCount how many there are); CloudWatch API
reference, GetMetricData.
"""

from __future__ import annotations

import argparse
import http.client
import re
import sys
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NoReturn
from urllib.parse import urlencode

import signing
from exposed import Sample, page, served
from signing import Credentials

PERIOD = timedelta(minutes=1)
LATE = 2 * PERIOD
"""Servers tell of a minute up to so long after its end, one after the other: a sum before is of some alone. Assumed."""

WINDOW = 10 * PERIOD
"""A minute older than this says nothing of now."""

VERSION = "2010-08-01"
_SPACE = f"{{http://monitoring.amazonaws.com/doc/{VERSION}/}}"

QUERIES: Mapping[str, tuple[str, str]] = {
    "read": ("DataReadBytes", "Sum"),
    "write": ("DataWriteBytes", "Sum"),
    "reads": ("DataReadOperations", "Sum"),
    "writes": ("DataWriteOperations", "Sum"),
    "metadata": ("MetadataOperations", "Sum"),
    "free": ("FreeDataStorageCapacity", "Sum"),
    "least": ("FreeDataStorageCapacity", "Minimum"),
    "targets": ("FreeDataStorageCapacity", "SampleCount"),
}
"""Metric and statistic by the query's id. Each is charged by itself."""

HELP = {
    "shared_files_up": "Whether who knows the file system's rates answered.",
    "shared_files_bytes_per_second": "What clients read and wrote, on average of a minute.",
    "shared_files_rate_bytes_per_second": "What the file system carries, as planned.",
    "shared_files_operations_per_second": "Operations of clients, on average of a minute.",
    "shared_files_used_ratio": "Part of the capacity that is in use.",
    "shared_files_fullest_target_ratio": "Part of the fullest target (OST) that is in use.",
}


def form(file_system: str, now: datetime) -> bytes:
    """The request of all queries, as CloudWatch's Query protocol has it."""
    end = now.astimezone(UTC).replace(second=0, microsecond=0) - LATE
    told = {
        "Action": "GetMetricData",
        "Version": VERSION,
        "StartTime": (end - WINDOW).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "EndTime": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "ScanBy": "TimestampDescending",
    }
    for number, (name, (metric, statistic)) in enumerate(QUERIES.items(), start=1):
        query = f"MetricDataQueries.member.{number}"
        told |= {
            f"{query}.Id": name,
            f"{query}.MetricStat.Metric.Namespace": "AWS/FSx",
            f"{query}.MetricStat.Metric.MetricName": metric,
            f"{query}.MetricStat.Metric.Dimensions.member.1.Name": "FileSystemId",
            f"{query}.MetricStat.Metric.Dimensions.member.1.Value": file_system,
            f"{query}.MetricStat.Period": str(int(PERIOD.total_seconds())),
            f"{query}.MetricStat.Stat": statistic,
        }
    return urlencode(told).encode()


def newest(answer: bytes) -> dict[str, float]:
    """The newest value of each query that has one."""
    results = ET.fromstring(answer).find(f".//{_SPACE}MetricDataResults")  # noqa: S314 - CloudWatch's, over TLS
    found: dict[str, float] = {}
    for each in results if results is not None else ():
        value = each.find(f"{_SPACE}Values/{_SPACE}member")
        if value is not None:
            found[each.findtext(f"{_SPACE}Id", "")] = float(value.text or "")
    return found


@dataclass
class Watch:
    """Asks `address` of `region`, and keeps what it said last. Bytes of the file system, and bytes per second."""

    file_system: str
    region: str
    address: str
    capacity: float
    rate: float
    text: str = field(default_factory=lambda: page(HELP, []))
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _known: Credentials | None = None
    _told: str = ""

    def look(self) -> None:
        """Asks once."""
        try:
            values = self._ask()
        except (OSError, ValueError, KeyError, http.client.HTTPException, ET.ParseError) as error:
            self._tell(_sentence(error))
            self.text = page(HELP, [("shared_files_up", self._of(), 0.0)])
            return
        self._tell("" if values else "CloudWatch has no value of it yet")
        self.text = page(HELP, [("shared_files_up", self._of(), 1.0), *self._samples(values)])

    def _ask(self) -> dict[str, float]:
        now = self.now()
        if self._known is None or not self._known.last(now):
            self._known = signing.credentials()
        request = signing.signed(self.address, form(self.file_system, now), self.region, "monitoring", self._known, now)
        with urllib.request.urlopen(request, timeout=signing.SECONDS) as answer:  # noqa: S310
            return newest(answer.read())

    def _samples(self, values: Mapping[str, float]) -> Iterator[Sample]:
        second = PERIOD.total_seconds()
        yield "shared_files_rate_bytes_per_second", self._of(), self.rate
        for name in ("read", "write"):
            if name in values:
                yield "shared_files_bytes_per_second", self._of(operation=name), values[name] / second
        for name, operation in (("reads", "read"), ("writes", "write"), ("metadata", "metadata")):
            if name in values:
                yield "shared_files_operations_per_second", self._of(operation=operation), values[name] / second
        if "free" in values:
            yield "shared_files_used_ratio", self._of(), 1 - values["free"] / self.capacity
        if "least" in values and values.get("targets"):
            of_one = self.capacity / values["targets"]
            yield "shared_files_fullest_target_ratio", self._of(), 1 - values["least"] / of_one

    def _of(self, **more: str) -> dict[str, str]:
        return {"file_system": self.file_system, **more}

    def _tell(self, sentence: str) -> None:
        """Says a sentence once, as long as it is the same."""
        if sentence and sentence != self._told:
            print(f"{self.file_system}: {sentence}", file=sys.stderr, flush=True)
        self._told = sentence


def _sentence(error: Exception) -> str:
    """CloudWatch says in its answer what it refuses, beside an id that is of this request alone."""
    if isinstance(error, urllib.error.HTTPError):
        said = error.read().decode(errors="replace")
        found = re.search(r"<Message>(.*?)</Message>", said, re.DOTALL)
        return f"CloudWatch answers {error.code}: {found[1] if found else said[:200]}"
    return str(error) or type(error).__name__


def main(words: Sequence[str]) -> NoReturn:
    """Looks until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--file-system", required=True, help="its id in FSx")
    parser.add_argument("--region", required=True, help="where it is")
    parser.add_argument("--address", required=True, help="of CloudWatch there")
    parser.add_argument("--capacity", type=float, required=True, help="bytes")
    parser.add_argument("--rate", type=float, required=True, help="bytes per second that it carries")
    parser.add_argument("--listen", type=int, required=True, help="port of /metrics")
    parser.add_argument("--look-seconds", type=float, required=True, help="so long between two looks")
    asked = parser.parse_args(list(words))
    watch = Watch(asked.file_system, asked.region, asked.address, asked.capacity, asked.rate)
    served(lambda: watch.text, "", asked.listen)
    while True:
        watch.look()
        time.sleep(asked.look_seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
