"""What FSx tells CloudWatch by itself: a data point of each OST and minute, while the file system is there."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rehearsal.cloud.metrics import FREE_PART, PER_MINUTE
from rehearsal.tests.cloud.conftest import Cloud, until
from rehearsal.tests.cloud.test_fsx import SCRATCH, lifecycle, request
from rehearsal.tests.cloud.world import Network


def asked(cloud: Cloud, system: str, metric: str, statistic: str) -> list[float]:
    """Values of the last whole minutes, the newest first."""
    end = datetime.now(UTC).replace(second=0, microsecond=0)
    of: dict[str, Any] = {
        "Namespace": "AWS/FSx",
        "MetricName": metric,
        "Dimensions": [{"Name": "FileSystemId", "Value": system}],
    }
    query = {"Id": "one", "MetricStat": {"Metric": of, "Period": 60, "Stat": statistic}}
    answer = cloud.client("cloudwatch").get_metric_data(
        MetricDataQueries=[query], StartTime=end - timedelta(minutes=5), EndTime=end, ScanBy="TimestampDescending"
    )
    return [float(each) for each in answer["MetricDataResults"][0]["Values"]]


def test_a_file_system_tells_of_each_of_its_targets(cloud: Cloud, network: Network) -> None:
    """Sum is the whole file system's, Minimum the fullest target's, SampleCount how many there are (FSx user guide)."""
    fsx = cloud.client("fsx")
    system = fsx.create_file_system(**request(network, 2400, SCRATCH))["FileSystem"]["FileSystemId"]
    until(lambda: lifecycle(fsx, system) == "AVAILABLE")
    assert asked(cloud, system, "DataReadBytes", "Sum")[0] == 2 * PER_MINUTE["DataReadBytes"]
    free = asked(cloud, system, "FreeDataStorageCapacity", "Sum")
    assert free[0] == FREE_PART * 2400 * 2**30
    assert asked(cloud, system, "FreeDataStorageCapacity", "Minimum")[0] == free[0] / 2
    assert asked(cloud, system, "FreeDataStorageCapacity", "SampleCount")[0] == 2
    assert asked(cloud, "fs-0123456789abcdef0", "DataReadBytes", "Sum") == []
    fsx.delete_file_system(FileSystemId=system)
    until(lambda: lifecycle(fsx, system) == "")
    assert asked(cloud, system, "DataReadBytes", "Sum") == []
