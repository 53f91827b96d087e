"""What the account tells about itself before anything is made: quotas, reservations, versions, images, offerings."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.error import HTTPError

import pytest

from rehearsal.tests.cloud.conftest import REGION, Cloud, refused
from rehearsal.tests.cloud.world import Network

BLOCK = "cr-0123456789abcdef0"
P_INSTANCES = {"ServiceCode": "ec2", "QuotaCode": "L-417A185B"}


@pytest.fixture
def block(cloud: Cloud, ec2: Any, network: Network) -> Iterator[str]:
    """A block of two p5.48xlarge in the zone of the first subnet; gone after the test."""
    subnet = ec2.describe_subnets(SubnetIds=[network.subnets[0]])["Subnets"][0]
    order = {"instanceType": "p5.48xlarge", "zoneId": subnet["AvailabilityZoneId"], "count": 2}
    cloud.call("PUT", f"reservations/{REGION}/{BLOCK}", {**order, "end": "2026-12-01T11:30:00+00:00"})
    yield BLOCK
    cloud.call("PUT", f"reservations/{REGION}/{BLOCK}", {"state": None})


def test_a_quota_has_a_default_and_a_value(cloud: Cloud) -> None:
    """A new account may run no P instance; this one was raised, and an order sets it for one region."""
    quotas = cloud.client("service-quotas")
    assert quotas.get_aws_default_service_quota(**P_INSTANCES)["Quota"]["Value"] == 0
    shown = quotas.get_service_quota(**P_INSTANCES)["Quota"]
    assert (shown["QuotaName"], shown["Adjustable"]) == ("Running On-Demand P instances", True)
    before = shown["Value"]
    assert before > 0
    cloud.call("PUT", f"quotas/{REGION}/ec2/L-417A185B", {"value": 192})
    assert quotas.get_service_quota(**P_INSTANCES)["Quota"]["Value"] == 192
    assert cloud.client("service-quotas", "us-east-2").get_service_quota(**P_INSTANCES)["Quota"]["Value"] == before
    cloud.call("PUT", f"quotas/{REGION}/ec2/L-417A185B", {})
    assert quotas.get_service_quota(**P_INSTANCES)["Quota"]["Value"] == before


def test_an_unknown_quota_is_refused(cloud: Cloud) -> None:
    """By code, by service, and as an order."""
    quotas = cloud.client("service-quotas")
    code = "NoSuchResourceException"
    refused(quotas.get_service_quota, code, "L-00000000", ServiceCode="ec2", QuotaCode="L-00000000")
    refused(quotas.get_service_quota, code, ServiceCode="fsx", QuotaCode="L-417A185B")
    refused(quotas.list_service_quotas, code, ServiceCode="ec3")
    with pytest.raises(HTTPError) as caught:
        cloud.call("PUT", f"quotas/{REGION}/ec2/L-00000000", {"value": 1})
    assert caught.value.code == 404
    caught.value.close()


def test_quotas_are_listed_page_by_page(cloud: Cloud) -> None:
    """A caller that looks at the first page only misses some."""
    pages = cloud.client("service-quotas").get_paginator("list_service_quotas")
    listed = [list(page["Quotas"]) for page in pages.paginate(ServiceCode="ec2", PaginationConfig={"PageSize": 5})]
    assert len(listed) > 1
    codes = [quota["QuotaCode"] for page in listed for quota in page]
    assert len(codes) == len(set(codes))
    assert {"L-417A185B", "L-DB2E81BA", "L-1216C47A", "L-0263D0A3"} <= set(codes)


def test_a_block_as_described(ec2: Any, block: str) -> None:
    """Members a client compares with its own: type, count, zone, end, kind."""
    shown = ec2.describe_capacity_reservations(CapacityReservationIds=[block])["CapacityReservations"][0]
    assert (shown["InstanceType"], shown["TotalInstanceCount"], shown["State"]) == ("p5.48xlarge", 2, "active")
    assert shown["ReservationType"] == "capacity-block"
    assert shown["EndDate"] == datetime(2026, 12, 1, 11, 30, tzinfo=UTC)
    zones = ec2.describe_availability_zones(ZoneIds=[shown["AvailabilityZoneId"]])["AvailabilityZones"]
    assert zones[0]["ZoneName"] == shown["AvailabilityZone"]
    matching = [{"Name": "instance-type", "Values": ["p5.48xlarge"]}, {"Name": "state", "Values": ["active"]}]
    assert len(ec2.describe_capacity_reservations(Filters=matching)["CapacityReservations"]) == 1
    other = [{"Name": "instance-type", "Values": ["p5en.48xlarge"]}]
    assert ec2.describe_capacity_reservations(Filters=other)["CapacityReservations"] == []
    unknown: dict[str, Any] = {"CapacityReservationIds": [block, "cr-00000000000000000"]}
    refused(ec2.describe_capacity_reservations, "InvalidCapacityReservationId.NotFound", **unknown)


def launch(ec2: Any, subnet: str, block: str, **more: Any) -> list[str]:
    """Instances out of a block, as a node group's launch template asks for them; their ids."""
    request = {
        "InstanceType": "p5.48xlarge",
        "MinCount": 1,
        "MaxCount": 1,
        "SubnetId": subnet,
        "ImageId": "ami-0123456789abcdef0",
        "InstanceMarketOptions": {"MarketType": "capacity-block"},
        "CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": block}},
        **more,
    }
    return [each["InstanceId"] for each in ec2.run_instances(**request)["Instances"]]


def test_a_block_gives_what_it_has(ec2: Any, network: Network, block: str) -> None:
    """Two instances, and not a third; another type, zone or market is refused."""

    def left() -> int:
        shown = ec2.describe_capacity_reservations(CapacityReservationIds=[block])["CapacityReservations"][0]
        return int(shown["AvailableInstanceCount"])

    here, elsewhere = network.subnets
    place: dict[str, Any] = {"ec2": ec2, "subnet": here, "block": block}
    refused(launch, "ReservationCapacityExceeded", "2 instances left", **place, MaxCount=3, MinCount=3)
    refused(launch, "InvalidParameterValue", "p5.48xlarge", **place, InstanceType="p5en.48xlarge")
    refused(launch, "InvalidParameterValue", **{**place, "subnet": elsewhere})
    refused(launch, "InvalidParameterCombination", "capacity-block", **place, InstanceMarketOptions={})
    refused(launch, "InvalidParameterCombination", "name", **place, CapacityReservationSpecification={})
    assert left() == 2
    started = launch(ec2, here, block)
    assert left() == 1
    ec2.terminate_instances(InstanceIds=started)
    assert left() == 2


def test_a_block_before_its_time_gives_nothing(cloud: Cloud, ec2: Any, network: Network, block: str) -> None:
    """It is scheduled until its start."""
    zone = ec2.describe_capacity_reservations(CapacityReservationIds=[block])["CapacityReservations"][0]
    order = {"instanceType": "p5.48xlarge", "zoneId": zone["AvailabilityZoneId"], "count": 2, "state": "scheduled"}
    cloud.call("PUT", f"reservations/{REGION}/{block}", order)
    place: dict[str, Any] = {"ec2": ec2, "subnet": network.subnets[0], "block": block}
    refused(launch, "InvalidCapacityReservationState", "scheduled", **place)


@pytest.mark.parametrize(
    "order",
    [
        {"instanceType": "p5.48xlarge", "zoneId": "use1-az1"},
        {"instanceType": "p5.48xlarge", "zoneId": "usw2-az1", "count": 1},
        {"instanceType": "p5.48xlarge", "zoneId": "use1-az1", "count": 1, "state": "open"},
        {"instanceType": "p5.48xlarge", "zoneId": "use1-az1", "count": 1, "type": "odcr"},
    ],
)
def test_a_bad_order_of_a_reservation_is_explained(cloud: Cloud, order: dict[str, Any]) -> None:
    """Status 400, and nothing is made."""
    with pytest.raises(HTTPError) as caught:
        cloud.call("PUT", f"reservations/{REGION}/{BLOCK}", order)
    assert caught.value.code == 400
    caught.value.close()
    found = cloud.client("ec2").describe_capacity_reservations()["CapacityReservations"]
    assert BLOCK not in [each["CapacityReservationId"] for each in found]


def test_versions_of_kubernetes(cloud: Cloud) -> None:
    """Status and ends of support of those asked for; one that is not there is left out."""
    eks = cloud.client("eks")
    shown = eks.describe_cluster_versions(clusterVersions=["1.36", "1.29"])["clusterVersions"]
    assert [(row["clusterVersion"], row["versionStatus"]) for row in shown] == [("1.36", "STANDARD_SUPPORT")]
    assert shown[0]["endOfStandardSupportDate"] == datetime(2027, 8, 2, tzinfo=UTC)
    extended = eks.describe_cluster_versions(versionStatus="EXTENDED_SUPPORT")["clusterVersions"]
    assert [row["clusterVersion"] for row in extended] == ["1.33", "1.32", "1.31"]
    default = eks.describe_cluster_versions(defaultOnly=True)["clusterVersions"]
    assert [row["clusterVersion"] for row in default] == ["1.35"]


def test_images_of_eks(cloud: Cloud) -> None:
    """By release and as recommended; what does not exist is named, not refused."""
    folder = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia"
    release = f"{folder}/amazon-eks-node-al2023-x86_64-nvidia-1.36-v20260728"
    gone = f"{folder}/amazon-eks-node-al2023-x86_64-nvidia-1.36-v20250101/image_id"
    names = [f"{release}/image_id", f"{release}/release_version", f"{folder}/recommended/release_version", gone]
    answer = cloud.client("ssm").get_parameters(Names=names)
    found = {row["Name"]: row["Value"] for row in answer["Parameters"]}
    assert found[names[0]].startswith("ami-")
    assert found[names[1]] == "1.36.2-20260728"
    assert found[names[2]] > found[names[1]]
    assert answer["InvalidParameters"] == [gone]


def test_offerings_by_zone_id(ec2: Any) -> None:
    """What is launched by zone name is offered by zone id; ids are the same in every account."""
    wanted = [{"Name": "instance-type", "Values": ["g6e.xlarge"]}]

    def offered(kind: str) -> set[str]:
        answer = ec2.describe_instance_type_offerings(LocationType=kind, Filters=wanted)
        return {row["Location"] for row in answer["InstanceTypeOfferings"]}

    zones = ec2.describe_availability_zones()["AvailabilityZones"]
    ids = {zone["ZoneId"] for zone in zones if zone["ZoneName"] in offered("availability-zone")}
    assert ids
    assert offered("availability-zone-id") == ids
    assert ids < {zone["ZoneId"] for zone in zones}
