"""File systems."""

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


def linked(world: World) -> Inputs:
    """A directory of a file system of its own: associations of one may not lie in each other."""
    return {
        "fileSystemId": world.make(w.LUSTRE, "linked", {**lustre(world), "fileSystemTypeVersion": "2.15"}).id,
        "fileSystemPath": "/datasets/corpus",
        "dataRepositoryPath": f"s3://{world.bucket.id}/corpus",
        "batchImportMetaDataOnCreate": True,
        "s3": {
            "autoImportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]},
            "autoExportPolicy": {"events": ["NEW"]},
        },
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
    Case(
        "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation",
        linked,
        {"s3": {"autoImportPolicy": {"events": ["NEW"]}, "autoExportPolicy": {"events": ["NEW", "DELETED"]}}},
        {
            "s3.autoExportPolicy.events[1]": "add",
            "s3.autoImportPolicy.events[1]": "delete",
            "s3.autoImportPolicy.events[2]": "delete",
        },
        {"fileSystemPath": "/datasets/other"},
        ("fileSystemPath",),
        outputs=("arn", "associationId"),
        refused={
            "must begin with a forward slash": {"fileSystemPath": "datasets"},
            "is not an Amazon S3 path": {"dataRepositoryPath": "nfs://somewhere"},
            "does not exist": {"dataRepositoryPath": "s3://no-such-bucket-anywhere/x"},
        },
    ),
)
