"""What is kept in object storage for which purpose, by where it lies in the stack's bucket."""

from collections.abc import Mapping

import pulumi

from stacks.platform_services import ObjectStore

PURPOSES: Mapping[str, tuple[str, ...]] = {
    "checkpoints": ("checkpoints",),
    "tracking": ("tracking/artifacts", "pipelines", "team-pipelines"),
    "backups": ("backups", "tracking/backups"),
    "records": ("results", "gates"),
}
"""Prefixes by purpose. Each prefix that something of the program writes below is one of these, or below one."""


def purpose_of(prefix: str) -> str:
    """What is kept below a prefix. Raises KeyError for one of no purpose."""
    for purpose, prefixes in PURPOSES.items():
        if any(prefix == each or prefix.startswith(f"{each}/") for each in prefixes):
            return purpose
    raise KeyError(prefix)


def address(objects: ObjectStore, prefix: str) -> pulumi.Output[str]:
    """Where a prefix of the stack's lies: SCHEME://BUCKET/PREFIX."""
    return pulumi.Output.format("{0}://{1}/{2}", objects.scheme, objects.bucket_of(purpose_of(prefix)), prefix)
