"""What Karpenter asks an account for: fleets, EKS' images, profiles below a path, messages that take their time."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import pytest

from rehearsal.cloud.ec2.use import NOTICED
from rehearsal.eks.api.releases import published
from rehearsal.tests.cloud.conftest import REGION, Cloud, until
from rehearsal.tests.cloud.world import Network

IMAGE = next(each for each, name in published().items() if "x86_64-nvidia-1.36-v20260728" in name)
SMALL, LARGE = "g6.2xlarge", "g6.4xlarge"


@pytest.fixture
def template(ec2: Any) -> Iterator[str]:
    data = {"ImageId": IMAGE}
    made = ec2.create_launch_template(LaunchTemplateName="of-a-fleet", LaunchTemplateData=data)["LaunchTemplate"]
    yield made["LaunchTemplateId"]
    ec2.delete_launch_template(LaunchTemplateId=made["LaunchTemplateId"])


@pytest.fixture
def fleet(ec2: Any, network: Network, template: str, cloud: Cloud) -> Iterator[Any]:
    """Asks for instances of types in order, once; they go after the test, and EC2 has all types again."""
    made: list[str] = []

    def ask(*types: str, count: int = 1, market: str = "spot", **more: Any) -> dict[str, Any]:
        config = {
            "LaunchTemplateSpecification": {"LaunchTemplateId": template, "Version": "$Latest"},
            "Overrides": [{"InstanceType": each, "SubnetId": network.subnets[0]} for each in types],
        }
        capacity = {"TotalTargetCapacity": count, "DefaultTargetCapacityType": market}
        tags = [{"ResourceType": "instance", "Tags": [{"Key": "of", "Value": "a fleet"}]}]
        found: dict[str, Any] = ec2.create_fleet(
            Type="instant",
            LaunchTemplateConfigs=[config],
            TargetCapacitySpecification=capacity,
            TagSpecifications=tags,
            **more,
        )
        made.extend(id for each in found["Instances"] for id in each["InstanceIds"])
        return found

    yield ask
    if made:
        ec2.terminate_instances(InstanceIds=made)
    for each in (SMALL, LARGE):
        cloud.call("PUT", f"capacity/{REGION}/{each}", {})


def test_a_fleet_starts_the_smallest_of_what_it_may(ec2: Any, fleet: Any) -> None:
    answer = fleet(LARGE, SMALL)
    (made,) = answer["Instances"]
    assert (made["InstanceType"], made["Lifecycle"]) == (SMALL, "spot")
    assert answer["Errors"] == []
    (instance,) = ec2.describe_instances(InstanceIds=made["InstanceIds"])["Reservations"][0]["Instances"]
    assert (instance["InstanceType"], instance["InstanceLifecycle"], instance["ImageId"]) == (SMALL, "spot", IMAGE)
    assert {"Key": "of", "Value": "a fleet"} in instance["Tags"]


def test_what_cannot_be_had_is_told_and_the_next_is_taken(fleet: Any, cloud: Cloud) -> None:
    """By the error Karpenter knows an offer by that it leaves alone for a while."""
    cloud.call("PUT", f"capacity/{REGION}/{SMALL}", {"count": 0})
    answer = fleet(SMALL, LARGE)
    assert [each["InstanceType"] for each in answer["Instances"]] == [LARGE]
    (error,) = answer["Errors"]
    assert error["ErrorCode"] == "InsufficientInstanceCapacity"
    assert error["LaunchTemplateAndOverrides"]["Overrides"]["InstanceType"] == SMALL
    assert error["Lifecycle"] == "spot"


def test_nothing_to_be_had_is_an_answer(fleet: Any, cloud: Cloud) -> None:
    cloud.call("PUT", f"capacity/{REGION}/{SMALL}", {"count": 0})
    answer = fleet(SMALL)
    assert answer["Instances"] == []
    assert [each["ErrorCode"] for each in answer["Errors"]] == ["InsufficientInstanceCapacity"]


def test_a_fleet_takes_of_two_offers_what_one_has_too_little_of(fleet: Any, cloud: Cloud) -> None:
    cloud.call("PUT", f"capacity/{REGION}/{SMALL}", {"count": 1})
    answer = fleet(SMALL, LARGE, count=2, market="on-demand")
    assert [(each["InstanceType"], len(each["InstanceIds"])) for each in answer["Instances"]] == [
        (SMALL, 1),
        (LARGE, 1),
    ]


def test_an_instance_has_the_role_of_its_profile(ec2: Any, cloud: Cloud, network: Network) -> None:
    iam = cloud.client("iam")
    profile = iam.create_instance_profile(InstanceProfileName="nodes")["InstanceProfile"]
    made = ec2.run_instances(
        ImageId=IMAGE,
        InstanceType=SMALL,
        SubnetId=network.subnets[0],
        MinCount=1,
        MaxCount=1,
        IamInstanceProfile={"Name": "nodes"},
    )["Instances"][0]["InstanceId"]
    (instance,) = ec2.describe_instances(InstanceIds=[made])["Reservations"][0]["Instances"]
    assert instance["IamInstanceProfile"]["Arn"] == profile["Arn"]
    ec2.terminate_instances(InstanceIds=[made])
    iam.delete_instance_profile(InstanceProfileName="nodes")


def test_images_that_eks_publishes_are_found_by_their_ids(ec2: Any) -> None:
    """As Karpenter asks, by a filter; their names say variant and release."""
    (found,) = ec2.describe_images(Filters=[{"Name": "image-id", "Values": [IMAGE]}])["Images"]
    assert found["Name"] == "amazon-eks-node-al2023-x86_64-nvidia-1.36-v20260728"
    assert (found["Architecture"], found["State"]) == ("x86_64", "available")
    assert found["CreationDate"].startswith("2026-07-28")


def test_profiles_are_listed_below_a_path(cloud: Cloud) -> None:
    """Karpenter removes those below its own path that no node class names."""
    iam = cloud.client("iam")
    iam.create_instance_profile(InstanceProfileName="mine")
    iam.create_instance_profile(InstanceProfileName="its", Path="/karpenter/us-west-2/lab/")
    below = iam.list_instance_profiles(PathPrefix="/karpenter/")["InstanceProfiles"]
    assert [each["InstanceProfileName"] for each in below] == ["its"]
    assert {each["InstanceProfileName"] for each in iam.list_instance_profiles()["InstanceProfiles"]} >= {"mine", "its"}
    for name in ("mine", "its"):
        iam.delete_instance_profile(InstanceProfileName=name)


def test_who_waits_for_a_message_keeps_nobody_else(cloud: Cloud, ec2: Any) -> None:
    sqs = cloud.client("sqs")
    url = sqs.create_queue(QueueName="slow")["QueueUrl"]
    heard: list[Any] = []
    waiting = threading.Thread(target=lambda: heard.append(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10)))
    waiting.start()
    time.sleep(0.3)
    begun = time.monotonic()
    ec2.describe_subnets()
    assert time.monotonic() - begun < 3
    cloud.client("sqs").send_message(QueueUrl=url, MessageBody="now")
    waiting.join(10)
    assert [each["Body"] for each in heard[0]["Messages"]] == ["now"]
    sqs.delete_queue(QueueUrl=url)


def test_an_empty_queue_says_so_when_the_time_is_over(cloud: Cloud) -> None:
    sqs = cloud.client("sqs")
    url = sqs.create_queue(QueueName="empty")["QueueUrl"]
    begun = time.monotonic()
    assert "Messages" not in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1)
    assert time.monotonic() - begun >= 1
    sqs.delete_queue(QueueUrl=url)


def test_types_come_page_by_page(ec2: Any) -> None:
    """As Karpenter reads them: a hundred at a time, so that others have their turn between."""
    asked = {"Filters": [{"Name": "processor-info.supported-architecture", "Values": ["arm64"]}], "MaxResults": 100}
    first = ec2.describe_instance_types(**asked)
    assert len(first["InstanceTypes"]) == 100
    names = [each["InstanceType"] for each in first["InstanceTypes"]]
    while token := first.get("NextToken"):
        first = ec2.describe_instance_types(**asked, NextToken=token)
        names += [each["InstanceType"] for each in first["InstanceTypes"]]
    assert len(names) == len(set(names)) > 300
    assert SMALL not in names


def test_offers_come_page_by_page(ec2: Any) -> None:
    asked = {"LocationType": "availability-zone", "MaxResults": 1000}
    page = ec2.describe_instance_type_offerings(**asked)
    assert len(page["InstanceTypeOfferings"]) == 1000
    rest = ec2.describe_instance_type_offerings(**asked, NextToken=page["NextToken"])
    assert rest["InstanceTypeOfferings"][0] not in page["InstanceTypeOfferings"]


def test_a_spot_instance_is_taken_after_its_notice(fleet: Any, cloud: Cloud) -> None:
    """EventBridge tells those whose rules ask. On demand there is no notice."""
    (spot,) = fleet(SMALL)["Instances"][0]["InstanceIds"]
    (other,) = fleet(SMALL, market="on-demand")["Instances"][0]["InstanceIds"]
    events, sqs = cloud._client("events"), cloud._client("sqs")
    queue = sqs.create_queue(QueueName="interruptions")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    kinds = {"detail-type": ["EC2 Spot Instance Interruption Warning"], "source": ["aws.ec2"]}
    events.put_rule(Name="interruptions", EventPattern=json.dumps(kinds))
    events.put_targets(Rule="interruptions", Targets=[{"Id": "queue", "Arn": arn}])
    cloud.call("PUT", f"spot-notices/{REGION}/{spot}", {"seconds": 1})
    (told,) = sqs.receive_message(QueueUrl=queue)["Messages"]
    assert json.loads(told["Body"])["detail"] == {"instance-id": spot, "instance-action": "terminate"}
    assert {each for each, tags in cloud.call("GET", f"instances/{REGION}").items() if NOTICED in tags} == {spot}
    with pytest.raises(HTTPError) as refused:
        cloud.call("PUT", f"spot-notices/{REGION}/{other}", {})
    assert f"no spot instance {other} runs" in refused.value.read().decode()
    until(lambda: spot not in cloud.call("GET", f"instances/{REGION}"))
    assert other in cloud.call("GET", f"instances/{REGION}")
    events.remove_targets(Rule="interruptions", Ids=["queue"])
    events.delete_rule(Name="interruptions")
    sqs.delete_queue(QueueUrl=queue)
