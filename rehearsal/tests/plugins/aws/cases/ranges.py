"""A second range of a VPC."""

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import Case

CASES = (
    Case(
        w.RANGE,
        lambda world: {
            "vpcId": world.make(w.VPC, "vpc", {"cidrBlock": "10.7.0.0/16"}).id,
            "cidrBlock": "100.70.0.0/16",
        },
        {},
        {},
        {"cidrBlock": "100.71.0.0/16"},
        ("cidrBlock",),
        outputs=(),
        refused={"InvalidVpc.Range": {"cidrBlock": "192.168.0.0/16"}},
    ),
)
