"""The regions that AWS' own SDK knows, and the zones of them that are recorded."""

from catalogue.offerings import Offerings

REGIONS = (
    "af-south-1",
    "ap-east-1",
    "ap-east-2",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-south-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "ca-central-1",
    "ca-west-1",
    "cn-north-1",
    "cn-northwest-1",
    "eu-central-1",
    "eu-central-2",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "mx-central-1",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-gov-east-1",
    "us-gov-west-1",
    "us-west-1",
    "us-west-2",
)
"""Regions of the partitions aws, aws-cn and aws-us-gov (botocore 1.44.5, data/endpoints.json; a test compares)."""


def zones(region: str, offerings: Offerings) -> tuple[str, ...]:
    """Ids of the region's zones in which EC2 offers anything that is recorded; empty where nothing is."""
    found: set[str] = set()
    for regions in offerings.values():
        found.update(regions.get(region, ()))
    return tuple(sorted(found))


def is_recorded(region: str, offerings: Offerings) -> bool:
    """Whether it is recorded what EC2 offers in the region."""
    return any(region in regions for regions in offerings.values())
