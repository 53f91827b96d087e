"""File systems for people's own files."""

import json

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import TAGGED, Case, Inputs
from rehearsal.tests.plugins.aws.world import World

SYSTEM = "aws:efs/fileSystem:FileSystem"


def system(world: World) -> Inputs:
    return {
        "encrypted": True,
        "kmsKeyId": world.key.outputs["arn"],
        "throughputMode": "elastic",
        "lifecyclePolicies": [{"transitionToIa": "AFTER_30_DAYS"}],
    }


def made(world: World) -> str:
    """A file system of its own: a zone takes one mount target of each."""
    return world.make(SYSTEM, "efs", {"encrypted": True}).id


def policy(sid: str) -> str:
    deny = {"Sid": sid, "Effect": "Deny", "Principal": {"AWS": "*"}, "Action": "*"}
    deny["Condition"] = {"Bool": {"aws:SecureTransport": "false"}}
    return json.dumps({"Version": "2012-10-17", "Statement": [deny]}, indent=2)


CASES = (
    Case(
        SYSTEM,
        system,
        {"lifecyclePolicies": [{"transitionToIa": "AFTER_7_DAYS"}], "throughputMode": "bursting"},
        {"lifecyclePolicies[0].transitionToIa": "update", "throughputMode": "update"},
        {"kmsKeyId": None, "encrypted": False},
        ("encrypted",),
        outputs=("arn", "dnsName", "performanceMode", "creationToken"),
        refused={
            "cannot be used": {"kmsKeyId": "arn:aws:kms:us-west-2:123456789012:key/none"},
            "provisioned": {"provisionedThroughputInMibps": 10},
            "Max I/O": {"performanceMode": "maxIO"},
        },
    ),
    Case(
        "aws:efs/mountTarget:MountTarget",
        lambda world: {
            "fileSystemId": made(world),
            "subnetId": world.subnets[0].id,
            "securityGroups": [world.group.id],
        },
        lambda world: {"securityGroups": [world.make(w.GROUP, "sg", {"vpcId": world.vpc.id}).id]},
        {"securityGroups[0]": "update"},
        lambda world: {"subnetId": world.subnets[1].id},
        ("subnetId",),
        outputs=("dnsName", "mountTargetDnsName", "ipAddress", "networkInterfaceId", "availabilityZoneName"),
        refused={
            "does not exist": {"fileSystemId": "fs-0123456789abcdef0"},
            "SecurityGroupNotFound": {"securityGroups": ["sg-0123456789abcdef0"]},
        },
    ),
    Case(
        "aws:efs/accessPoint:AccessPoint",
        lambda world: {
            "fileSystemId": made(world),
            "posixUser": {"uid": 1000, "gid": 1000},
            "rootDirectory": {
                "path": "/vision",
                "creationInfo": {"ownerUid": 1000, "ownerGid": 1000, "permissions": "0770"},
            },
        },
        *TAGGED,
        {"posixUser": {"uid": 2000, "gid": 1000}},
        ("posixUser",),
        outputs=("arn", "fileSystemArn", "ownerId"),
        refused={"forward slash": {"rootDirectory": {"path": "vision"}}},
    ),
    Case(
        "aws:efs/backupPolicy:BackupPolicy",
        lambda world: {"fileSystemId": made(world), "backupPolicy": {"status": "ENABLED"}},
        {"backupPolicy": {"status": "DISABLED"}},
        {"backupPolicy.status": "update"},
        lambda world: {"fileSystemId": made(world)},
        ("fileSystemId",),
        stays=True,
        outputs=(),
    ),
    Case(
        "aws:efs/fileSystemPolicy:FileSystemPolicy",
        lambda world: {"fileSystemId": made(world), "policy": policy("one")},
        {"policy": policy("two")},
        {"policy": "update"},
        lambda world: {"fileSystemId": made(world)},
        ("fileSystemId",),
        outputs=(),
        refused={"malformed": {"policy": "{}"}},
    ),
)
