"""Instances that are held on demand."""

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import Case

CASES = (
    Case(
        w.RESERVATION,
        lambda world: {
            "availabilityZone": "us-west-2a",
            "instanceType": "p5.48xlarge",
            "instancePlatform": "Linux/UNIX",
            "instanceCount": 2,
            "instanceMatchCriteria": "targeted",
            "endDate": "2099-12-02T00:00:00Z",
            "endDateType": "limited",
            "placementGroupArn": world.make(w.PLACEMENT, "held", {"strategy": "cluster"}).outputs["arn"],
        },
        {"instanceCount": 1, "endDate": "2099-12-03T00:00:00Z"},
        {"instanceCount": "update", "endDate": "update"},
        {"instanceMatchCriteria": "open"},
        ("instanceMatchCriteria",),
        outputs=("arn", "ownerId"),
        refused={
            "InsufficientInstanceCapacity|VcpuLimitExceeded": {"instanceCount": 4000},
            "in the past": {"endDate": "2020-01-01T00:00:00Z"},
        },
    ),
)
