"""Capacity blocks under a clock, and tags of images that do not move."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.tests.cloud.conftest import REGION, Cloud
from rehearsal.tests.cloud.world import Network

BLOCK = "cr-0123456789abcdef9"
ORDER = {
    "instanceType": "p5.48xlarge",
    "zoneId": "use1-az1",
    "count": 2,
    "start": "2026-12-01T11:30:00+00:00",
    "end": "2026-12-02T11:30:00+00:00",
    "state": "scheduled",
}


@pytest.fixture
def block(cloud: Cloud) -> Iterator[str]:
    cloud.call("PUT", f"reservations/{REGION}/{BLOCK}", ORDER)
    yield BLOCK
    cloud.call("PUT", f"reservations/{REGION}/{BLOCK}", {"state": None})


@pytest.mark.parametrize(
    ("now", "state"),
    [
        ("2026-12-01T11:29:59+00:00", "scheduled"),
        ("2026-12-01T11:30:00+00:00", "active"),
        ("2026-12-02T11:29:59+00:00", "active"),
        ("2026-12-02T11:30:00+00:00", "expired"),
    ],
)
def test_a_block_begins_and_ends_with_the_clock(cloud: Cloud, block: str, now: str, state: str) -> None:
    assert cloud.call("PUT", f"calendar/{REGION}", {"now": now})[block] == state


def test_one_that_is_delayed_does_not_begin_by_itself(cloud: Cloud, block: str) -> None:
    cloud.call("PUT", f"reservations/{REGION}/{block}", {**ORDER, "state": "delayed"})
    assert cloud.call("PUT", f"calendar/{REGION}", {"now": "2026-12-01T12:00:00+00:00"})[block] == "delayed"


def test_its_instances_end_half_an_hour_before_it(cloud: Cloud, network: Network, block: str) -> None:
    ec2 = cloud.client("ec2")
    zone = ec2.describe_subnets(SubnetIds=[network.subnets[0]])["Subnets"][0]["AvailabilityZoneId"]
    cloud.call("PUT", f"reservations/{REGION}/{block}", {**ORDER, "zoneId": zone, "state": "active"})
    target = {"CapacityReservationTarget": {"CapacityReservationId": block}}
    made = ec2.run_instances(
        ImageId="ami-0123456789abcdef0",
        MinCount=1,
        MaxCount=1,
        InstanceType="p5.48xlarge",
        SubnetId=network.subnets[0],
        InstanceMarketOptions={"MarketType": "capacity-block"},
        CapacityReservationSpecification=target,
    )["Instances"][0]["InstanceId"]

    def state() -> str:
        found = ec2.describe_instances(InstanceIds=[made])["Reservations"][0]["Instances"][0]
        return str(found["State"]["Name"])

    cloud.call("PUT", f"calendar/{REGION}", {"now": "2026-12-02T10:59:00+00:00"})
    assert state() in ("pending", "running")
    cloud.call("PUT", f"calendar/{REGION}", {"now": "2026-12-02T11:00:00+00:00"})
    assert state() in ("shutting-down", "terminated")


def pushed(ecr: Any, tag: str, content: str) -> None:
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    manifest = json.dumps({"schemaVersion": 2, "mediaType": kind, "config": {"digest": content}, "layers": []})
    ecr.put_image(repositoryName="tags", imageTag=tag, imageManifest=manifest)


def test_a_reservation_on_demand_holds_so_many_and_no_more(cloud: Cloud, network: Network, block: str) -> None:
    """One of its own type and zone; the next instance finds no place, and one that ends makes it again."""
    ec2 = cloud.client("ec2")
    zone = ec2.describe_subnets(SubnetIds=[network.subnets[0]])["Subnets"][0]["AvailabilityZoneId"]
    order = {"instanceType": "m5.large", "zoneId": zone, "count": 1, "type": "default"}
    cloud.call("PUT", f"reservations/{REGION}/{block}", order)
    launch = {
        "ImageId": "ami-0123456789abcdef0",
        "MinCount": 1,
        "MaxCount": 1,
        "InstanceType": "m5.large",
        "SubnetId": network.subnets[0],
        "CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": block}},
    }

    def left() -> int:
        (found,) = ec2.describe_capacity_reservations(CapacityReservationIds=[block])["CapacityReservations"]
        return int(found["AvailableInstanceCount"])

    assert left() == 1
    made = ec2.run_instances(**launch)["Instances"][0]["InstanceId"]
    assert left() == 0
    with pytest.raises(ClientError, match="ReservationCapacityExceeded"):
        ec2.run_instances(**launch)
    with pytest.raises(ClientError, match=r"is for m5\.large .* the launch for m5\.xlarge"):
        ec2.run_instances(**{**launch, "InstanceType": "m5.xlarge"})
    ec2.terminate_instances(InstanceIds=[made])
    assert left() == 1


def test_a_tag_that_is_immutable_stays_with_its_image(cloud: Cloud) -> None:
    ecr = cloud.client("ecr")
    ecr.create_repository(repositoryName="tags", imageTagMutability="IMMUTABLE")
    try:
        pushed(ecr, "1.0", "one")
        with pytest.raises(ClientError, match="ImageTagAlreadyExistsException"):
            pushed(ecr, "1.0", "two")
        with pytest.raises(ClientError, match="ImageAlreadyExistsException"):
            pushed(ecr, "1.0", "one")
        pushed(ecr, "1.1", "two")
    finally:
        ecr.delete_repository(repositoryName="tags", force=True)
