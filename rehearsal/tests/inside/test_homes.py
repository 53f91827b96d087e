"""What keeps a directory of EFS from being mounted."""

import json
from dataclasses import replace
from typing import Any

import pytest

from rehearsal.cloud.seen import efs
from rehearsal.cloud.seen.network import End, Groups

OPEN = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
NFS = {"IpProtocol": "tcp", "FromPort": 2049, "ToPort": 2049, "UserIdGroupPairs": [{"GroupId": "sg-nodes"}]}
GROUPS = Groups.of(
    [
        {"GroupId": "sg-nodes", "IpPermissions": [], "IpPermissionsEgress": [OPEN]},
        {"GroupId": "sg-home", "IpPermissions": [NFS], "IpPermissionsEgress": []},
        {"GroupId": "sg-shut", "IpPermissions": [], "IpPermissionsEgress": []},
    ]
)
NODE = End(("sg-nodes",), ("10.0.0.5",))
TARGET = {
    "AvailabilityZoneName": "us-east-2a",
    "LifeCycleState": "available",
    "NetworkInterfaceId": "eni-1",
    "VpcId": "vpc-1",
}
POINTS = {
    "Effect": "Allow",
    "Action": ["elasticfilesystem:ClientMount"],
    "Condition": {"ArnLike": {"elasticfilesystem:AccessPointArn": "arn:aws:elasticfilesystem:*:*:access-point/*"}},
}
TLS = {"Effect": "Deny", "Action": "*", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
SEEN = efs.Seen(
    system={"FileSystemId": "fs-1", "LifeCycleState": "available"},
    targets=[TARGET],
    ends={"eni-1": End(("sg-home",), ("10.0.0.9",))},
    point={"AccessPointId": "fsap-1", "FileSystemId": "fs-1"},
    policy=json.dumps({"Statement": [POINTS, TLS]}),
)


def mount(
    seen: efs.Seen = SEEN, handle: str = "fs-1::fsap-1", zone: str = "us-east-2a", vpc: str = "vpc-1", **csi: Any
) -> str | None:
    spec = {"accessModes": ["ReadWriteMany"], "csi": {"volumeHandle": handle, **csi}}
    return efs.mount_problem(spec, seen, NODE, vpc, zone, GROUPS)


def test_a_directory_in_reach_is_mounted() -> None:
    assert mount() is None


def test_a_file_system_without_a_policy_lets_everybody_in() -> None:
    assert mount(replace(SEEN, policy=None), handle="fs-1", volumeAttributes={"encryptInTransit": "false"}) is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"zone": "us-east-2b"}, "no mount target in us-east-2b"),
        ({"vpc": "vpc-2"}, "no mount target"),
        ({"seen": replace(SEEN, system=None)}, "does not exist"),
        ({"seen": replace(SEEN, system={"LifeCycleState": "creating"})}, "creating"),
        ({"seen": replace(SEEN, point=None)}, "fsap-1 is no access point of fs-1"),
        ({"seen": replace(SEEN, point={"FileSystemId": "fs-2"})}, "no access point of fs-1"),
        ({"seen": replace(SEEN, ends={"eni-1": End(("sg-shut",), ("10.0.0.9",))})}, "TCP 2049 is closed"),
        ({"handle": "fs-1"}, "allows no ClientMount"),
        ({"handle": "fs-1", "volumeAttributes": {"encryptInTransit": "false"}}, "wants TLS"),
    ],
)
def test_what_keeps_it_away_is_named(arguments: dict[str, Any], text: str) -> None:
    assert text in (mount(**arguments) or "")


def test_a_mode_that_the_driver_does_not_mount() -> None:
    spec = {"accessModes": ["ReadOnlyMany"], "csi": {"volumeHandle": "fs-1::fsap-1"}}
    assert "not supported" in (efs.mount_problem(spec, SEEN, NODE, "vpc-1", "us-east-2a", GROUPS) or "")
