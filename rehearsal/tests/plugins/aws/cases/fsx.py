"""File systems."""

from __future__ import annotations

from rehearsal.tests.plugins.aws import world as w
from rehearsal.tests.plugins.aws.case import Case, Inputs
from rehearsal.tests.plugins.aws.world import World


def lustre(world: World) -> Inputs:
    return {
        "subnetIds": world.subnets[0].id,
        "securityGroupIds": [world.group.id],
        "deploymentType": "PERSISTENT_2",
        "storageCapacity": 1200,
        "perUnitStorageThroughput": 125,
        "dataCompressionType": "LZ4",
        "kmsKeyId": world.key.outputs["arn"],
    }


CASES = (
    Case(
        w.LUSTRE,
        lustre,
        {"storageCapacity": 2400},
        {"storageCapacity": "update"},
        {"deploymentType": "SCRATCH_2", "perUnitStorageThroughput": None},
        ("deploymentType",),
        outputs=("arn", "dnsName", "mountName", "networkInterfaceIds", "vpcId"),
    ),
)
