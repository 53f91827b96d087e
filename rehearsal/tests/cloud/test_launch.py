"""Launch templates, instances and placement groups: what a node group's controller asks EC2 for, and what it gets."""

from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import Cloud, refused
from rehearsal.tests.cloud.world import MIME, Network, encoded

NODE = [{"ResourceType": "instance", "Tags": [{"Key": "eks:nodegroup-name", "Value": "gpu"}]}]


@pytest.fixture
def group(ec2: Any, network: Network) -> Iterator[str]:
    """A security group that is free again after the test."""
    made = str(ec2.create_security_group(GroupName="nodes", Description="d", VpcId=network.vpc)["GroupId"])
    yield made
    ec2.delete_security_group(GroupId=made)


@pytest.fixture
def template(ec2: Any) -> Iterator[Any]:
    """Makes launch templates from their data; they are deleted after the test."""
    made: list[str] = []

    def make(**data: Any) -> dict[str, str]:
        name = f"template-{len(made)}"
        created = ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)["LaunchTemplate"]
        made.append(created["LaunchTemplateId"])
        return {"LaunchTemplateId": created["LaunchTemplateId"], "Version": "1"}

    yield make
    for each in made:
        ec2.delete_launch_template(LaunchTemplateId=each)


def interfaces(group: str, cards: int, kind: str = "efa-only") -> list[dict[str, Any]]:
    """A primary interface, and one of `kind` on every card from the first."""
    first = {"NetworkCardIndex": 0, "DeviceIndex": 0, "InterfaceType": "interface", "Groups": [group]}
    more = [
        {"NetworkCardIndex": card, "DeviceIndex": 1 if card == 0 else 0, "InterfaceType": kind, "Groups": [group]}
        for card in range(cards)
    ]
    return [first, *more]


def launch(ec2: Any, network: Network, **more: Any) -> dict[str, Any]:
    """One instance, launched as EKS' Auto Scaling groups do it."""
    request = {"MinCount": 1, "MaxCount": 1, "SubnetId": network.subnets[0], "TagSpecifications": NODE, **more}
    instance: dict[str, Any] = ec2.run_instances(**request)["Instances"][0]
    return instance


def test_a_p5_gets_all_its_interfaces(ec2: Any, network: Network, group: str, template: Any) -> None:
    """33 of them, on 32 cards, 32 of EFA without an address; moto keeps the ones with different device indexes."""
    chosen = template(
        InstanceType="p5.48xlarge",
        NetworkInterfaces=interfaces(group, 32),
        UserData=encoded(MIME),
        MetadataOptions={"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 300, "VolumeType": "gp3"}}],
        TagSpecifications=[
            {"ResourceType": "instance", "Tags": [{"Key": "stack", "Value": "prod"}]},
            {"ResourceType": "network-interface", "Tags": [{"Key": "stack", "Value": "prod"}]},
        ],
    )
    started = launch(ec2, network, LaunchTemplate=chosen)
    instance = ec2.describe_instances(InstanceIds=[started["InstanceId"]])["Reservations"][0]["Instances"][0]
    efa = [each for each in instance["NetworkInterfaces"] if each["InterfaceType"] == "efa-only"]
    assert len(instance["NetworkInterfaces"]) == 33
    assert sorted(each["Attachment"]["NetworkCardIndex"] for each in efa) == list(range(32))
    assert [each for each in efa if each["PrivateIpAddresses"]] == []
    assert all([row["GroupId"] for row in each["Groups"]] == [group] for each in instance["NetworkInterfaces"])
    tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
    assert tags["stack"] == "prod"
    assert tags["aws:ec2launchtemplate:version"] == "1"
    assert instance["MetadataOptions"]["HttpTokens"] == "required"
    volume = instance["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]
    assert ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0]["Size"] == 300
    refused(ec2.delete_security_group, "DependencyViolation", GroupId=group)
    ec2.terminate_instances(InstanceIds=[started["InstanceId"]])
    left = ec2.describe_network_interfaces(Filters=[{"Name": "vpc-id", "Values": [network.vpc]}])["NetworkInterfaces"]
    assert left == []
    refused(ec2.describe_volumes, "InvalidVolume.NotFound", VolumeIds=[volume])


def test_the_same_token_launches_once(ec2: Any, network: Network) -> None:
    """A retried RunInstances must not double the nodes."""
    first = launch(ec2, network, InstanceType="m7i.large", ClientToken="token-1")
    again = launch(ec2, network, InstanceType="m7i.large", ClientToken="token-1")
    assert first["InstanceId"] == again["InstanceId"]
    ec2.terminate_instances(InstanceIds=[first["InstanceId"]])


@pytest.mark.parametrize(
    ("kind", "cards", "change", "code", "words"),
    [
        ("p5.4xlarge", 2, {}, "InvalidParameterValue", "no network card with index 1"),
        ("g6e.xlarge", 1, {}, "InvalidParameterCombination", "EFA interfaces are not supported"),
        ("p6-b300.48xlarge", 1, {}, "InvalidParameterCombination", "takes no interface of type efa-only"),
        ("p5.4xlarge", 1, {"DeviceIndex": 0}, "InvalidParameterValue", "given 2 times"),
        ("p5.4xlarge", 1, {"AssociatePublicIpAddress": True}, "InvalidParameterCombination", "multiple interfaces"),
        ("p5.4xlarge", 1, {"Groups": ["sg-0123456789abcdef0"]}, "InvalidGroup.NotFound", ""),
    ],
)
def test_wrong_interfaces_are_refused(
    ec2: Any, network: Network, group: str, template: Any, kind: str, cards: int, change: Any, code: str, words: str
) -> None:
    """Cards, EFA support and limits are those of the instance type."""
    layout = interfaces(group, cards)
    layout[-1] |= change
    chosen = template(InstanceType=kind, NetworkInterfaces=layout)
    refused(launch, code, words, ec2=ec2, network=network, LaunchTemplate=chosen)


def test_more_efa_than_the_type_has_is_refused(ec2: Any, network: Network, group: str, template: Any) -> None:
    """p5.4xlarge takes one EFA interface."""
    layout = [*interfaces(group, 1), {"NetworkCardIndex": 0, "DeviceIndex": 2, "InterfaceType": "efa-only"}]
    chosen = template(InstanceType="p5.4xlarge", NetworkInterfaces=layout)
    refused(launch, "InvalidParameterCombination", "limit of 1", ec2=ec2, network=network, LaunchTemplate=chosen)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"LaunchTemplate": {"LaunchTemplateId": "lt-0123456789abcdef0"}}, "InvalidLaunchTemplateId.NotFound"),
        ({"InstanceType": "p9.48xlarge"}, "InvalidParameterValue"),
        ({"Placement": {"GroupName": "nowhere"}}, "InvalidPlacementGroup.Unknown"),
        ({"SubnetId": "subnet-0123456789abcdef0"}, "InvalidSubnetID.NotFound"),
        ({"SecurityGroupIds": ["sg-0123456789abcdef0"]}, "InvalidGroup.NotFound"),
        ({"IamInstanceProfile": {"Name": "nobody"}}, "InvalidParameterValue"),
        ({"TagSpecifications": []}, "MissingParameter"),
        (
            {"CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": "cr-1"}}},
            "InvalidCapacityReservationId.NotFound",
        ),
    ],
)
def test_what_does_not_exist_is_refused(ec2: Any, network: Network, change: dict[str, Any], code: str) -> None:
    """And nothing is launched."""
    request = {"InstanceType": "m7i.large", **change}
    refused(launch, code, ec2=ec2, network=network, **request)


def test_a_type_is_launched_where_it_is_offered(ec2: Any, network: Network) -> None:
    """g6e is not in every zone of us-east-1, says EC2's own list."""
    subnet = ec2.create_subnet(VpcId=network.vpc, CidrBlock="10.0.5.0/24", AvailabilityZone="us-east-1f")["Subnet"]
    arguments = {"InstanceType": "g6e.xlarge", "SubnetId": subnet["SubnetId"]}
    refused(launch, "Unsupported", "us-east-1a", ec2=ec2, network=network, **arguments)
    ec2.delete_subnet(SubnetId=subnet["SubnetId"])


def test_placement_groups(ec2: Any, network: Network) -> None:
    """Made, tagged by id, shown, refused twice; in use they stay, and a cluster group stays in its zone."""
    spec = [{"ResourceType": "placement-group", "Tags": [{"Key": "stack", "Value": "dev"}]}]
    made = ec2.create_placement_group(GroupName="train", Strategy="cluster", TagSpecifications=spec)["PlacementGroup"]
    refused(ec2.create_placement_group, "InvalidPlacementGroup.Duplicate", GroupName="train", Strategy="cluster")
    ec2.create_tags(Resources=[made["GroupId"]], Tags=[{"Key": "owner", "Value": "us"}])
    shown = ec2.describe_placement_groups(GroupNames=["train"])["PlacementGroups"][0]
    assert {tag["Key"] for tag in shown["Tags"]} == {"stack", "owner"}
    assert (shown["Strategy"], shown["State"], shown["GroupArn"][-5:]) == ("cluster", "available", "train")
    by_tag = ec2.describe_placement_groups(Filters=[{"Name": "tag:owner", "Values": ["nobody"]}])["PlacementGroups"]
    assert by_tag == []
    instance = launch(ec2, network, InstanceType="p5.4xlarge", Placement={"GroupName": "train"})
    assert instance["Placement"]["GroupName"] == "train"
    refused(ec2.delete_placement_group, "InvalidPlacementGroup.InUse", GroupName="train")
    elsewhere = {"InstanceType": "p5.4xlarge", "Placement": {"GroupName": "train"}, "SubnetId": network.subnets[1]}
    refused(launch, "InvalidParameterCombination", "cannot join", ec2=ec2, network=network, **elsewhere)
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    ec2.delete_placement_group(GroupName="train")
    refused(ec2.describe_placement_groups, "InvalidPlacementGroup.Unknown", GroupNames=["train"])
    refused(ec2.delete_placement_group, "InvalidPlacementGroup.Unknown", GroupName="train")


def test_there_are_no_capacity_reservations(ec2: Any) -> None:
    """A list without any, and an error for one by id."""
    active = [{"Name": "state", "Values": ["active"]}]
    assert ec2.describe_capacity_reservations(Filters=active)["CapacityReservations"] == []
    unknown: dict[str, Any] = {"CapacityReservationIds": ["cr-0123456789abcdef0"]}
    refused(ec2.describe_capacity_reservations, "InvalidCapacityReservationId.NotFound", **unknown)


def test_template_tags_are_those_of_now(ec2: Any) -> None:
    """Moto shows the ones it was made with, and copies them into the data; refresh would see drift."""
    spec = [{"ResourceType": "launch-template", "Tags": [{"Key": "stack", "Value": "dev"}]}]
    data = {"InstanceType": "m7i.large"}
    made = ec2.create_launch_template(LaunchTemplateName="t", LaunchTemplateData=data, TagSpecifications=spec)
    template = made["LaunchTemplate"]["LaunchTemplateId"]
    ec2.create_tags(Resources=[template], Tags=[{"Key": "stack", "Value": "prod"}])
    shown = ec2.describe_launch_templates(LaunchTemplateIds=[template])["LaunchTemplates"][0]
    assert shown["Tags"] == [{"Key": "stack", "Value": "prod"}]
    versions = ec2.describe_launch_template_versions(LaunchTemplateId=template)["LaunchTemplateVersions"]
    assert versions[0]["LaunchTemplateData"] == data
    unknown = {"LaunchTemplateId": template, "Versions": ["7"]}
    refused(ec2.describe_launch_template_versions, "InvalidLaunchTemplateId.VersionNotFound", **unknown)
    ec2.delete_launch_template(LaunchTemplateId=template)
    refused(ec2.describe_launch_templates, "InvalidLaunchTemplateId.NotFound", LaunchTemplateIds=[template])


def test_a_later_version_is_launched_with_its_own_data(ec2: Any, network: Network, template: Any) -> None:
    """Moto cannot launch from a version whose user data came with CreateLaunchTemplateVersion."""
    chosen = template(InstanceType="m7i.large")
    data = {"InstanceType": "m7i.xlarge", "UserData": encoded(MIME)}
    ec2.create_launch_template_version(LaunchTemplateId=chosen["LaunchTemplateId"], LaunchTemplateData=data)
    instance = launch(ec2, network, LaunchTemplate={**chosen, "Version": "$Latest"})
    assert instance["InstanceType"] == "m7i.xlarge"
    attribute = ec2.describe_instance_attribute(InstanceId=instance["InstanceId"], Attribute="userData")
    assert attribute["UserData"]["Value"] == encoded(MIME)
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])


@pytest.mark.parametrize(
    ("of_subnet", "asked", "public"),
    [("true", None, True), ("false", None, False), ("true", False, False), ("false", True, True)],
)
def test_a_public_address_is_what_the_request_says_or_else_the_subnet(
    ec2: Any, network: Network, group: str, of_subnet: str, asked: bool | None, public: bool
) -> None:
    mapped = {"SubnetId": network.subnets[0], "MapPublicIpOnLaunch": {"Value": of_subnet == "true"}}
    ec2.modify_subnet_attribute(**mapped)
    primary = {"DeviceIndex": 0, "SubnetId": network.subnets[0], "Groups": [group]}
    if asked is not None:
        primary["AssociatePublicIpAddress"] = asked
    made = ec2.run_instances(
        ImageId="ami-0123456789abcdef0",
        InstanceType="m7i.large",
        MinCount=1,
        MaxCount=1,
        NetworkInterfaces=[primary],
    )["Instances"][0]["InstanceId"]
    found = ec2.describe_instances(InstanceIds=[made])["Reservations"][0]["Instances"][0]
    assert bool(found.get("PublicIpAddress")) is public
    ec2.terminate_instances(InstanceIds=[made])
    ec2.modify_subnet_attribute(SubnetId=network.subnets[0], MapPublicIpOnLaunch={"Value": False})


@pytest.fixture
def limit(cloud: Cloud) -> Iterator[Any]:
    """Sets a quota or an end of capacity by its route; both are as before after the test."""
    orders: list[str] = []

    def order(path: str, body: dict[str, Any]) -> None:
        orders.append(path)
        cloud.call("PUT", path, body)

    yield order
    for path in orders:
        cloud.call("PUT", path, {})


def started(ec2: Any, network: Network, type_: str, least: int, most: int, **more: Any) -> int:
    """How many instances come; they are gone again afterwards."""
    request = {"MinCount": least, "MaxCount": most, "SubnetId": network.subnets[0], "TagSpecifications": NODE, **more}
    found = [each["InstanceId"] for each in ec2.run_instances(InstanceType=type_, **request)["Instances"]]
    ec2.terminate_instances(InstanceIds=found)
    return len(found)


SPOT = {"InstanceMarketOptions": {"MarketType": "spot"}}


@pytest.mark.parametrize(
    ("type_", "code", "vcpu", "more", "error"),
    [
        ("m7i.large", "L-1216C47A", 4, {}, "VcpuLimitExceeded"),
        ("p5.4xlarge", "L-417A185B", 32, {}, "VcpuLimitExceeded"),
        ("g6e.xlarge", "L-3819A6DF", 8, SPOT, "MaxSpotInstanceCountExceeded"),
    ],
)
def test_a_quota_ends_lf07(
    ec2: Any, network: Network, limit: Any, type_: str, code: str, vcpu: int, more: Any, error: str
) -> None:
    """LF07: two instances fit; of five asked for two come, and three at least are refused."""
    limit(f"quotas/us-east-1/ec2/{code}", {"value": vcpu})
    assert started(ec2, network, type_, 1, 5, **more) == 2
    refused(started, error, ec2=ec2, network=network, type_=type_, least=3, most=5, **more)


def test_families_are_counted_together_and_markets_apart_lf07(ec2: Any, network: Network, limit: Any) -> None:
    """LF07: a running m7i takes from the quota of a c5, and a spot instance does not."""
    limit("quotas/us-east-1/ec2/L-1216C47A", {"value": 4})
    held = launch(ec2, network, InstanceType="m7i.large")
    refused(started, "VcpuLimitExceeded", ec2=ec2, network=network, type_="c5.xlarge", least=1, most=1)
    assert started(ec2, network, "c5.xlarge", 1, 1, **SPOT) == 1
    ec2.terminate_instances(InstanceIds=[held["InstanceId"]])


def test_capacity_ends_lf07(ec2: Any, network: Network, limit: Any) -> None:
    """LF07: EC2 may have no further instance of a type, whatever the quota says."""
    limit("capacity/us-east-1/m7i.large", {"count": 1})
    assert started(ec2, network, "m7i.large", 1, 3) == 1
    refused(started, "InsufficientInstanceCapacity", ec2=ec2, network=network, type_="m7i.large", least=2, most=3)
    assert started(ec2, network, "m7i.xlarge", 2, 2) == 2


def test_an_account_has_the_quota_for_twice_what_a_stack_names_lf07(cloud: Cloud, ec2: Any, limit: Any) -> None:
    """LF07: 256 p5 nodes are more than the account has by itself; what it has already stays."""
    quotas = cloud.client("service-quotas")
    limit("quotas/us-east-1/ec2/L-417A185B", {})
    cloud.call(
        "PUT", "granted/us-east-1", {"on-demand": {"p5.48xlarge": 256, "m7i.large": 1}, "spot": {"g5.xlarge": 1}}
    )

    def value(code: str) -> float:
        return float(quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code)["Quota"]["Value"])

    assert (value("L-417A185B"), value("L-1216C47A"), value("L-3819A6DF")) == (2 * 256 * 192, 640, 768)


@pytest.mark.parametrize(
    ("type_", "words"),
    [
        ("p5e.48xlarge", "us-east-1 offers no p5e.48xlarge"),
        ("p4de.24xlarge", "choosing us-east-1"),
    ],
)
def test_what_is_not_offered_cannot_be_launched(
    cloud: Cloud, ec2: Any, network: Network, type_: str, words: str
) -> None:
    """By region and by zone, as DescribeInstanceTypeOfferings tells."""
    told = ec2.describe_instance_type_offerings(
        LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": [type_]}]
    )["InstanceTypeOfferings"]
    zones = {each["Location"] for each in told}
    assert bool(zones) is (type_ == "p4de.24xlarge")
    (zone,) = [each["AvailabilityZone"] for each in ec2.describe_subnets(SubnetIds=[network.subnets[0]])["Subnets"]]
    assert zone not in zones
    refused(launch, "Unsupported", words, ec2=ec2, network=network, InstanceType=type_)
