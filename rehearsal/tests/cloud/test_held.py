"""On-Demand Capacity Reservations that an account makes: what they take, who starts in them, how they end."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import REGION, Cloud, refused
from rehearsal.tests.cloud.world import Network

TYPE = "p5.48xlarge"
QUOTA = "L-417A185B"
REQUEST: dict[str, Any] = {
    "AvailabilityZone": "us-east-1a",
    "InstanceType": TYPE,
    "InstancePlatform": "Linux/UNIX",
    "InstanceCount": 2,
    "InstanceMatchCriteria": "targeted",
}


@pytest.fixture
def three(cloud: Cloud) -> Iterator[None]:
    """EC2 has three of the type, and the account may run ten."""
    cloud.call("PUT", f"capacity/{REGION}/{TYPE}", {"count": 3})
    cloud.call("PUT", f"quotas/{REGION}/ec2/{QUOTA}", {"value": 10 * 192})
    yield
    cloud.call("PUT", f"capacity/{REGION}/{TYPE}", {})
    cloud.call("PUT", f"quotas/{REGION}/ec2/{QUOTA}", {})


@pytest.fixture
def hold(ec2: Any, three: None) -> Iterator[Callable[..., str]]:
    """Makes reservations, which are cancelled after the test."""
    made: list[str] = []

    def create(**changes: Any) -> str:
        made.append(
            ec2.create_capacity_reservation(**REQUEST | changes)["CapacityReservation"]["CapacityReservationId"]
        )
        return made[-1]

    yield create
    for each in made:
        if described(ec2, each)["State"] == "active":
            ec2.cancel_capacity_reservation(CapacityReservationId=each)


def described(ec2: Any, held: str) -> dict[str, Any]:
    found: dict[str, Any] = ec2.describe_capacity_reservations(CapacityReservationIds=[held])["CapacityReservations"][0]
    return found


def launch(ec2: Any, subnet: str, count: int = 1, **more: Any) -> list[str]:
    request = {"ImageId": "ami-0123456789abcdef0", "InstanceType": TYPE, "SubnetId": subnet}
    answer = ec2.run_instances(**request, MinCount=count, MaxCount=count, **more)
    return [each["InstanceId"] for each in answer["Instances"]]


def into(held: str) -> dict[str, Any]:
    return {"CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": held}}}


def test_what_is_held_is_there_for_those_who_name_it_and_for_nobody_else(
    ec2: Any, network: Network, hold: Callable[..., str]
) -> None:
    subnet = network.subnets[0]
    held = hold(AvailabilityZone=ec2.describe_subnets(SubnetIds=[subnet])["Subnets"][0]["AvailabilityZone"])
    first = launch(ec2, subnet)
    refused(launch, "InsufficientInstanceCapacity", ec2=ec2, subnet=subnet)
    inside = launch(ec2, subnet, 2, **into(held))
    assert described(ec2, held)["AvailableInstanceCount"] == 0
    refused(launch, "ReservationCapacityExceeded", ec2=ec2, subnet=subnet, **into(held))
    ec2.cancel_capacity_reservation(CapacityReservationId=held)
    states = ec2.describe_instances(InstanceIds=inside)["Reservations"][0]["Instances"]
    assert {each["State"]["Name"] for each in states} <= {"pending", "running"}
    ec2.terminate_instances(InstanceIds=[*first, *inside])


def test_one_is_refused_where_ec2_has_too_few_or_the_account_may_not(ec2: Any, hold: Callable[..., str]) -> None:
    refused(ec2.create_capacity_reservation, "InsufficientInstanceCapacity", **REQUEST | {"InstanceCount": 4})
    refused(ec2.create_capacity_reservation, "VcpuLimitExceeded", **REQUEST | {"InstanceCount": 11})
    held = hold()
    refused(ec2.create_capacity_reservation, "InsufficientInstanceCapacity", **REQUEST)
    grow: dict[str, Any] = {"CapacityReservationId": held, "InstanceCount": 4}
    refused(ec2.modify_capacity_reservation, "InsufficientInstanceCapacity", **grow)
    ec2.modify_capacity_reservation(CapacityReservationId=held, InstanceCount=3)
    assert described(ec2, held)["TotalInstanceCount"] == 3


def test_its_end_and_its_tags(ec2: Any, hold: Callable[..., str]) -> None:
    mine = [{"Key": "stack", "Value": "held"}]
    held = hold(TagSpecifications=[{"ResourceType": "capacity-reservation", "Tags": mine}])
    assert described(ec2, held)["EndDateType"] == "unlimited"
    ends = {"CapacityReservationId": held, "EndDateType": "limited"}
    refused(ec2.modify_capacity_reservation, "InvalidParameterCombination", **ends)
    refused(ec2.modify_capacity_reservation, "InvalidParameterValue", "past", **ends, EndDate="2020-01-01T00:00:00Z")
    ec2.modify_capacity_reservation(**ends, EndDate="2099-01-01T00:00:00Z")
    assert described(ec2, held)["EndDate"].year == 2099
    ec2.create_tags(Resources=[held], Tags=[{"Key": "more", "Value": "1"}])
    found = ec2.describe_capacity_reservations(Filters=[{"Name": "tag:more", "Values": ["1"]}])["CapacityReservations"]
    assert [each["Tags"] for each in found] == [[*mine, {"Key": "more", "Value": "1"}]]
    ec2.cancel_capacity_reservation(CapacityReservationId=held)
    refused(ec2.cancel_capacity_reservation, "InvalidCapacityReservationState", CapacityReservationId=held)


def test_one_in_a_placement_group_is_for_launches_that_name_both(
    ec2: Any, network: Network, hold: Callable[..., str]
) -> None:
    group = ec2.create_placement_group(GroupName="held", Strategy="cluster")["PlacementGroup"]
    subnet = network.subnets[0]
    zone = ec2.describe_subnets(SubnetIds=[subnet])["Subnets"][0]["AvailabilityZone"]
    held = hold(PlacementGroupArn=group["GroupArn"], AvailabilityZone=zone)
    refused(launch, "InvalidParameterCombination", "placement group held", ec2=ec2, subnet=subnet, **into(held))
    inside = launch(ec2, subnet, **into(held), Placement={"GroupName": "held"})
    ec2.terminate_instances(InstanceIds=inside)
    refused(ec2.delete_placement_group, "InvalidPlacementGroup.InUse", GroupName="held")
    ec2.cancel_capacity_reservation(CapacityReservationId=held)
    ec2.delete_placement_group(GroupName="held")
