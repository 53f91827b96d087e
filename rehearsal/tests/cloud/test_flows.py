"""Flow logs: who may deliver them, and where to. Each of these passes on plain moto."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.tests.cloud.conftest import Cloud, refused
from rehearsal.tests.cloud.world import Network

SERVICE = "vpc-flow-logs.amazonaws.com"


def _trust(service: str) -> str:
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": service}}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.fixture
def asked(cloud: Cloud, network: Network) -> Iterator[dict[str, Any]]:
    """A request for a flow log whose role may be assumed, and may write nothing yet."""
    logs, iam = cloud.client("logs"), cloud.client("iam")
    logs.create_log_group(logGroupName="/flows")
    made = iam.create_role(RoleName="flows", AssumeRolePolicyDocument=_trust(SERVICE))
    group = logs.describe_log_groups(logGroupNamePrefix="/flows")["logGroups"][0]["arn"].removesuffix(":*")
    yield {
        "ResourceType": "VPC",
        "ResourceIds": [network.vpc],
        "TrafficType": "ALL",
        "LogDestinationType": "cloud-watch-logs",
        "LogDestination": group,
        "DeliverLogsPermissionArn": made["Role"]["Arn"],
    }
    for name in iam.list_role_policies(RoleName="flows")["PolicyNames"]:
        iam.delete_role_policy(RoleName="flows", PolicyName=name)
    iam.delete_role(RoleName="flows")
    logs.delete_log_group(logGroupName="/flows")


def _delivery(ec2: Any, asked: dict[str, Any]) -> tuple[str, str | None]:
    """State and fault of the deliveries of a flow log that is made for this."""
    (made,) = ec2.create_flow_logs(**asked)["FlowLogIds"]
    found = ec2.describe_flow_logs(FlowLogIds=[made])["FlowLogs"][0]
    ec2.delete_flow_logs(FlowLogIds=[made])
    return found["DeliverLogsStatus"], found.get("DeliverLogsErrorMessage")


def test_the_service_must_be_able_to_assume_the_role(ec2: Any, cloud: Cloud, asked: dict[str, Any]) -> None:
    """EC2 asks at once, so a role that was made a moment ago can be refused too."""
    nobody = {**asked, "DeliverLogsPermissionArn": "arn:aws:iam::123456789012:role/nobody"}
    refused(ec2.create_flow_logs, "InvalidParameter", "Unable to assume given IAM role", **nobody)
    cloud.client("iam").update_assume_role_policy(RoleName="flows", PolicyDocument=_trust("ec2.amazonaws.com"))
    refused(ec2.create_flow_logs, "InvalidParameter", "Unable to assume given IAM role", **asked)


def test_a_role_that_may_not_write_delivers_nothing(ec2: Any, cloud: Cloud, asked: dict[str, Any]) -> None:
    """The log is made, and says later that it fails; rights on another group are none on this."""
    assert _delivery(ec2, asked) == ("FAILED", "Access error")
    iam = cloud.client("iam")
    for resource, expected in (
        (f"{asked['LogDestination']}-of-others", "FAILED"),
        (asked["LogDestination"], "SUCCESS"),
    ):
        write = ["logs:CreateLogStream", "logs:PutLogEvents"]
        statement = {"Effect": "Allow", "Action": write, "Resource": [resource, f"{resource}:*"]}
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.put_role_policy(RoleName="flows", PolicyName="write", PolicyDocument=document)
        assert _delivery(ec2, asked)[0] == expected


def test_only_known_kinds_of_traffic_are_recorded(ec2: Any, asked: dict[str, Any]) -> None:
    refused(ec2.create_flow_logs, "InvalidParameterValue", "trafficType", **{**asked, "TrafficType": "SOME"})


def test_a_flow_log_that_stays_is_found(ec2: Any, cloud: Cloud, asked: dict[str, Any]) -> None:
    """It is nothing in the VPC that keeps that from going, so only an inventory tells of it."""
    (made,) = ec2.create_flow_logs(**asked)["FlowLogIds"]
    assert cloud.inventory()["ec2:flow-log"] == [made]
    ec2.delete_flow_logs(FlowLogIds=[made])
    assert "ec2:flow-log" not in cloud.inventory()
