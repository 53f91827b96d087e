"""Rules about file systems and buckets: sizes that are sold, where they lie, and who may see them."""

from collections.abc import Iterator, Mapping
from typing import Any

from policy.graph import UNKNOWN, Graph
from policy.network import FILE_SYSTEM, subnets_of, zones_of
from policy.pools import pools
from policy.references import behind
from policy.rule import Finding, rule

THROUGHPUTS: Mapping[tuple[str, str], tuple[int, ...]] = {
    ("PERSISTENT_2", "SSD"): (125, 250, 500, 1000),
    ("PERSISTENT_1", "SSD"): (50, 100, 200),
    ("PERSISTENT_1", "HDD"): (12, 40),
}
"""MB/s per TiB that are sold, by deployment type and storage type."""

EFA_STEPS_GIB = {125: 38_400, 250: 19_200, 500: 9_600, 1000: 4_800}
"""Smallest size with EFA, and its step, by throughput per TiB."""

PRIVATE = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")


def _sizes(inputs: Mapping[str, Any]) -> str:
    """What is wrong with a capacity, which is in GiB."""
    size, rate = inputs.get("storageCapacity"), inputs.get("perUnitStorageThroughput")
    if not isinstance(size, int) or inputs.get("storageType", "SSD") != "SSD":
        return ""
    step = EFA_STEPS_GIB.get(rate or 0, 2_400) if inputs.get("efaEnabled") else 2_400
    smallest = step if inputs.get("efaEnabled") else 1_200
    if size == smallest or (size > 0 and size % step == 0):
        return ""
    return f"has {size} GiB; it comes in {smallest} and multiples of {step}"


@rule(
    source="FSx API: https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html and "
    "https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystemLustreConfiguration.html",
    remedy="take a size and a throughput that FSx sells; EFA also wants metadata_configuration and PERSISTENT_2",
)
def lustre_is_sold_so(graph: Graph) -> Iterator[Finding]:
    """A Lustre file system has a size, a throughput and options that FSx sells together (ST18)."""
    for system in graph.of_type(FILE_SYSTEM):
        kind, rate = system.inputs.get("deploymentType", "SCRATCH_1"), system.inputs.get("perUnitStorageThroughput")
        rates = THROUGHPUTS.get((kind, system.inputs.get("storageType", "SSD")), ())
        if system.inputs.get("storageType") != "INTELLIGENT_TIERING" and (rate or rates) and rate not in rates:
            sold = ", ".join(str(each) for each in rates) or "none"
            yield system.name, f"has {rate} MB/s per TiB; {kind} is sold with {sold}"
        if wrong := _sizes(system.inputs):
            yield system.name, wrong
        if str(system.inputs.get("fileSystemTypeVersion")) == "2.10" and kind == "PERSISTENT_2":
            yield system.name, "is of Lustre 2.10, in which PERSISTENT_2 is not sold: it is of 2.12 or 2.15"
        if system.inputs.get("efaEnabled") and kind != "PERSISTENT_2":
            yield system.name, f"has EFA as {kind}; it comes with PERSISTENT_2 only"
        if system.inputs.get("efaEnabled") and not system.inputs.get("metadataConfiguration"):
            yield system.name, "has EFA and no metadata configuration"


@rule(
    source="FSx for Lustre guide: https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html",
    remedy="give the file system the subnet of the GPU nodes",
)
def lustre_lies_with_its_nodes(graph: Graph) -> Iterator[Finding]:
    """A file system is in the zone of the GPU nodes."""
    of_gpus = {zone for pool in pools(graph) if pool.gpus for zone in zones_of(subnets_of(graph, pool.group))}
    for system in graph.of_type(FILE_SYSTEM):
        subnets = subnets_of(graph, system)
        if len(subnets) > 1:
            yield system.name, f"names {len(subnets)} subnets; a Lustre file system has one"
        if of_gpus and subnets and not zones_of(subnets) & of_gpus:
            zones = f"{', '.join(sorted(zones_of(subnets)))}, GPU nodes in {', '.join(sorted(of_gpus))}"
            yield system.name, f"is in {zones}: every read crosses zones and is billed"


@rule(
    source="aws-fsx-csi-driver: https://github.com/kubernetes-sigs/aws-fsx-csi-driver/tree/master/examples/kubernetes/"
    "static_provisioning; CSI: one volume_handle is one volume to a kubelet",
    remedy="take dnsname and mountname from one file system, and give each volume a handle of its own",
)
def volumes_name_their_file_system(graph: Graph) -> Iterator[Finding]:
    """A static volume has DNS name and mount name of one file system, and a handle that no other has (KJ18)."""
    seen: dict[str, str] = {}
    for volume in graph.of_type("kubernetes:core/v1:PersistentVolume"):
        csi = (volume.inputs.get("spec") or {}).get("csi")
        if not csi:
            continue
        handle = str(csi.get("volumeHandle") or "")
        if UNKNOWN not in handle and seen.setdefault(handle, volume.name) != volume.name:
            yield volume.name, f"has the volume handle of {seen[handle]}, so a node mounts one of them for both"
        if csi.get("driver") != "fsx.csi.aws.com" or not graph.of_type(FILE_SYSTEM):
            continue
        attributes = csi.get("volumeAttributes") or {}
        named = [
            {each.urn for each in behind(graph, volume, "spec", attributes.get(key), FILE_SYSTEM)}
            for key in ("dnsname", "mountname")
        ]
        if not named[0] & named[1]:
            shown = f"{attributes.get('dnsname')} and {attributes.get('mountname')}"
            yield volume.name, f"names {shown}, which are not of one file system here"


@rule(
    source="S3 guide: https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html",
    remedy="all four of a bucket's block true, or no block of your own: what is not said in one is false",
)
def buckets_are_private(graph: Graph) -> Iterator[Finding]:
    """Buckets keep S3's default block of public access."""
    for block in graph.of_type("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"):
        if opened := [key for key in PRIVATE if block.inputs.get(key) not in (True, UNKNOWN)]:
            yield block.name, f"opens its bucket: {', '.join(opened)} not true"
