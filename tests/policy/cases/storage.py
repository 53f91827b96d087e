"""File systems, volumes and buckets that cannot be bought, found or kept to oneself."""

from tests.graph.changes import MISSING, Change, both, gone, put
from tests.policy.cases.case import Case

SYSTEM = "lustre-file-system"
VOLUME = "claims-training-checkpoints-volume"
CSI = "spec.csi"


def system(**inputs: object) -> Change:
    """The file system with these inputs."""
    return both(*(put(SYSTEM, key, value) for key, value in inputs.items()))


WITH_EFA = {"efaEnabled": True, "metadataConfiguration": {"mode": "AUTOMATIC"}}

CASES = [
    Case("lustre_is_sold_so", system(storageCapacity=20_000), "has 20000 GiB; it comes in 1200"),
    Case("lustre_is_sold_so", system(storageCapacity=1_200), None),
    Case("lustre_is_sold_so", system(perUnitStorageThroughput=200), "sold with 125, 250, 500, 1000"),
    Case("lustre_is_sold_so", system(perUnitStorageThroughput=MISSING), "has None MB/s"),
    Case("lustre_is_sold_so", system(deploymentType="SCRATCH_2"), "sold with none"),
    Case("lustre_is_sold_so", system(deploymentType="SCRATCH_2", perUnitStorageThroughput=MISSING), None),
    Case("lustre_is_sold_so", system(storageType="INTELLIGENT_TIERING", perUnitStorageThroughput=MISSING), None),
    Case("lustre_lies_with_its_nodes", system(subnetIds="subnet-of-another-stack"), None),
    Case("lustre_is_sold_so", system(efaEnabled=True), "no metadata configuration"),
    Case("lustre_is_sold_so", system(**WITH_EFA), None),
    Case("lustre_is_sold_so", system(**WITH_EFA, perUnitStorageThroughput=125), "comes in 38400"),
    Case("lustre_is_sold_so", system(**WITH_EFA, deploymentType="PERSISTENT_1"), "EFA as PERSISTENT_1"),
    Case(
        "lustre_lies_with_its_nodes",
        system(subnetIds=["subnet-e06377e252e19d046", "subnet-41ce89524e8d2c363"]),
        "names 2 subnets",
        preview=False,
    ),
    Case("lustre_lies_with_its_nodes", system(subnetIds="subnet-41ce89524e8d2c363"), None, preview=False),
    Case(
        "lustre_lies_with_its_nodes",
        put("network-subnet-gpu-use2-az1", "availabilityZoneId", "use2-az3"),
        None,
    ),
    Case(
        "lustre_lies_with_its_nodes",
        system(subnetIds="subnet-094318921956ee682"),
        "is in use2-az2, GPU nodes in use2-az1",
        preview=False,
    ),
    Case("volumes_name_their_file_system", put(VOLUME, f"{CSI}.volumeAttributes.dnsname", "fs-0"), "not of one", False),
    Case(
        "volumes_name_their_file_system", put(VOLUME, f"{CSI}.volumeAttributes.mountname", MISSING), "and None", False
    ),
    Case(
        "volumes_name_their_file_system",
        put(VOLUME, f"{CSI}.volumeHandle", "fs-65dbeb15753200124-training-training-data"),
        "has the volume handle of claims-training-training-data-volume",
        preview=False,
    ),
    Case("volumes_name_their_file_system", both(gone(SYSTEM), put(VOLUME, f"{CSI}.volumeHandle", "fs-0")), None),
    Case("buckets_are_private", gone("object-store-private"), None),
    Case("buckets_are_private", put("object-store-private", "blockPublicPolicy", False), "blockPublicPolicy not true"),
    Case("buckets_are_private", put("object-store-private", "ignorePublicAcls", MISSING), "ignorePublicAcls not true"),
]
