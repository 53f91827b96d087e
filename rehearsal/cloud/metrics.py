"""What AWS' services tell CloudWatch by themselves: FSx' file systems, a data point of each OST and minute.

Source: FSx for Lustre user guide, "Amazon FSx for Lustre metrics and dimensions". How many OSTs a file system has is
its capacity in steps of 1,200 GiB (the same guide, "Striping data in your file system"). Nobody reads or writes here:
the rates and what is free are those of a quiet file system.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from moto.cloudwatch.models import CloudWatchBackend, MetricDatum

from rehearsal.cloud.account import ACCOUNT, now
from rehearsal.cloud.amend import Amendments
from rehearsal.cloud.fsx.service import FSX_BACKENDS

AMENDMENTS = Amendments()

OST_GIB, FREE_PART = 1200, 0.6
PER_MINUTE: Mapping[str, float] = {
    "DataReadBytes": 3e9,
    "DataWriteBytes": 6e8,
    "DataReadOperations": 3000,
    "DataWriteOperations": 600,
    "MetadataOperations": 1200,
}
"""What each OST tells in a minute, by metric."""
REMEMBERED = timedelta(minutes=15)


def told(body: Mapping[str, Any], at: datetime) -> Iterator[MetricDatum]:
    """Data points of a file system, as it is described, of the last minutes before `at`."""
    targets = max(1, body["StorageCapacity"] // OST_GIB)
    free = FREE_PART * body["StorageCapacity"] * 2**30 / targets
    dimensions = [{"Name": "FileSystemId", "Value": body["FileSystemId"]}]
    minute = at.replace(second=0, microsecond=0)
    for back in range(1, int(REMEMBERED / timedelta(minutes=1))):
        for name, value in {**PER_MINUTE, "FreeDataStorageCapacity": free}.items():
            for _ in range(targets):
                yield MetricDatum("AWS/FSx", name, value, dimensions, minute - back * timedelta(minutes=1))


@AMENDMENTS.around(CloudWatchBackend, "get_all_metrics")
def get_all_metrics(original: Any, self: Any) -> Any:
    """The metrics that somebody put, and those that the region's file systems tell."""
    known = FSX_BACKENDS[ACCOUNT][self.region_name].file_systems.values()
    there = [each.body for each in known if each.body["Lifecycle"] in ("AVAILABLE", "UPDATING")]
    at = now().replace(tzinfo=None)  # as moto keeps all of them
    return [*original(self), *(point for body in there for point in told(body, at))]
